package toolsearch

import (
	_ "embed"
	"math"
	"strings"

	"github.com/kljensen/snowball/english"
)

// stopwords are never looked up; filler counts less. Neither says what a tool should do.
//
//go:embed stopwords.txt
var stopwords string

//go:embed filler.txt
var filler string

//go:embed synonyms.txt
var synonyms string

// lexicon is what is known of language before any tool is read. It is immutable.
type lexicon struct {
	stop   map[string]bool
	fill   map[string]bool     // stems
	groups map[string][]uint16 // a stem → the groups of words that mean nearly the same
	lines  []string            // the words of a group
	spell  *speller            // over all of them
	logs   [4096]float32       // the logarithms of n + 0.5
}

func newLexicon() *lexicon {
	x := &lexicon{stop: map[string]bool{}, fill: map[string]bool{}, groups: map[string][]uint16{}}
	var words []string
	for w := range strings.FieldsSeq(stopwords) {
		x.stop[w] = true
		words = append(words, w)
	}
	for w := range strings.FieldsSeq(filler) {
		x.fill[stem(w)] = true
		words = append(words, w)
	}
	n := uint16(0)
	for line := range strings.Lines(synonyms) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for w := range strings.FieldsSeq(line) {
			key := stem(w)
			if gs := x.groups[key]; len(gs) == 0 || gs[len(gs)-1] != n {
				x.groups[key] = append(gs, n)
			}
			words = append(words, w)
		}
		x.lines = append(x.lines, line)
		n++
	}
	x.spell = newSpeller(words)
	for i := range x.logs {
		x.logs[i] = float32(math.Log(float64(i) + 0.5))
	}
	return x
}

// log is the logarithm of n + 0.5.
func (x *lexicon) log(n uint32) float32 {
	if int(n) < len(x.logs) {
		return x.logs[n]
	}
	return float32(math.Log(float64(n) + 0.5))
}

// stem is the English stem of a lower-case word. What is not all letters a to z is its own.
func stem(w string) string {
	if len(w) < 3 {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	return english.Stem(w, true)
}

// sided is the number of one side of a group: its words of letters, or its CJK words. A word of the same script is akin;
// one of the other is the word itself in another language.
func sided(g uint16, cjk bool) uint16 {
	if cjk {
		return 2*g + 1
	}
	return 2 * g
}

// groupKey is the term under which the tools of a group's side stand. No word can be one.
func groupKey(side uint16) string { return string([]byte{1, byte(side >> 8), byte(side)}) }

func isGroup(key string) bool { return key[0] == 1 }
