package toolview

import (
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Gate is one question that a tool must pass to be visible. They are asked in this order.
type Gate string

const (
	GateExists    Gate = "exists"
	GateListed    Gate = "listed"
	GateDenied    Gate = "denied"
	GateActive    Gate = "active"
	GateSupported Gate = "supported"
)

// Explanation says why a name is or is not in a view.
type Explanation struct {
	Name     string `json:"name"`
	Owner    string `json:"owner,omitempty"`
	Visible  bool   `json:"visible"`
	Deferred bool   `json:"deferred,omitempty"`
	// Gate stopped it, by Rule, which stands at Origin. All are empty for a visible tool.
	Gate   Gate        `json:"gate,omitempty"`
	Rule   string      `json:"rule,omitempty"`
	Origin meta.Origin `json:"origin,omitzero"`
	// Limits are the entries that allow or deny some calls of a visible tool alone.
	Limits []Selector `json:"limits,omitempty"`
}

// gateAbove stands for the gate of the parent's view that stopped a tool; explanations ask that view which it was.
const gateAbove Gate = "above"

// decide asks the gates about one tool of one live band. "" = visible.
func (v *View) decide(b *Band, t *Tool) (Gate, Selector) {
	if v.parent != nil && !b.Brought && !t.Finder {
		if _, ok := v.parent.named(t.Name, b.Owner); !ok {
			return gateAbove, Selector{}
		}
	}
	if gate, s := v.policy.judge(b, t); gate != "" {
		return gate, s
	}
	switch {
	case b.Unsupported != "":
		return GateSupported, Selector{Text: b.Unsupported}
	case t.Unsupported != "":
		return GateSupported, Selector{Text: t.Unsupported}
	}
	return "", Selector{}
}

func (v *View) named(name, owner string) (*Tool, bool) {
	for i := range v.live {
		if t, ok := v.live[i].set.byName[name]; ok && v.live[i].band.Owner == owner {
			return t, true
		}
	}
	return nil, false
}

// Explain says which gate lets a name through or stops it, by which rule of which file and line. Case does not count,
// and an alias explains its tool. A name that no middleware of the suite declares fails at GateExists with no owner.
func (v *View) Explain(name string) Explanation {
	if e, ok := v.Lookup(name); ok {
		return v.visible(e)
	}
	for _, by := range []func(*Set, string) *Tool{exactly, foldedName, foldedAlias} {
		for i := range v.bands {
			b := &v.bands[i]
			if t := by(v.sets[i], name); t != nil {
				return v.explain(b, t)
			}
			if b.Source == nil {
				continue
			}
			if t := by(b.Set, name); t != nil {
				return v.withheld(b, t)
			}
		}
		for i := range v.closed {
			if t := by(v.closed[i].Set, name); t != nil {
				return shut(&v.closed[i], t)
			}
		}
	}
	for _, x := range v.smuggled {
		if strings.EqualFold(x.Name, name) {
			return x
		}
	}
	return Explanation{Name: name, Gate: GateExists, Rule: "no middleware of this session declares it"}
}

func (v *View) visible(e Entry) Explanation {
	x := Explanation{Name: e.Tool.Name, Owner: e.Owner, Visible: true, Deferred: e.Deferred}
	for i := range v.live {
		if s := &v.live[i]; v.scoped && s.band.Owner == e.Owner {
			if t, ok := s.set.Lookup(e.Tool.Name); ok {
				x.Limits = v.limits(s.band, &t.Decl)
			}
		}
	}
	return x
}

func shut(b *Band, t *Tool) Explanation {
	return Explanation{Name: t.Name, Owner: b.Owner, Gate: GateExists, Rule: b.Closed}
}

// withheld explains a declared tool that its owner's source does not publish.
func (v *View) withheld(b *Band, t *Tool) Explanation {
	x := v.explain(b, t)
	if !x.Visible && x.Gate == GateSupported {
		x.Rule, x.Origin = "its owner does not offer it now", meta.Origin{}
	}
	return x
}

func (v *View) explain(b *Band, t *Tool) Explanation {
	x := Explanation{Name: t.Name, Owner: b.Owner}
	if _, ok := v.named(t.Name, b.Owner); ok {
		e, _ := v.Lookup(t.Name)
		return v.visible(e)
	}
	gate, s := v.decide(b, t)
	x.Gate, x.Rule, x.Origin = gate, s.Text, s.Origin
	switch {
	case gate == gateAbove:
		above := v.parent.Explain(t.Name)
		x.Gate, x.Rule, x.Origin = above.Gate, above.Rule, above.Origin
		if x.Gate == "" {
			x.Gate, x.Rule = GateExists, "the parent's view lacks it"
		}
	case gate != "":
	case t.Finder:
		x.Gate, x.Rule = GateSupported, v.astray()
	default:
		x.Gate = GateSupported
		x.Rule = fmt.Sprintf("it is deferred, tool search is not there, and tools.without_search is %q", v.policy.WithoutSearch)
	}
	return x
}

// astray says why a finder that no gate stops is not there.
func (v *View) astray() string {
	switch {
	case v.finders:
		return "no deferred tool is there to be found"
	case v.parent != nil && !v.parent.finders:
		return "the parent has no tool search"
	}
	return "another tool of the search is not there"
}

// Hidden lists every declared tool that the view does not hold, closed ones included, in the order of the chain.
func (v *View) Hidden() []Explanation {
	var out []Explanation
	add := func(x Explanation) {
		if !x.Visible {
			out = append(out, x)
		}
	}
	for i := range v.bands {
		b, offered := &v.bands[i], v.sets[i]
		for _, t := range offered.All() {
			add(v.explain(b, t))
		}
		if b.Source == nil {
			continue
		}
		for _, t := range b.Set.All() {
			if _, there := offered.Lookup(t.Name); !there {
				add(v.withheld(b, t))
			}
		}
	}
	for i := range v.closed {
		for _, t := range v.closed[i].Set.All() {
			out = append(out, shut(&v.closed[i], t))
		}
	}
	return out
}

func exactly(s *Set, name string) *Tool {
	t, _ := s.Lookup(name)
	return t
}

func foldedName(s *Set, name string) *Tool {
	for _, t := range s.All() {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

func foldedAlias(s *Set, name string) *Tool {
	for _, t := range s.All() {
		for _, a := range t.Aliases {
			if strings.EqualFold(a, name) {
				return t
			}
		}
	}
	return nil
}
