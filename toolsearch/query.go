package toolsearch

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// query is a parsed query against one index.
type query struct {
	words  []wanted
	must   []map[int]bool // each `+word`: the tools that have it
	named  []int          // tools named in full
	leaves [][]int        // tools named by the end of their name, a group for each such word
	total  float64        // the weight of all words that say something
	known  float64        // the weight of those of them that any tool has
}

// wanted is one word of a query: counts says which tools have it and how much, worth how rare it is, trust how sure it
// is that this word was meant.
type wanted struct {
	counts map[int]float64
	worth  float64
	trust  float64
	common bool
}

// required reports whether a tool has every `+word`.
func (q *query) required(i int) bool {
	for _, m := range q.must {
		if !m[i] {
			return false
		}
	}
	return true
}

func (x *Index) parse(text string) *query {
	q := &query{}
	seen := map[string]bool{}
	named := map[int]bool{}
	for token := range strings.FieldsSeq(text) {
		rest, plus := strings.CutPrefix(token, "+")
		rest = bare(rest)
		if plus && rest != "" {
			q.must = append(q.must, x.having(rest))
		}
		full, leaf := x.named(rest)
		for _, i := range full {
			if !named[i] {
				named[i] = true
				q.named = append(q.named, i)
			}
		}
		if len(leaf) > 0 {
			q.leaves = append(q.leaves, leaf)
		}
		for _, w := range split(rest) {
			for _, unit := range units(w) {
				key := strings.Join(unit, " ")
				if !seen[key] {
					seen[key] = true
					x.want(q, unit, w.cjk)
				}
			}
		}
	}
	return q
}

// units are the things that one word of a query asks for, each as the terms that would meet it.
func units(w word) [][]string {
	if !w.cjk {
		parts := humps(w.text)
		if len(parts) == 1 && filler(strings.ToLower(w.text)) {
			return nil
		}
		whole := stem(strings.ToLower(w.text))
		if len(parts) == 1 {
			return [][]string{{whole}}
		}
		out := make([][]string, 0, len(parts))
		for _, p := range parts {
			out = append(out, []string{stem(strings.ToLower(p)), whole})
		}
		return out
	}
	runes := []rune(w.text)
	if len(runes) == 1 {
		return [][]string{{w.text}}
	}
	out := make([][]string, 0, len(runes)-1)
	for i := 1; i < len(runes); i++ {
		out = append(out, []string{string(runes[i-1 : i+1])})
	}
	return out
}

// want adds one unit to a query.
func (x *Index) want(q *query, unit []string, cjk bool) {
	counts := x.counts(unit)
	trust := 1.0
	if len(counts) == 0 && !cjk {
		if near := x.near(unit[0]); near != "" {
			counts, trust = x.counts([]string{near}), 0.7
		}
	}
	w := wanted{counts: counts, worth: x.rarity(len(counts)), trust: trust}
	w.common = len(x.tools) >= few && 2*len(counts) > len(x.tools)
	if len(counts) == 0 && cjk {
		w.worth *= strangers
	}
	if !w.common {
		q.total += w.worth
		if len(counts) > 0 {
			q.known += w.worth
		}
	}
	q.words = append(q.words, w)
}

// counts joins the postings of terms that mean the same thing.
func (x *Index) counts(terms []string) map[int]float64 {
	out := map[int]float64{}
	for _, t := range terms {
		for _, p := range x.terms[t] {
			out[p.tool] = max(out[p.tool], p.count)
		}
	}
	return out
}

// having is the set of tools that meet a `+word`: one that has all of its units.
func (x *Index) having(text string) map[int]bool {
	var out map[int]bool
	full, leaf := x.named(text)
	byName := append(full, leaf...)
	for _, w := range split(text) {
		for _, t := range plain(w) {
			counts := x.counts(t)
			next := map[int]bool{}
			for i := range counts {
				if out == nil || out[i] {
					next[i] = true
				}
			}
			out = next
		}
	}
	if out == nil {
		out = map[int]bool{}
	}
	for _, i := range byName {
		out[i] = true
	}
	return out
}

// plain is units without the exception for filler: who writes `+to` means it.
func plain(w word) [][]string {
	if u := units(w); u != nil {
		return u
	}
	return [][]string{{stem(strings.ToLower(w.text))}}
}

// near is the term that a mistyped word was meant to be: one slip in a word of five letters or more, two from nine on,
// never in the first letter. "" when there is none.
func (x *Index) near(w string) string {
	n := utf8.RuneCountInString(w)
	if n < 5 || n > 32 || strings.ContainsAny(w, "0123456789") {
		return ""
	}
	allowed := 1
	if n >= 9 {
		allowed = 2
	}
	_, size := utf8.DecodeRuneInString(w)
	first := w[:size]
	at, _ := slices.BinarySearch(x.vocab, first)
	best, least := "", allowed+1
	for _, t := range x.vocab[at:] {
		if !strings.HasPrefix(t, first) {
			break
		}
		if d := slips([]rune(w), []rune(t), allowed); d < least || d == least && d <= allowed && len(x.terms[t]) > len(x.terms[best]) {
			best, least = t, d
		}
	}
	return best
}

// slips is the number of edits between two words, a swapped pair counting as one; above most it is most+1.
func slips(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], most+1)
}
