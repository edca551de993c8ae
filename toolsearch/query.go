package toolsearch

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/metaharness/peri/toolview"
)

const maxQuery = 4 << 10 // bytes of a query that are read

// Hit is one tool found. Score compares hits of one search; a tool found by its name alone may score 0.
type Hit struct {
	Entry toolview.Entry
	Score float64
}

// Search returns what a query finds, best first, ties by name: at most limit tools, except that a tool named outright
// is never cut off. It is empty when no tool is a good match. Case never counts. A query is words in any language, and:
//   - `select:A,B` takes tools by name alone, in that order.
//   - `+word` must match. `+4915123` has no letter: it is a number like any other.
//   - A word that is the name of a tool, or the part of it behind the server, finds that tool. One that is written
//     like an identifier, or stands alone, puts it before any ranked one; a word like any other ("search") keeps a
//     seat for it among them, since it may be meant as a word.
func (x *Index) Search(query string, limit int) []Hit {
	hits, s := x.search(query, limit, false)
	if s != nil {
		x.giveBack(s)
	}
	return hits
}

// search leaves the scratch of a ranked query to be read and given back.
func (x *Index) search(query string, limit int, why bool) ([]Hit, *scratch) {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	query = strings.TrimSpace(query)
	if len(x.tools) == 0 || limit < 1 {
		return nil, nil
	}
	if list, ok := cutFold(query, "select:"); ok {
		return x.pick(list), nil
	}
	s := x.borrow()
	s.why = why
	q := x.names(s, query)
	x.weigh(s, query)
	sure := limit
	if len(q.first)+len(q.seats) > 0 {
		sure = max(limit, x.tune.best) // the places of the named are looked for among all
	}
	ranked := x.ranked(s, max(limit, x.tune.best), sure)
	return x.seat(s, &q, ranked, limit), s
}

// named is what a query calls by name.
type named struct {
	first [][]uint32 // numbers, a group for each identifier
	seats [][]uint32 // a group for each word like any other
}

// names reads a query for names and for words that must match.
func (x *Index) names(s *scratch, query string) (q named) {
	alone := !strings.ContainsAny(query, " \t\r\n")
	for token := range strings.FieldsSeq(query) {
		rest, plus := strings.CutPrefix(token, "+")
		rest = bare(rest)
		if rest == "" {
			continue
		}
		group := x.calledBy(rest)
		if plus && !number(rest) {
			x.must(s, rest, group)
		}
		switch {
		case len(group) == 0:
			x.glued(&q, rest)
		case alone || identifier(rest):
			q.first = append(q.first, group)
		default:
			q.seats = append(q.seats, group)
		}
	}
	return q
}

// glued reads a token for names that letters of a script without spaces stand around.
func (x *Index) glued(q *named, token string) {
	if strings.IndexFunc(token, divides) < 0 {
		return
	}
	for part := range strings.FieldsFuncSeq(token, divides) {
		if group := x.calledBy(bare(part)); len(group) > 0 && identifier(part) {
			q.first = append(q.first, group)
		} else if len(group) > 0 {
			q.seats = append(q.seats, group)
		}
	}
}

// number reports whether a token begins with a sign or digits and no letter: a telephone number and what is glued to it.
func number(token string) bool {
	for _, r := range token {
		if unicode.IsLetter(r) {
			return false
		}
		if !unicode.IsDigit(r) {
			break
		}
	}
	return true
}

// identifier reports whether a token is written like no word of a language, nor a number.
func identifier(token string) bool {
	if !strings.ContainsFunc(token, unicode.IsLetter) {
		return false
	}
	var last rune
	for i, r := range token {
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/' || '0' <= r && r <= '9':
			return true
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(last):
			return true
		}
		last = r
	}
	return false
}

// calledBy finds the tools that have a name in full, or, when none has, behind their server, or, when none has that
// either, as an alias.
func (x *Index) calledBy(name string) []uint32 {
	hash := nameHash(name)
	var out []uint32
	rank := 3
	for i := range x.parts {
		p := &x.parts[i]
		if p.callable[hash>>6%uint32(len(p.callable))]&(1<<(hash%64)) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(p.called, hash, func(c called, h uint32) int { return cmp.Compare(c.hash, h) })
		for ; at < len(p.called) && p.called[at].hash == hash; at++ {
			d := p.base + p.called[at].doc
			if x.isGone(d) {
				continue
			}
			r := goesBy(x.tools[x.rank[d]].Tool, name)
			if r < rank {
				out, rank = out[:0], r
			}
			if r == rank && r < 3 {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b uint32) int { return cmp.Compare(x.rank[a], x.rank[b]) })
	return slices.Compact(out)
}

// goesBy says how a tool goes by a name: 0 in full, 1 behind the server, 2 as an alias, 3 not.
func goesBy(t *toolview.Tool, name string) int {
	if strings.EqualFold(t.Name, name) {
		return 0
	}
	if _, own := server(t.Name); strings.EqualFold(own, name) {
		return 1
	}
	if slices.ContainsFunc(t.Aliases, func(a string) bool { return strings.EqualFold(a, name) }) {
		return 2
	}
	return 3
}

// must counts a `+word` for the tools that have all that it consists of, or go by it.
func (x *Index) must(s *scratch, token string, called []uint32) {
	if s.must == 255 {
		return
	}
	s.must++
	var have map[uint32]bool
	keep := func(keys ...[]byte) {
		next := map[uint32]bool{}
		for _, key := range keys {
			x.terms(s, key)
			for i, t := range s.terms {
				if t == none {
					continue
				}
				p := &x.parts[i]
				for _, doc := range p.docs[p.start[t]:p.start[t+1]] {
					if d := p.base + doc; have == nil || have[d] {
						next[d] = true
					}
				}
			}
		}
		have = next
	}
	// The parts of an identifier may each be met by its whole, which comes behind them.
	var parts [][]byte
	s.split.each(token, func(w []byte, k kind) {
		hash := wordHash(w)
		if x.tune.stopwords && k < whole && x.lex.isStop(hash, w) {
			return // nothing but names holds it, so it cannot be asked for
		}
		f := found{kind: k}
		x.find(s, hash, w, &f)
		key := bytes.Clone(f.key)
		switch k {
		case part:
			parts = append(parts, key)
		case whole:
			for _, p := range parts {
				keep(p, key)
			}
			parts = parts[:0]
		case lone:
			if len(token) == len(w) {
				keep(key)
			}
		default:
			keep(key)
		}
	})
	if have == nil && len(called) == 0 {
		s.must--
		return
	}
	for _, d := range called {
		if have == nil {
			have = map[uint32]bool{}
		}
		have[d] = true
	}
	for d := range have {
		s.cells[d].met++
	}
}

// seat makes the answer: the named first, then the ranked, with seats kept for names that rank too low.
func (x *Index) seat(s *scratch, q *named, ranked []scored, limit int) []Hit {
	place := func(d uint32) int {
		if i := slices.IndexFunc(ranked, func(r scored) bool { return r.number == d }); i >= 0 {
			return i
		}
		return len(ranked) + int(x.rank[d])
	}
	best := func(group []uint32) (d uint32, ok bool) {
		group = slices.DeleteFunc(group, func(d uint32) bool { return !x.allowed(s, d) })
		if len(group) == 0 {
			return 0, false
		}
		return slices.MinFunc(group, func(a, b uint32) int { return cmp.Compare(place(a), place(b)) }), true
	}
	pick := func(groups [][]uint32, but []uint32) (out []uint32) {
		for _, g := range groups {
			if d, ok := best(g); ok && !slices.Contains(but, d) && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
		slices.SortFunc(out, func(a, b uint32) int { return cmp.Compare(place(a), place(b)) })
		return out
	}
	first := pick(q.first, nil)
	// Of an identifier that several servers have, the best stands for all; the others follow while there is room.
	for _, g := range q.first {
		slices.SortFunc(g, func(a, b uint32) int { return cmp.Compare(place(a), place(b)) })
		for _, d := range g {
			if len(first) < limit && !slices.Contains(first, d) && x.allowed(s, d) {
				first = append(first, d)
			}
		}
	}
	seats := slices.DeleteFunc(pick(q.seats, first), func(d uint32) bool { return place(d) < limit-len(first) })
	hits := make([]Hit, 0, min(max(limit, len(first)+len(seats)), len(first)+len(seats)+len(ranked)))
	give := func(d uint32) {
		score := float32(0)
		if i := place(d); i < len(ranked) {
			score = ranked[i].score
		}
		hits = append(hits, Hit{x.tools[x.rank[d]], float64(score)})
	}
	for _, d := range first {
		give(d)
	}
	for _, r := range ranked {
		if len(hits) >= limit-len(seats) {
			break
		}
		if !slices.Contains(first, r.number) && !slices.Contains(seats, r.number) {
			give(r.number)
		}
	}
	for _, d := range seats {
		give(d)
	}
	return hits
}

// allowed reports whether a tool has every `+word`.
func (x *Index) allowed(s *scratch, d uint32) bool { return int(s.cells[d].met) >= s.must }

// pick is `select:`. What is asked for by name is all returned; a name that is not there is left out.
func (x *Index) pick(list string) []Hit {
	var hits []Hit
	seen := map[uint32]bool{}
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		for _, d := range x.calledBy(bare(name)) {
			if !seen[d] {
				seen[d] = true
				hits = append(hits, Hit{Entry: x.tools[x.rank[d]]})
			}
		}
	}
	return hits
}

func bare(token string) string {
	if token != "" && plainByte(token[0]) && plainByte(token[len(token)-1]) {
		return token
	}
	return strings.Trim(token, "\"'`“”‘’.,;:!?()[]{}<>，。；：！？、（）「」")
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}
