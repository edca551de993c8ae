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

// now is the set that the band publishes at this moment.
func (b *Band) now() *Set {
	if b.Source != nil {
		return b.Source.Tools()
	}
	return b.Set
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
	v.live = make([]shown, 0, len(d.bands))
	dyn := 0
	for i := range d.bands {
		b, set := &d.bands[i], d.bands[i].Set
		if b.Source != nil {
			set = v.declared(b, d.last[dyn])
			dyn++
		}
		kept := d.filter(v, b, set)
		if kept.Len() == 0 {
			continue
		}
		// A tool that its owner publishes as direct after the first view would move the prefix: it is deferred.
		if b.Source != nil && !b.Deferred && d.order != nil && !d.policy.LateDirect {
			known := kept.where(func(t *Tool) bool { return slices.Contains(d.order, t.Name) })
			late := kept.where(func(t *Tool) bool { return !slices.Contains(d.order, t.Name) })
			v.show(b, known, false)
			v.show(b, late, true)
			continue
		}
		v.show(b, kept, b.Deferred)
	}
	v.settle()
	return v
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

// declared drops what a source publishes outside the names that its owner may use.
func (v *View) declared(b *Band, set *Set) *Set {
	ok := func(t *Tool) bool {
		if _, is := b.Set.Lookup(t.Name); is {
			return true
		}
		return b.Prefix != "" && strings.HasPrefix(t.Name, b.Prefix)
	}
	kept := set.where(ok)
	if kept.Len() < set.Len() {
		for _, t := range set.tools {
			if !ok(t) {
				v.smuggled = append(v.smuggled, Explanation{Name: t.Name, Owner: b.Owner})
			}
		}
	}
	return kept
}
