package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// The weights of a match, beside the usual ones of BM25 (k1, b).
const (
	k1, b     = 1.2, 0.75
	tagWeight = 2.0 // a word in a tag, in words of text
	beginning = 0.4 // a word of which the query has the beginning alone
	phrase    = 1.5 // the query's very words, in their order
)

// doc is one memory as words.
type doc struct {
	m     Memory
	count map[string]float64
	size  float64
	text  string
}

// rank is the best matches of a query, the newest first where they match alike; of an empty query the newest.
func rank(all []Memory, query string, limit int) []Memory {
	newest := func(a, b Memory) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) }
	terms := words(query)
	if len(terms) == 0 {
		if strings.TrimSpace(query) != "" {
			return nil // no word in it
		}
		out := slices.SortedFunc(slices.Values(all), newest)
		return out[:min(limit, len(out))]
	}
	docs := make([]doc, len(all))
	total := 0.0
	for i, m := range all {
		docs[i] = read(m)
		total += docs[i].size
	}
	mean := total / max(1, float64(len(docs)))
	scores := make([]float64, len(docs))
	slices.Sort(terms)
	for _, t := range slices.Compact(terms) {
		weigh(docs, t, mean, scores)
	}
	said := strings.Join(strings.Fields(strings.ToLower(query)), " ")
	order := make([]int, 0, len(docs))
	for i := range docs {
		if scores[i] > 0 {
			if strings.Contains(docs[i].text, said) {
				scores[i] *= phrase
			}
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(scores[y], scores[x]), newest(docs[x].m, docs[y].m))
	})
	out := make([]Memory, 0, min(limit, len(order)))
	for _, i := range order[:min(limit, len(order))] {
		out = append(out, docs[i].m)
	}
	return out
}

// weigh adds what one word of a query is worth in each memory.
func weigh(docs []doc, term string, mean float64, scores []float64) {
	often := make([]float64, len(docs))
	has := 0.0
	for i := range docs {
		n := docs[i].count[term]
		if n == 0 && len(term) >= 3 {
			for w := range docs[i].count {
				if strings.HasPrefix(w, term) {
					n = beginning
					break
				}
			}
		}
		if often[i] = n; n > 0 {
			has++
		}
	}
	worth := math.Log(1 + (float64(len(docs))-has+0.5)/(has+0.5))
	for i, n := range often {
		scores[i] += worth * n * (k1 + 1) / (n + k1*(1-b+b*docs[i].size/mean))
	}
}

func read(m Memory) doc {
	d := doc{m: m, count: map[string]float64{}, text: strings.Join(strings.Fields(strings.ToLower(m.Text)), " ")}
	for _, w := range words(m.Text) {
		d.count[w]++
		d.size++
	}
	for _, t := range m.Tags {
		for _, w := range words(t) {
			d.count[w] += tagWeight
		}
	}
	d.size = max(d.size, 1)
	return d
}

// words are the stems of a text's words. Scripts that are written without blanks give pairs of neighbours, and single
// signs where one stands alone.
func words(text string) []string {
	var out []string
	var word, signs []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, english.Stem(string(word), false))
			word = word[:0]
		}
		for i := 0; i+1 < len(signs); i++ {
			out = append(out, string(signs[i:i+2]))
		}
		if len(signs) == 1 {
			out = append(out, string(signs))
		}
		signs = signs[:0]
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
			if len(word) > 0 {
				flush()
			}
			signs = append(signs, r)
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Mn, r):
			if len(signs) > 0 {
				flush()
			}
			word = append(word, r)
		default:
			flush()
		}
	}
	flush()
	return out
}
