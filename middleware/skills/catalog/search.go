package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// enough is the part of a query, its rare words weighing most, that a skill must have to be found: a word that many share
// is no answer to a query whose own words nobody has.
const enough = 0.25

// Search returns at most limit of the skills that keep wants, best first: what has a word of the query in its name goes
// before what has it in its description, and a rare word counts more than a common one. A query without words lists the
// first.
func (c *Catalog) Search(query string, limit int, keep func(*Skill) bool) []*Skill {
	type hit struct {
		skill *Skill
		score float64
		has   []int // for each word of the query: 0, or how much it counts where it was found
	}
	words := wordsOf(query)
	hits := make([]hit, len(c.All()))
	shared := make([]int, len(words))
	for i := range hits {
		s := &c.skills[i]
		hits[i] = hit{skill: s, has: s.matches(words)}
		for k, n := range hits[i].has {
			shared[k] += min(n, 1)
		}
	}
	total, weights := 0.0, make([]float64, len(words))
	for k, n := range shared {
		weights[k] = math.Log(1 + float64(len(hits))/(float64(n)+0.5))
		total += weights[k]
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		met := 0.0
		for k, n := range h.has {
			met += weights[k] * float64(min(n, 1))
		}
		return met < enough*total || !keep(h.skill)
	})
	for i := range hits {
		for k, n := range hits[i].has {
			hits[i].score += weights[k] * float64(n)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := make([]*Skill, min(limit, len(hits)))
	for i := range out {
		out[i] = hits[i].skill
	}
	return out
}

// matches says for each word how much it counts where the skill has it: in its id or name 8, in its description 2, and
// half as much for a word that only begins alike.
func (s *Skill) matches(words []string) []int {
	names, about := wordsOf(s.ID+" "+s.Name), wordsOf(s.Description)
	out := make([]int, len(words))
	for i, w := range words {
		out[i] = max(4*likeness(w, names), likeness(w, about))
	}
	return out
}

// likeness is 2 for a word that is there, 1 for one that begins like one that is there, else 0.
func likeness(word string, in []string) int {
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

// common words say nothing of what a skill is for.
var common = []string{"a", "an", "and", "for", "how", "i", "in", "is", "it", "of", "on", "or", "skill", "that", "the", "this", "to", "use", "when", "with"}

// wordsOf are the lower-case words of a text. Of scripts that put no blanks between words, each pair of neighbours is one.
func wordsOf(text string) []string {
	var out []string
	var word []rune
	joined := false
	end := func() {
		switch {
		case len(word) == 0:
		case !joined || len(word) == 1:
			if w := string(word); !slices.Contains(common, w) {
				out = append(out, w)
			}
		default:
			for i := range word[1:] {
				out = append(out, string(word[i:i+2]))
			}
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if is := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai); is != joined {
			end()
			joined = is
		}
		word = append(word, r)
	}
	end()
	return out
}
