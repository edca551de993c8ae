package toolsearch

import (
	"crypto/sha256"
	"math"
	"slices"
	"sync"
)

// core is the index of one list of tools, without the tools: a few segments and what is gone of them. It is immutable
// but for its pool of scratch memory and is shared by every session whose view has these very texts.
type core struct {
	lex    *lexicon
	tune   *tuning
	parts  []piece
	size   int      // numbers of tools, gone ones included
	live   int      // tools
	gone   []uint64 // a bit for each number; nil = none is gone
	rank   []uint32 // a number's place by name
	number []uint32 // a place's number
	sums   []sum    // by place: of each tool's text
	digest sum
	fades  []float32 // what counts of each word of name and doc for the bonus of covering them
	whole  float32   // the logarithm of the number of tools, plus one
	pool   sync.Pool
}

// piece is a segment as it stands in a core.
type piece struct {
	*segment
	base  uint32    // what is added to its own numbers
	own   []uint32  // by term: the tools of the segment that have it and are not gone
	df    []uint32  // by term: the tools of the whole core that have it
	worth []float32 // by term
	shown []uint32  // by word: the tools of the segment that have it and are not gone
}

// sum is a SHA-256.
type sum [sha256.Size]byte

const (
	mostPieces = 6
	fresh      = 64 // tools that are always worth a piece of their own
)

// change is what makes one core of another.
type change struct {
	texts   []text   // all tools of the new one, by name
	sums    []sum    // parallel
	kept    []uint32 // parallel: the number in the old one, none = new
	removed []removed
}

// removed is a tool that the new core has no more.
type removed struct {
	number uint32
	text   text
}

// next makes the core of a change. What it costs is what was added and removed, and a pass over plain numbers; what a
// query finds depends on the texts alone, never on the way to them.
func (c *core) next(ch *change, digest sum) *core {
	n := &core{lex: c.lex, tune: c.tune, live: len(ch.texts), sums: ch.sums, digest: digest}
	n.whole = float32(math.Log(float64(n.live) + 1))
	for i := range mostLead {
		n.fades = append(n.fades, 1/(1+c.tune.steep*float32(i)))
	}
	n.pieces(c, ch)
	n.frequencies()
	for i := range n.parts {
		n.size += n.parts[i].tools
	}
	n.rank = make([]uint32, n.size)
	for place, number := range n.number {
		n.rank[number] = uint32(place)
	}
	return n
}

// pieces keeps the old pieces and adds one for what is new, or, when that would be too many or too much is gone, reads
// again all but the first, or all.
func (n *core) pieces(c *core, ch *change) {
	n.number = slices.Clone(ch.kept)
	added := 0
	for _, k := range ch.kept {
		if k == none {
			added++
		}
	}
	keep := len(c.parts)
	first := 0
	if keep > 0 {
		first = c.parts[0].tools
	}
	if keep == mostPieces && added > 0 {
		keep = 1
	}
	if outside := n.live - first; keep > 0 && 2*(outside+2*len(ch.removed)+c.dead()) > max(first, fresh) {
		keep = 0
	}
	end := uint32(0)
	if keep > 0 {
		end = c.parts[keep-1].base + uint32(c.parts[keep-1].tools)
		n.parts = slices.Clone(c.parts[:keep])
		n.remove(c, ch, end)
	}
	var texts []text
	for i, k := range n.number {
		if k == none || k >= end {
			n.number[i] = end + uint32(len(texts))
			texts = append(texts, ch.texts[i])
		}
	}
	if len(texts) > 0 || len(n.parts) == 0 {
		g := build(n.lex, n.tune, texts)
		n.parts = append(n.parts, piece{segment: g, base: end, own: g.count, shown: g.formCount})
	}
}

// dead counts the tools that are gone.
func (c *core) dead() int { return c.size - c.live }

// remove takes tools out of the pieces that were kept, which end before a number. What they counted for is found by
// reading them once more.
func (n *core) remove(c *core, ch *change, end uint32) {
	if c.gone != nil {
		n.gone = slices.Clone(c.gone[:min(len(c.gone), int(end+63)/64)])
		if end%64 != 0 && len(n.gone) > int(end/64) {
			n.gone[end/64] &= 1<<(end%64) - 1
		}
	}
	for i := range n.parts {
		p := &n.parts[i]
		var texts []text
		for _, r := range ch.removed {
			if r.number >= p.base && r.number < p.base+uint32(p.tools) {
				texts = append(texts, r.text)
				for int(r.number/64) >= len(n.gone) {
					n.gone = append(n.gone, 0)
				}
				n.gone[r.number/64] |= 1 << (r.number % 64)
			}
		}
		if len(texts) == 0 {
			continue
		}
		p.own, p.shown = slices.Clone(p.own), slices.Clone(p.shown)
		g := build(n.lex, n.tune, texts)
		for term, n := range g.count {
			p.own[termOf(p.segment, g.key(uint32(term)))] -= n
		}
		for w, n := range g.formCount {
			if n > 0 {
				p.shown[find(&p.words, g.words.word(uint32(w)))] -= n
			}
		}
	}
}

// frequencies adds up, for each piece's terms, the tools of all pieces.
func (n *core) frequencies() {
	for i := range n.parts {
		p := &n.parts[i]
		p.df = p.own
		if len(n.parts) > 1 {
			p.df = slices.Clone(p.own)
		}
		for j := range n.parts {
			q := &n.parts[j]
			switch {
			case i == j:
			case len(p.keys) < len(q.keys):
				for term := range p.keys {
					if at := termOf(q.segment, p.key(uint32(term))); at != none {
						p.df[term] += q.own[at]
					}
				}
			default:
				for term := range q.keys {
					if at := termOf(p.segment, q.key(uint32(term))); at != none {
						p.df[at] += q.own[term]
					}
				}
			}
		}
		p.worth = make([]float32, len(p.df))
		for t, df := range p.df {
			p.worth[t] = n.worth(df)
		}
	}
}

// worth is BM25's inverse document frequency, of a term that so many tools have.
func (c *core) worth(df uint32) float32 { return max(c.whole-c.lex.log(df), 0) }

func (c *core) isGone(number uint32) bool {
	return c.gone != nil && int(number/64) < len(c.gone) && c.gone[number/64]&(1<<(number%64)) != 0
}

// piece finds the piece of a number.
func (c *core) piece(number uint32) (p *piece, doc uint32) {
	for i := len(c.parts) - 1; i > 0; i-- {
		if p := &c.parts[i]; number >= p.base {
			return p, number - p.base
		}
	}
	return &c.parts[0], number
}

// at is the index of a piece.
func (c *core) at(p *piece) int {
	for i := range c.parts {
		if &c.parts[i] == p {
			return i
		}
	}
	return 0
}
