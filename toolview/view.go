package toolview

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"
)

// View is what one step may see, find and call. It is immutable and safe for concurrent use.
type View struct {
	policy *Policy
	parent *View
	bands  []Band
	sets   []*Set // what each band offers, parallel to bands
	closed []Band
	live   []shown
	order  []string // the wire order so far; nil for a session's first view

	scoped   bool // some entry, here or above, is about some calls alone
	finders  bool // the way to deferred tools is open
	deferred int  // tools that only a finder reaches
	fallen   int  // deferred tools that became direct, or were hidden, for want of a finder
	smuggled []Explanation

	directOnce sync.Once
	direct     []*Tool
	digestOnce sync.Once
	digest     string
}

type shown struct {
	band     *Band
	set      *Set
	deferred bool
}

// Entry is a tool as a view holds it.
type Entry struct {
	Tool     *Tool
	Owner    string
	State    any
	Deferred bool
}

func (v *View) show(b *Band, set *Set, deferred bool) {
	if set.Len() > 0 {
		v.live = append(v.live, shown{b, set, deferred})
	}
}

// way reports whether there is a way to deferred tools: finders, each of them visible but for an allow list, here and in
// every view above.
func (v *View) way() bool {
	found := false
	for i := range v.bands {
		if v.sets[i] == nil || !v.sets[i].finders {
			continue
		}
		for _, t := range v.sets[i].tools {
			if !t.Finder {
				continue
			}
			if gate, _ := v.decide(&v.bands[i], t); gate != "" {
				return false
			}
			found = true
		}
	}
	return found && (v.parent == nil || v.parent.finders)
}

// settle decides about finders and deferred tools, which depend on each other.
func (v *View) settle() {
	for i := range v.live {
		if v.live[i].deferred {
			v.deferred += v.live[i].set.Len()
		}
	}
	if !v.finders {
		v.fallen, v.deferred = v.deferred, 0
	}
	kept := v.live[:0]
	for _, s := range v.live {
		switch {
		case s.set.finders && (!v.finders || v.deferred == 0):
			s.set = s.set.where(func(t *Tool) bool { return !t.Finder })
		case s.deferred && !v.finders:
			s.deferred = false
			if v.policy.WithoutSearch == Hide || v.policy.WithoutSearch == Refuse {
				s.set = nil
			}
		}
		if s.set.Len() > 0 {
			kept = append(kept, s)
		}
	}
	v.live = kept
}

// parentHolds reports whether the parent's view shows the whole of a band's set, so that nothing need be asked tool
// by tool.
func (v *View) parentHolds(b *Band, set *Set) bool {
	if v.parent == nil || b.Brought {
		return true
	}
	for i := range v.parent.live {
		if s := &v.parent.live[i]; s.set == set && s.band.Owner == b.Owner {
			return true
		}
	}
	return false
}

// Lookup finds a visible tool by its name or, when no visible tool has that very name, by an alias.
func (v *View) Lookup(name string) (Entry, bool) {
	for i := range v.live {
		if t, ok := v.live[i].set.byName[name]; ok {
			return v.live[i].entry(t), true
		}
	}
	for i := range v.live {
		if t, ok := v.live[i].set.byAlias[name]; ok {
			return v.live[i].entry(t), true
		}
	}
	return Entry{}, false
}

func (s *shown) entry(t *Tool) Entry {
	return Entry{Tool: t, Owner: s.band.Owner, State: s.band.State, Deferred: s.deferred}
}

// All yields every visible tool: bands in chain order, names in order within each.
func (v *View) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range v.live {
			for _, t := range v.live[i].set.tools {
				if !yield(v.live[i].entry(t)) {
					return
				}
			}
		}
	}
}

// Direct returns the tools that the model is shown, in wire order: chain order and then name as the session began;
// what appeared later behind them, sorted within its batch, and never moved again. The slice is shared and not to be
// changed.
func (v *View) Direct() []*Tool {
	v.directOnce.Do(func() {
		n := 0
		for i := range v.live {
			if !v.live[i].deferred {
				n += v.live[i].set.Len()
			}
		}
		v.direct = make([]*Tool, 0, n)
		for i := range v.live {
			if !v.live[i].deferred {
				v.direct = append(v.direct, v.live[i].set.tools...)
			}
		}
		if v.order != nil {
			v.arrange()
		}
	})
	return v.direct
}

// arrange puts the direct tools into the session's wire order.
func (v *View) arrange() {
	place := make(map[string]int, len(v.order))
	for i, name := range v.order {
		place[name] = i
	}
	at := func(t *Tool) int {
		if i, ok := place[t.Name]; ok {
			return i
		}
		return len(v.order)
	}
	sort.SliceStable(v.direct, func(i, j int) bool {
		a, b := v.direct[i], v.direct[j]
		if x, y := at(a), at(b); x != y || x < len(v.order) {
			return x < y
		}
		return a.Name < b.Name
	})
}

// Order is the wire order of every tool that has been direct so far in this session. What a session stores of it
// lets a resumed one send the same bytes.
func (v *View) Order() []string {
	order := slices.Clone(v.order)
	known := index(order)
	for _, t := range v.Direct() {
		if !known[t.Name] {
			order = append(order, t.Name)
		}
	}
	if order == nil {
		order = []string{}
	}
	return order
}

// HasDeferred reports whether a tool is there that only a finder reaches.
func (v *View) HasDeferred() bool { return v.deferred > 0 }

// Deferred yields the tools that only a finder reaches.
func (v *View) Deferred() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for e := range v.All() {
			if e.Deferred && !yield(e) {
				return
			}
		}
	}
}

// Fallen counts the deferred tools for which no finder is there: they are direct, or hidden if the policy says so.
func (v *View) Fallen() int { return v.fallen }

// Smuggled lists the tools that a source published without having declared them, or twice, with the reason. They are in
// no view.
func (v *View) Smuggled() []Explanation { return v.smuggled }

// HasAny reports whether one of the names is visible. An empty list asks for nothing and is met.
func (v *View) HasAny(names []string) bool {
	if len(names) == 0 {
		return true
	}
	for _, n := range names {
		for i := range v.live {
			if _, ok := v.live[i].set.byName[n]; ok {
				return true
			}
		}
	}
	return false
}

// Admits reports whether the lists, here and above, let through a capability that brings no tool, by the word that stands
// for it in selectors. "" asks for nothing and is met.
func (v *View) Admits(owner, word string) bool {
	if word == "" {
		return true
	}
	t := Tool{Decl: Decl{Name: word, Private: true}}
	t.fold()
	for ; v != nil; v = v.parent {
		if gate, _ := v.policy.judge(&Band{Owner: owner}, &t); gate != "" {
			return false
		}
	}
	return true
}

// Agent is the child that the view belongs to; "" for a main session.
func (v *View) Agent() string { return v.policy.Agent }

// Digest is the SHA-256, in hex, of the visible names, their kind and their schemas.
func (v *View) Digest() string {
	v.digestOnce.Do(func() {
		var lines []string
		for e := range v.All() {
			kind := "direct"
			if e.Deferred {
				kind = "deferred"
			}
			sum := sha256.Sum256(e.Tool.Schema)
			lines = append(lines, strings.Join([]string{e.Tool.Name, e.Owner, kind, hex.EncodeToString(sum[:8])}, " "))
		}
		sort.Strings(lines)
		sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
		v.digest = hex.EncodeToString(sum[:])
	})
	return v.digest
}

// Published reports whether a source of the chain may name tools at run time, so that a resumed session cannot know the
// wire order without having stored it.
func (v *View) Published() bool {
	for i := range v.bands {
		if v.bands[i].Source != nil && v.bands[i].Prefix != "" {
			return true
		}
	}
	return false
}
