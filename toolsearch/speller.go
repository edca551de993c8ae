package toolsearch

import (
	"cmp"
	"slices"
)

// speller finds the words that are one slip away from another: a letter too many, too few, wrong, or two swapped. One
// slip leaves one half of a word whole, so a word is kept under each of its halves. It is immutable.
type speller struct {
	words  []string
	halves []half // sorted by key
}

type half struct {
	key  uint32
	word uint32
}

const (
	shortest = 5  // letters of a word that is repaired
	widest   = 32 // bytes
)

func newSpeller(words []string) *speller {
	s := &speller{words: words}
	for i, w := range words {
		if !spellable(w) {
			continue
		}
		h := len(w) / 2
		s.halves = append(s.halves,
			half{halfKey(w[:h], len(w), 0), uint32(i)}, half{halfKey(w[h:], len(w), 1), uint32(i)})
	}
	slices.SortFunc(s.halves, func(a, b half) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.word, b.word)) })
	s.halves = slices.Clip(s.halves)
	return s
}

func spellable(w string) bool {
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
func halfKey[T string | []byte](part T, n int, side uint32) uint32 {
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
	at, _ := slices.BinarySearchFunc(s.halves, key, func(h half, k uint32) int { return cmp.Compare(h.key, k) })
	for ; at < len(s.halves) && s.halves[at].key == key; at++ {
		if i := s.halves[at].word; slip(w, s.words[i]) {
			yield(i)
		}
	}
}

func (s *speller) equal(w []byte, yield func(uint32)) {
	key := halfKey(w[:len(w)/2], len(w), 0)
	at, _ := slices.BinarySearchFunc(s.halves, key, func(h half, k uint32) int { return cmp.Compare(h.key, k) })
	for ; at < len(s.halves) && s.halves[at].key == key; at++ {
		if i := s.halves[at].word; string(w) == s.words[i] {
			yield(i)
		}
	}
}

// slip reports whether a and b are exactly one slip apart.
func slip(a []byte, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 0:
		if i == len(a) {
			return false
		}
		if i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && string(a[i+2:]) == b[i+2:] {
			return true
		}
		return string(a[i+1:]) == b[i+1:]
	case 1:
		return string(a[i+1:]) == b[i:]
	case -1:
		return string(a[i:]) == b[i+1:]
	}
	return false
}
