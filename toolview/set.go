package toolview

import (
	"errors"
	"fmt"
	"sort"
	"sync/atomic"
)

// Set is an immutable group of tools in the order of their names. The zero value is empty.
type Set struct {
	tools   []*Tool
	byName  map[string]*Tool
	byAlias map[string]*Tool
	// plain says that no tool of the set is unsupported, so that an unrestricted view takes the set as it is.
	plain   bool
	finders bool
}

// NewSet builds a set. Every defect of every tool is reported at once.
func NewSet(tools ...Tool) (*Set, error) {
	owned := make([]*Tool, len(tools))
	for i := range tools {
		t := tools[i]
		owned[i] = &t
	}
	var errs []error
	for _, t := range owned {
		if err := t.check(); err != nil {
			errs = append(errs, err)
		}
	}
	s := group(owned)
	for i := 1; i < len(s.tools); i++ {
		if s.tools[i].Name == s.tools[i-1].Name {
			errs = append(errs, fmt.Errorf("tool %s is there twice", s.tools[i].Name))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("toolview: %w", errors.Join(errs...))
	}
	return s, nil
}

// MustSet is NewSet for tools written in Go: a defect panics.
func MustSet(tools ...Tool) *Set {
	s, err := NewSet(tools...)
	if err != nil {
		panic(err)
	}
	return s
}

func group(tools []*Tool) *Set {
	s := &Set{tools: tools, plain: true, byName: make(map[string]*Tool, len(tools)), byAlias: map[string]*Tool{}}
	sort.SliceStable(s.tools, func(i, j int) bool { return s.tools[i].Name < s.tools[j].Name })
	for _, t := range s.tools {
		s.byName[t.Name] = t
		for _, a := range t.Aliases {
			if _, taken := s.byAlias[a]; !taken {
				s.byAlias[a] = t
			}
		}
		s.plain = s.plain && t.Unsupported == ""
		s.finders = s.finders || t.Finder
	}
	return s
}

// Len counts the tools. A nil Set is empty.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}

// All returns the tools in the order of their names. The slice is not to be changed.
func (s *Set) All() []*Tool {
	if s == nil {
		return nil
	}
	return s.tools
}

// Lookup finds a tool by its exact name.
func (s *Set) Lookup(name string) (*Tool, bool) {
	if s == nil {
		return nil, false
	}
	t, ok := s.byName[name]
	return t, ok
}

// where is the subset that keep accepts: s itself when that is all of it, nil when it is none.
func (s *Set) where(keep func(*Tool) bool) *Set {
	if s.Len() == 0 {
		return nil
	}
	kept := make([]*Tool, 0, len(s.tools))
	for _, t := range s.tools {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case len(s.tools):
		return s
	}
	return group(kept)
}

// Source publishes a set. Tools never blocks and never fails; the same pointer means that nothing changed.
type Source interface{ Tools() *Set }

// Live is a Source whose owner replaces the set when it changes. It is safe for concurrent use; the zero value
// publishes nothing.
type Live struct{ set atomic.Pointer[Set] }

// Publish replaces the set; it holds from the next step on.
func (l *Live) Publish(s *Set) { l.set.Store(s) }

// Tools is the set published last.
func (l *Live) Tools() *Set { return l.set.Load() }

// SourceFunc is a Source that chooses among sets. It is asked at every step, so it must not build one.
type SourceFunc func() *Set

// Tools is the set of the moment.
func (f SourceFunc) Tools() *Set { return f() }

// Tools makes a Set a Source that never changes.
func (s *Set) Tools() *Set { return s }
