package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// State is the frozen map with its override texts. Nothing changes it after Freeze or ParseState, so it is safe for
// concurrent readers without a lock. The zero State, and a nil one, say nothing: everything is as the build has it.
type State struct {
	entries   []stated   // sorted by key
	overrides []override // sorted by segment
	digest    string
}

type stated struct {
	Entry
	kind Kind
}

type override struct {
	segment string
	Override
}

// Override is the text that replaces a whole segment, and the file it came from. The text still has its
// placeholders and its literal \{{; see Fill.
type Override struct {
	Text   string
	Origin Origin
}

// Freeze fixes the map and loads the override texts of the segments that it sets to true; nothing else is read. A
// file that is refused leaves the built-in text in place and a diagnostic behind.
func Freeze(r Resolved, docs Documents) (*State, []Diagnostic) {
	s := &State{entries: make([]stated, len(r.entries))}
	var (
		diags []Diagnostic
		l     loader
	)
	for i, d := range r.entries {
		s.entries[i] = stated{d.Entry, d.key.Kind}
		if d.key.Kind != Segment || !d.Value {
			continue
		}
		o, found := l.load(docs, d)
		diags = append(diags, found...)
		if o.Text != "" {
			s.overrides = append(s.overrides, override{d.Key, o})
		}
	}
	s.digest = s.sum()
	return s, diags
}

func (s *State) find(key string) (stated, bool) {
	if s == nil {
		return stated{}, false
	}
	i, ok := slices.BinarySearchFunc(s.entries, key, func(e stated, k string) int { return strings.Compare(e.Key, k) })
	if !ok {
		return stated{}, false
	}
	return s.entries[i], true
}

// Enabled says whether the map leaves a middleware open: true unless it says false. A name it does not mention, known
// or not, is open; a middleware that is off by default asks Explicit instead. Names are canonical, not aliases.
func (s *State) Enabled(middleware string) bool {
	e, ok := s.find(middleware)
	return !ok || e.Value
}

// Explicit gives the map's value of a key, and whether the map has one.
func (s *State) Explicit(key string) (value, set bool) {
	e, ok := s.find(key)
	return e.Value, ok
}

// Override gives the text that replaces a segment. Whether the segment is there at all is its owner's matter: an
// override never brings one back.
func (s *State) Override(segment string) (Override, bool) {
	if s == nil {
		return Override{}, false
	}
	i, ok := slices.BinarySearchFunc(s.overrides, segment, func(o override, k string) int { return strings.Compare(o.segment, k) })
	if !ok {
		return Override{}, false
	}
	return s.overrides[i].Override, true
}

// BuiltInSubagents says whether the compiled-in agent definitions are offered: true unless the map says false.
func (s *State) BuiltInSubagents() bool { return s.Enabled(BuiltInSubagents) }

// Why gives the entry that decided a key. When the map says nothing, its Origin is zero, its Value false and the
// build's default holds; Explicit tells the two apart.
func (s *State) Why(key string) Entry {
	e, ok := s.find(key)
	if !ok {
		return Entry{Key: key}
	}
	return e.Entry
}

// Entries lists what the map says, sorted by key.
func (s *State) Entries() []Entry {
	if s == nil {
		return nil
	}
	out := make([]Entry, len(s.entries))
	for i, e := range s.entries {
		out[i] = e.Entry
	}
	return out
}

// Digest is the sha256, in hex, of what the state decides: keys, kinds, values and override texts. Where they were
// written is not part of it, so a moved line or another checkout keeps the digest.
func (s *State) Digest() string {
	if s == nil {
		return new(State).sum()
	}
	if s.digest == "" {
		return s.sum()
	}
	return s.digest
}

// sum hashes fields behind their lengths, so that no text can be read as another field.
func (s *State) sum() string {
	size := 64
	for _, e := range s.entries {
		size += len(e.Key) + 10
	}
	for _, o := range s.overrides {
		size += len(o.segment) + len(o.Text) + 16
	}
	b := append(make([]byte, 0, size), "peri.meta/v1"...)
	b = binary.AppendUvarint(b, uint64(len(s.entries)))
	for _, e := range s.entries {
		value := byte(0)
		if e.Value {
			value = 1
		}
		b = appendField(append(b, byte(e.kind), value), e.Key)
	}
	b = binary.AppendUvarint(b, uint64(len(s.overrides)))
	for _, o := range s.overrides {
		b = appendField(appendField(b, o.segment), o.Text)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func appendField(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
