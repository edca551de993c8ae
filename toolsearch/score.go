package toolsearch

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// weigh looks up all words of a query, sentence by sentence.
func (c *core) weigh(s *scratch, query string) {
	for query != "" {
		cut, next := sentence(query)
		c.words(s, query[:cut])
		c.fold(s)
		query = query[next:]
	}
}

// sentence finds where the first sentence of a text ends, and the next one begins.
func sentence(text string) (end, next int) {
	for i, r := range text {
		switch r {
		case '。', '！', '？', '；', '\n':
			return i, i + utf8.RuneLen(r)
		case '.', '!', '?', ';':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n') {
				return i, i + 1
			}
		}
	}
	return len(text), len(text)
}

func (c *core) words(s *scratch, text string) {
	look := func(w []byte, k kind) { c.look(s, w, k) }
	s.weight = 1
	if c.tune.path == 0 || !strings.ContainsAny(text, `/\`) {
		s.split.each(text, look)
		return
	}
	for text != "" {
		at := strings.IndexFunc(text, unicode.IsSpace)
		token := text
		if at < 0 {
			text = ""
		} else {
			_, size := utf8.DecodeRuneInString(text[at:])
			token, text = text[:at], text[at+size:]
		}
		if token == "" {
			continue
		}
		s.weight = 1
		if about := pathOf(token); about != "" {
			s.weight, token = c.tune.path, about
		}
		s.split.each(token, look)
	}
}

// fold ends a sentence: it adds to the whole, and it votes apart, with its best tool counting as much as any other
// sentence's, so that each of several wishes is heard.
func (c *core) fold(s *scratch) {
	top, cover := float32(0), c.tune.cover
	for _, d := range s.touched {
		x := &s.cells[d]
		if cover > 0 {
			x.cur *= 1 - cover + cover*min(1, x.covered/s.sentence)
		}
		if x.cur > top && !c.isGone(d) {
			top = x.cur
		}
	}
	if top > 0 {
		s.sentences++
	}
	for _, d := range s.touched {
		x := &s.cells[d]
		if top > 0 {
			if x.total == 0 {
				s.all = append(s.all, d)
			}
			x.total += x.cur
			x.best = max(x.best, x.cur/top)
		}
		x.cur, x.covered = 0, 0
	}
	s.touched, s.sentence = s.touched[:0], 0
}

// ranked returns the best tools, at most n, best first. A tool that only ubiquitous words find is none of them, nor one
// that shares a single word with a query whose rarer words nothing meets.
func (c *core) ranked(s *scratch, n int) []scored {
	needs := uint8(2)
	known := c.tune.known
	if s.telling >= c.tune.long {
		known = c.tune.story
	}
	if s.known >= known*s.want {
		needs = 1
	}
	top := float32(0)
	for _, d := range s.all {
		if t := s.cells[d].total; t > top && !c.isGone(d) {
			top = t
		}
	}
	vote := float32(0)
	if s.sentences > 1 {
		vote = c.tune.vote * (1 - 1/float32(s.sentences))
	}
	h := s.top[:0]
	for _, d := range s.all {
		x := &s.cells[d]
		if x.carried < needs || int(x.met) < s.must || c.isGone(d) {
			continue
		}
		r := scored{(1-vote)*x.total + vote*x.best*top, d}
		switch {
		case len(h) < n:
			h = append(h, r)
			c.rise(h, len(h)-1)
		case c.less(h[0], r):
			h[0] = r
			c.sink(h)
		}
	}
	s.top = h
	for i := range h {
		h[i].score = c.anew(s, h[i])
	}
	slices.SortFunc(h, c.compare)
	return h
}

func (c *core) compare(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(c.rank[a.number], c.rank[b.number]))
}

// less reports whether a ranks below b.
func (c *core) less(a, b scored) bool {
	return a.score < b.score || a.score == b.score && c.rank[a.number] > c.rank[b.number]
}

// rise and sink keep the lowest of a heap in front.
func (c *core) rise(h []scored, i int) {
	for i > 0 && c.less(h[i], h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
}

func (c *core) sink(h []scored) {
	for i := 0; ; {
		low := 2*i + 1
		if low >= len(h) {
			return
		}
		if low+1 < len(h) && c.less(h[low+1], h[low]) {
			low++
		}
		if !c.less(h[low], h[i]) {
			return
		}
		h[i], h[low] = h[low], h[i]
		i = low
	}
}

// anew is a tool's score with the bonuses for what the query covers of its name and first words, and for words that
// stand together in both.
func (c *core) anew(s *scratch, r scored) float32 {
	p, doc := c.piece(r.number)
	i := c.at(p)
	marks, places := s.mark[i], s.place[i]
	score := r.score
	if c.tune.lead > 0 || c.tune.order > 0 {
		leads := p.leads[p.leadEnd[doc]:p.leadEnd[doc+1]]
		score *= 1 + c.tune.lead*c.covers(p, marks, leads)
		score += c.tune.order * c.together(p, places, leads)
	}
	if c.tune.name > 0 {
		score *= 1 + c.tune.name*c.covers(p, marks, p.names[p.nameEnd[doc]:p.nameEnd[doc+1]])
	}
	return score
}

// covers is the part of what some terms are worth that the query has.
func (c *core) covers(p *piece, marks []float32, terms []uint32) float32 {
	var have, all float32
	for _, t := range terms {
		worth := p.worth[t]
		all += worth
		m := marks[t]
		if m == 0 {
			for _, k := range p.kin(t) {
				m = max(m, marks[k])
			}
		}
		have += worth * m
	}
	if all == 0 {
		return 0
	}
	return have / all
}

// together is what pairs of neighbours are worth that the query has as neighbours too, levelled off. In CJK all is
// neighbours, so it says nothing there.
func (c *core) together(p *piece, places []uint32, terms []uint32) float32 {
	var sum float32
	for i := 1; i < len(terms); i++ {
		a, b := places[terms[i-1]], places[terms[i]]
		if a > 0 && (b == a+1 || b == a+2) && p.keys[terms[i]][0] < utf8.RuneSelf {
			sum += p.worth[terms[i-1]] + p.worth[terms[i]]
		}
	}
	const most = 30
	sum = min(sum, most)
	return sum / (1 + sum/20)
}
