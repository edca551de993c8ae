package toolsearch

import "slices"

// table numbers words from 0 on, in a few plain arrays: a catalogue has tens of thousands of words, and a map of strings
// takes four times the memory. It is immutable once it is clipped.
type table struct {
	slots []uint64 // the hash of a word above its number plus one; 0 = free. A power of two of them
	text  []byte   // all words
	ends  []uint32 // of a word in text
}

// len counts the words.
func (t *table) len() int { return len(t.ends) }

// word is the word of a number. It is not copied and must not be changed.
func (t *table) word(n uint32) []byte {
	from := uint32(0)
	if n > 0 {
		from = t.ends[n-1]
	}
	return t.text[from:t.ends[n]:t.ends[n]]
}

// find returns a word's number, none when it is not there.
func find[T string | []byte](t *table, word T) uint32 { return t.at(wordHash(word), []byte(word)) }

// at is find with the word's hash, for who looks one word up in several tables.
func (t *table) at(h uint32, word []byte) uint32 {
	if len(t.slots) == 0 {
		return none
	}
	mask := uint32(len(t.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		slot := t.slots[at]
		if slot == 0 {
			return none
		}
		if n := uint32(slot) - 1; uint32(slot>>32) == h && string(t.word(n)) == string(word) {
			return n
		}
	}
}

// add numbers a word that is not there yet.
func (t *table) add(word []byte) uint32 {
	if 4*(t.len()+1) > 3*len(t.slots) {
		t.grow(max(64, 2*len(t.slots)))
	}
	n := uint32(t.len())
	t.text = append(t.text, word...)
	t.ends = append(t.ends, uint32(len(t.text)))
	t.seat(uint64(wordHash(word))<<32 | uint64(n+1))
	return n
}

func (t *table) grow(size int) {
	old := t.slots
	t.slots = make([]uint64, size)
	for _, slot := range old {
		if slot != 0 {
			t.seat(slot)
		}
	}
}

func (t *table) seat(slot uint64) {
	mask := uint32(len(t.slots) - 1)
	at := uint32(slot>>32) & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = slot
}

// reset makes it empty, and keeps its memory.
func (t *table) reset() {
	if len(t.ends) > 0 {
		clear(t.slots)
		t.text, t.ends = t.text[:0], t.ends[:0]
	}
}

func (t *table) clip() {
	t.text, t.ends = slices.Clone(t.text), slices.Clone(t.ends)
}

// wordHash is FNV-1a with its high bits mixed into the low ones, by which a slot is found.
func wordHash[T string | []byte](word T) uint32 {
	h := uint32(2166136261)
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * 16777619
	}
	return h ^ h>>15
}
