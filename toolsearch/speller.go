package toolsearch

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// speller finds the words that are one slip away from another: a letter too many, too few, wrong, or two swapped. One
// slip leaves one half of a word whole, so a word is kept under each of its halves. It is immutable.
type speller struct {
	words  *table
	halves []half   // sorted by key
	first  []uint32 // by the high bits of a key: where in halves it begins; one more than such bits
	shift  int      // leaves the high bits
}

type half struct {
	key  uint32
	word uint32
}

const (
	shortest = 5  // letters of a word that is repaired
	widest   = 32 // bytes
)

func newSpeller(words *table) *speller {
	s := &speller{words: words}
	for i := range uint32(words.len()) {
		w := words.word(i)
		if !spellable(w) {
			continue
		}
		h := len(w) / 2
		s.halves = append(s.halves, half{halfKey(w[:h], len(w), 0), i}, half{halfKey(w[h:], len(w), 1), i})
	}
	slices.SortFunc(s.halves, func(a, b half) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.word, b.word)) })
	s.halves = slices.Clone(s.halves)
	high := bits.Len(uint(len(s.halves) / 4))
	s.shift, s.first = 32-high, make([]uint32, 1<<high+1)
	at := 0
	for i := range s.first {
		for at < len(s.halves) && int(s.halves[at].key>>s.shift) < i {
			at++
		}
		s.first[i] = uint32(at)
	}
	return s
}

func spellable(w []byte) bool {
	if len(w) < shortest-1 || len(w) > widest {
		return false
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

// halfKey is FNV-1a over a half, the length of the word and which half it is.
func halfKey(part []byte, n int, side uint32) uint32 {
	h := (2166136261 ^ (uint32(n)<<1 | side)) * 16777619
	for i := range len(part) {
		h = (h ^ uint32(part[i])) * 16777619
	}
	return h
}

// near calls yield with the number of every word that is one slip away from w, some more than once.
func (s *speller) near(w []byte, yield func(word uint32)) {
	if len(w) < shortest || len(w) > widest {
		return
	}
	for n := len(w) - 1; n <= len(w)+1; n++ {
		h := n / 2
		if h <= len(w) {
			s.under(halfKey(w[:h], n, 0), w, yield)
		}
		if n-h <= len(w) {
			s.under(halfKey(w[len(w)-(n-h):], n, 1), w, yield)
		}
	}
	// Two letters swapped across the middle leave no half whole.
	h := len(w) / 2
	w[h-1], w[h] = w[h], w[h-1]
	s.equal(w, yield)
	w[h-1], w[h] = w[h], w[h-1]
}

func (s *speller) under(key uint32, w []byte, yield func(uint32)) {
	for _, h := range s.bucket(key) {
		if h.key == key && slip(w, s.words.word(h.word)) {
			yield(h.word)
		}
	}
}

func (s *speller) equal(w []byte, yield func(uint32)) {
	key := halfKey(w[:len(w)/2], len(w), 0)
	for _, h := range s.bucket(key) {
		if h.key == key && bytes.Equal(w, s.words.word(h.word)) {
			yield(h.word)
		}
	}
}

// bucket is where a key stands, and a few others.
func (s *speller) bucket(key uint32) []half {
	at := key >> s.shift
	return s.halves[s.first[at]:s.first[at+1]]
}

// slip reports whether a and b are exactly one slip apart.
func slip(a, b []byte) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 0:
		if i == len(a) {
			return false
		}
		if i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && bytes.Equal(a[i+2:], b[i+2:]) {
			return true
		}
		return bytes.Equal(a[i+1:], b[i+1:])
	case 1:
		return bytes.Equal(a[i+1:], b[i:])
	case -1:
		return bytes.Equal(a[i:], b[i+1:])
	}
	return false
}
