package toolsearch

// scratch is the memory of one query. It is kept by the core that it fits and used again, so that a query allocates
// little more than its answer.
type scratch struct {
	cells []cell // by number of a tool

	touched []uint32 // numbers with a cur
	all     []uint32 // numbers with a total
	top     []scored

	// By piece and term: how surely the query has the term, and where.
	mark   [][]mark
	marked []marked

	split splitter
	terms []uint32 // the terms of the word at hand, one a piece
	words table    // keys that the query has had and no tool has
	log   []used   // only when asked why

	at        uint32 // words so far
	different int    // words so far, each once
	stamp     uint32
	weight    float32 // of the words at hand
	sentence  float32 // what the sentence at hand is worth
	sentences int
	want      float32 // what all words are worth that say something
	known     float32 // what those of them are worth that any tool has
	telling   int     // how many say something
	must      int     // `+words`
	why       bool
}

// cell is what a query has found of one tool.
type cell struct {
	total   float32 // in the query
	best    float32 // in one sentence, relative to the best tool of that sentence
	cur     float32 // in the sentence at hand
	covered float32 // what the words found so far in the sentence are worth
	unit    uint32  // the last word that found it
	carried uint8   // how many words that are not everywhere found it, at most 255
	met     uint8   // how many `+words` it has
}

type scored struct {
	score  float32
	number uint32
}

// mark is how surely a query has a term, 0 to 1, and its last place as a word, 0 when it is none.
type mark struct {
	trust float32
	place uint32
}

type marked struct {
	piece int
	term  uint32
}

// used is a word of the query as it was looked up.
type used struct {
	word, match string
	how         string
	terms       []uint32
	trust       float32
	worth       float32
}

func (c *core) borrow() *scratch {
	if s, ok := c.pool.Get().(*scratch); ok {
		return s
	}
	s := &scratch{cells: make([]cell, c.size)}
	for i := range c.parts {
		s.mark = append(s.mark, make([]mark, len(c.parts[i].keys)))
	}
	return s
}

// giveBack clears what a query left. The stamp runs on: what it marks needs no clearing.
func (c *core) giveBack(s *scratch) {
	for _, d := range s.all {
		cell := &s.cells[d]
		cell.total, cell.best, cell.carried = 0, 0, 0
	}
	if s.must > 0 {
		for i := range s.cells {
			s.cells[i].met = 0
		}
	}
	for _, m := range s.marked {
		s.mark[m.piece][m.term] = mark{}
	}
	if s.stamp > 1<<30 {
		clear(s.cells)
		s.stamp = 0
	}
	s.words.reset()
	s.all, s.marked, s.log = s.all[:0], s.marked[:0], nil
	s.at, s.different, s.sentences, s.want, s.known, s.telling, s.must, s.why = 0, 0, 0, 0, 0, 0, 0, false
	c.pool.Put(s)
}
