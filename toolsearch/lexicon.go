package toolsearch

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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
	words  table // stopwords, and stems of which something is known
	senses []sense
	lines  []string      // the words of a group
	spell  *speller      // over all words
	logs   [4096]float32 // the logarithms of n + 0.5
}

// sense is what is known of a word.
type sense struct {
	stop, fill bool
	// sides are those of the groups that it is in; see sided.
	sides []uint16
}

func newLexicon() *lexicon {
	x := &lexicon{}
	words := &table{}
	for w := range strings.FieldsSeq(stopwords) {
		x.enter(words, w, w).stop = true
	}
	for w := range strings.FieldsSeq(filler) {
		x.enter(words, w, stem(w)).fill = true
	}
	for line := range strings.Lines(synonyms) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := uint16(len(x.lines))
		for w := range strings.FieldsSeq(line) {
			known := x.enter(words, w, stem(w))
			if side := sided(group, w[0] >= utf8.RuneSelf); !slices.Contains(known.sides, side) {
				known.sides = append(known.sides, side)
			}
		}
		x.lines = append(x.lines, line)
	}
	words.clip()
	x.spell = newSpeller(words)
	for i := range x.logs {
		x.logs[i] = float32(math.Log(float64(i) + 0.5))
	}
	return x
}

// enter makes a word known by its key, and spelled.
func (x *lexicon) enter(spelled *table, w, key string) *sense {
	if find(spelled, w) == none {
		spelled.add([]byte(w))
	}
	n := find(&x.words, key)
	if n == none {
		n = x.words.add([]byte(key))
		x.senses = append(x.senses, sense{})
	}
	return &x.senses[n]
}

// of is what is known of a key, nil when nothing is.
func of[T string | []byte](x *lexicon, key T) *sense {
	if n := find(&x.words, key); n != none {
		return &x.senses[n]
	}
	return nil
}

// isStop reports whether a word, of which the hash is given, is a stopword.
func (x *lexicon) isStop(hash uint32, w []byte) bool {
	n := x.words.at(hash, w)
	return n != none && x.senses[n].stop
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

func isGroup(key []byte) bool { return key[0] == 1 }
