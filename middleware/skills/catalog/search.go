package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Search returns at most limit of the skills that keep wants, best first: what names a word of the query goes before
// what only describes itself with it. An empty query lists the first.
func (c *Catalog) Search(query string, limit int, keep func(*Skill) bool) []*Skill {
	type hit struct {
		skill *Skill
		score int
	}
	var hits []hit
	words := wordsOf(query)
	for i := range c.All() {
		s := &c.skills[i]
		score := s.score(words)
		if (score > 0 || len(words) == 0) && keep(s) {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := make([]*Skill, min(limit, len(hits)))
	for i := range out {
		out[i] = hits[i].skill
	}
	return out
}

func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(common, w) })
}

// common words say nothing of what a skill is for.
var common = []string{"a", "an", "and", "for", "how", "i", "in", "is", "it", "of", "on", "or", "skill", "that", "the", "this", "to", "use", "when", "with"}

// score counts the words that a skill has: in its id or name four times, in its description once, and half as much for a
// word that only begins alike.
func (s *Skill) score(words []string) int {
	names, about := wordsOf(s.ID+" "+s.Name), wordsOf(s.Description)
	total := 0
	for _, w := range words {
		total += 8*matches(w, names) + 2*matches(w, about)
	}
	return total / 2
}

// matches is 2 for a word that is there, 1 for one that begins like one that is there, else 0.
func matches(word string, in []string) int {
	best := 0
	for _, have := range in {
		switch {
		case have == word:
			return 2
		case len(word) >= 4 && len(have) >= 4 && (strings.HasPrefix(have, word) || strings.HasPrefix(word, have)):
			best = 1
		}
	}
	return best
}
