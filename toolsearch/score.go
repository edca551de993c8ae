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

// words looks up a sentence. A path or a link in it is read as what it is about; what is glued to one in a script that
// sets no spaces is not part of it.
func (c *core) words(s *scratch, text string) {
	look := func(w []byte, k kind) { c.look(s, w, k) }
	s.weight = 1
	read := 0
	if c.tune.path > 0 && strings.ContainsAny(text, `/\`) {
		for at := 0; at < len(text); {
			end := at + upTo(text[at:], divides)
			if about := pathOf(text[at:end]); about != "" {
				s.split.each(text[read:at], look)
				s.weight = c.tune.path
				s.split.each(about, look)
				s.weight, read = 1, end
			}
			at = end + upTo(text[end:], func(r rune) bool { return !divides(r) })
		}
	}
	s.split.each(text[read:], look)
}

func divides(r rune) bool { return unicode.IsSpace(r) || r >= 0x2E80 }

// upTo is where the first rune of a kind stands in a text, or its end.
func upTo(text string, is func(rune) bool) int {
	if at := strings.IndexFunc(text, is); at >= 0 {
		return at
	}
	return len(text)
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

// ranked returns the best tools, at most n, best first, of which sure ones are needed: of those the order is exact, and a
// tool that cannot be one of them may be left out. A tool that only ubiquitous words find is none of them, nor one
// that shares a single word with a query whose rarer words nothing meets.
func (c *core) ranked(s *scratch, n, sure int) []scored {
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
	return c.again(s, h, sure)
}

// again scores the best anew. Once there are enough, it stops at the first that no bonus could lift among them.
func (c *core) again(s *scratch, h []scored, sure int) []scored {
	slices.SortFunc(h, c.compare)
	done := 0
	for ; done < len(h); done++ {
		if done >= sure && (h[done].score+c.tune.order*mostOrder)*(1+c.tune.lead)*(1+c.tune.name)*1.001 < h[sure-1].score {
			break
		}
		r := scored{c.anew(s, h[done]), h[done].number}
		at, _ := slices.BinarySearchFunc(h[:done], r, c.compare)
		copy(h[at+1:done+1], h[at:done])
		h[at] = r
	}
	return h[:done]
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
	marks := s.mark[i]
	score := r.score
	if c.tune.lead > 0 || c.tune.order > 0 {
		leads := p.leads[p.leadEnd[doc]:p.leadEnd[doc+1]]
		score += c.tune.order * c.together(p, marks, leads)
		score *= 1 + c.tune.lead*c.covers(p, marks, leads, c.fades)
	}
	if c.tune.name > 0 {
		score *= 1 + c.tune.name*c.covers(p, marks, p.names[p.nameEnd[doc]:p.nameEnd[doc+1]], nil)
	}
	return score
}

// covers is the part of what some terms are worth that the query has. fades is what counts of each, nil for all of it.
func (c *core) covers(p *piece, marks []mark, terms []uint32, fades []float32) float32 {
	var have, all float32
	for i, t := range terms {
		worth := p.worth[t]
		if fades != nil {
			worth *= fades[i]
		}
		all += worth
		m := marks[t].trust
		if m == 0 {
			m = p.akin(marks, t)
		}
		have += worth * m
	}
	if all == 0 {
		return 0
	}
	return have / all
}

// akin is how surely the query has a word of a term's groups.
func (p *piece) akin(marks []mark, term uint32) (m float32) {
	if known := p.senses[term]; known != nil {
		for _, side := range known.sides {
			if g := p.group[side]; g != none {
				m = max(m, marks[g].trust)
			}
		}
	}
	return m
}

// together is what pairs of neighbours are worth that the query has as neighbours too, levelled off. In CJK all is
// neighbours, so it says nothing there.
func (c *core) together(p *piece, marks []mark, terms []uint32) float32 {
	var sum float32
	for i := 1; i < len(terms); i++ {
		a, b := marks[terms[i-1]].place, marks[terms[i]].place
		if a > 0 && (b == a+1 || b == a+2) && p.key(terms[i])[0] < utf8.RuneSelf {
			sum += p.worth[terms[i-1]] + p.worth[terms[i]]
		}
	}
	return min(sum/(1+sum/20), mostOrder)
}

// mostOrder is what together levels off at.
const mostOrder = 12
