package toolsearch

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxQuery = 4 << 10 // bytes of a query that are read
	// cover is the part of a query's weight that the words which any tool has must make up. Below it what is really
	// wanted is met by nothing, and a tool that shares one word is no match.
	cover = 0.45
	// strangers is what an unknown pair of CJK characters counts: most pairs of a sentence are no words.
	strangers = 0.15
	// few is the number of tools below which no word can be called ubiquitous.
	few = 8
)

// Search returns what a query finds, best first, ties by name: at most limit tools, except that a tool named outright
// is never cut off. It is empty when no tool is a good match. A query is words in any language; `+word` must match;
// `select:A,B` takes tools by name alone, in that order. A word that is the name of a tool, or the part of it behind
// the server, finds that tool before any ranked one. Case never counts.
func (x *Index) Search(query string, limit int) []Hit {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	if len(x.tools) == 0 || limit < 1 {
		return nil
	}
	if list, ok := cutFold(strings.TrimSpace(query), "select:"); ok {
		return x.pick(list)
	}
	q := x.parse(query)
	scores := x.score(q)
	allowed := func(i int) bool { return q.required(i) }
	var hits []Hit
	taken := map[int]bool{}
	take := func(i int) {
		if !taken[i] && allowed(i) {
			taken[i] = true
			hits = append(hits, Hit{x.tools[i], scores[i]})
		}
	}
	best := func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) }
	slices.SortFunc(q.named, best)
	for _, i := range q.named {
		take(i)
	}
	// A leaf that several servers have names all of them; the best stands for it, the others compete for the limit.
	var rest []int
	for _, group := range q.leaves {
		group = slices.DeleteFunc(slices.Clone(group), func(i int) bool { return !allowed(i) })
		slices.SortFunc(group, best)
		if len(group) > 0 {
			take(group[0])
			rest = append(rest, group[1:]...)
		}
	}
	slices.SortFunc(rest, best)
	limit = max(limit, len(hits))
	for _, i := range rest {
		if len(hits) < limit {
			take(i)
		}
	}
	var ranked []int
	for i := range x.tools {
		if scores[i] > 0 {
			ranked = append(ranked, i)
		}
	}
	slices.SortFunc(ranked, best)
	for _, i := range ranked {
		if len(hits) < limit {
			take(i)
		}
	}
	return hits
}

// pick is `select:`. What is asked for by name is all returned; a name that is not there is left out.
func (x *Index) pick(list string) []Hit {
	var hits []Hit
	seen := map[int]bool{}
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		group, leaf := x.named(bare(name))
		for _, i := range append(group, leaf...) {
			if !seen[i] {
				seen[i] = true
				hits = append(hits, Hit{Entry: x.tools[i]})
			}
		}
	}
	return hits
}

// named finds the tools that have a name in full, or, when none has, at its end or as an alias.
func (x *Index) named(name string) (full, leaf []int) {
	name = strings.ToLower(name)
	if full = x.full[name]; len(full) > 0 {
		return slices.Clone(full), nil
	}
	return nil, slices.Clone(x.leaf[name])
}

// score adds up, for every tool, BM25 over the query's words. A tool that only ubiquitous words find has 0, and
// so has one that shares a single word with a query whose rarer words nothing meets.
func (x *Index) score(q *query) []float64 {
	scores, carried := make([]float64, len(x.tools)), make([]int, len(x.tools))
	for k := range q.words {
		w := &q.words[k]
		for i, count := range w.counts {
			scores[i] += w.worth * w.trust * count / (saturation + count)
			if !w.common {
				carried[i]++
			}
		}
	}
	needs := 2
	if q.known >= cover*q.total {
		needs = 1
	}
	for i := range scores {
		if carried[i] < needs {
			scores[i] = 0
		}
	}
	return scores
}

func bare(token string) string {
	return strings.Trim(token, "\"'`“”‘’.,;:!?()[]{}<>，。；：！？、（）「」")
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}
