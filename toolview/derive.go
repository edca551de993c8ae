package toolview

import (
	"slices"
	"strings"
)

// Band is what one owner brings of one kind. Set is the static tools; a Source, when there is one, replaces them with
// what it publishes.
type Band struct {
	Owner    string
	Set      *Set
	Source   Source
	Deferred bool
	// State reaches the owner's tools as Call.State.
	State any
	// Prefix is what the name of a published tool must begin with unless Set declares it; "" = declared names only.
	Prefix string
	// Unsupported is why nothing of the band can work; "" = it can.
	Unsupported string
	// Brought marks what an agent's own definition brought: its parent's view need not hold it.
	Brought bool
	// Closed is why the owner is not on the chain. Such a band is known for explanations alone.
	Closed string
}

// Deriver makes the views of one session, one after another. It is not safe for concurrent use; the views are.
type Deriver struct {
	bands   []Band
	closed  []Band
	dynamic []int  // indexes of bands that have a Source
	last    []*Set // what each dynamic band published for the current view, parallel to dynamic
	order   []string
	view    *View
	policy  *Policy
	parent  *View
}

// NewDeriver starts from the live bands in chain order and the closed ones. order is the wire order of an earlier run
// of the same session, nil for a new one.
func NewDeriver(bands, closed []Band, order []string) *Deriver {
	d := &Deriver{bands: bands, closed: closed, order: order}
	for i := range bands {
		if bands[i].Source != nil {
			d.dynamic = append(d.dynamic, i)
		}
	}
	d.last = make([]*Set, len(d.dynamic))
	return d
}

// View returns the view that holds now. While no source published, and policy and parent are the same pointers, it
// returns the same View and allocates nothing.
func (d *Deriver) View(policy *Policy, parent *View) *View {
	same := d.view != nil && d.policy == policy && d.parent == parent
	for i, at := range d.dynamic {
		if s := d.bands[at].Source.Tools(); s != d.last[i] {
			d.last[i], same = s, false
		}
	}
	if same {
		return d.view
	}
	d.policy, d.parent = policy, parent
	d.view = d.derive()
	return d.view
}

func (d *Deriver) derive() *View {
	if d.view != nil {
		d.order = d.view.Order()
	}
	v := &View{policy: d.policy, parent: d.parent, bands: d.bands, closed: d.closed, order: d.order}
	v.scoped = v.scopes()
	v.sets = d.offered(v)
	v.finders = v.way()
	v.live = make([]shown, 0, len(d.bands))
	var known map[string]bool
	for i := range d.bands {
		b := &d.bands[i]
		kept := d.filter(v, b, v.sets[i])
		// A tool that its owner publishes as direct after the first view would move the prefix: it is deferred, if
		// there is a way to deferred tools.
		if b.Source != nil && !b.Deferred && d.order != nil && !d.policy.LateDirect && v.finders {
			if known == nil {
				known = index(d.order)
			}
			v.show(b, kept.where(func(t *Tool) bool { return known[t.Name] || t.Finder }), false)
			v.show(b, kept.where(func(t *Tool) bool { return !known[t.Name] && !t.Finder }), true)
			continue
		}
		v.show(b, kept, b.Deferred)
	}
	v.settle()
	return v
}

// offered is what every band offers in this view, parallel to bands: its static set, or what its source published less
// what it may not. A view never asks a source again, so that it stays a function of what it was derived from.
func (d *Deriver) offered(v *View) []*Set {
	sets := make([]*Set, len(d.bands))
	var taken map[string]bool
	if len(d.dynamic) > 0 {
		taken = map[string]bool{}
	}
	for i := range d.bands {
		if b := &d.bands[i]; b.Source == nil {
			sets[i] = b.Set
			if taken != nil {
				for _, t := range b.Set.All() {
					taken[t.Name] = true
				}
			}
		}
	}
	for k, at := range d.dynamic {
		sets[at] = v.declared(&d.bands[at], d.last[k], taken)
	}
	return sets
}

// filter is the one decision of which tools of a set are visible.
func (d *Deriver) filter(v *View, b *Band, set *Set) *Set {
	if set.Len() == 0 || b.Unsupported != "" {
		return nil
	}
	if set.plain && d.policy.free(b.Owner) && (len(d.policy.Ancestors) == 0 || !b.Brought) && v.parentHolds(b, set) {
		return set
	}
	return set.where(func(t *Tool) bool {
		gate, _ := v.decide(b, t)
		return gate == ""
	})
}

// declared drops what a source publishes outside the names that its owner may use, and names that another band has.
func (v *View) declared(b *Band, set *Set, taken map[string]bool) *Set {
	return set.where(func(t *Tool) bool {
		x := Explanation{Name: t.Name, Owner: b.Owner, Gate: GateExists}
		switch {
		case !b.may(t):
			x.Rule = "its owner publishes it without having declared it"
		case taken[t.Name]:
			x.Rule = "its owner publishes it a second time"
		default:
			taken[t.Name] = true
			return true
		}
		v.smuggled = append(v.smuggled, x)
		return false
	})
}

// may reports whether a source may publish a tool. Its aliases are names too: under a foreign one it would be called,
// or pass an allow list, in the place of a tool that is not there. A finder passes allow lists, so it must be declared.
func (b *Band) may(t *Tool) bool {
	prefixed := func(name string) bool { return b.Prefix != "" && strings.HasPrefix(name, b.Prefix) }
	static, is := b.Set.Lookup(t.Name)
	if !is && !prefixed(t.Name) || t.Finder && (b.Deferred || !is || !static.Finder) {
		return false
	}
	for _, a := range t.Aliases {
		if !prefixed(a) && !(is && slices.Contains(static.Aliases, a)) {
			return false
		}
	}
	return true
}

func index(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
