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
}

// decide asks the gates about one tool of one live band. "" = visible.
func (v *View) decide(b *Band, t *Tool) (Gate, Selector) {
	if b.Unsupported != "" {
		return GateSupported, Selector{Text: b.Unsupported}
	}
	if v.parent != nil && !b.Brought && !t.Finder {
		if _, ok := v.parent.named(t.Name, b.Owner); !ok {
			above := v.parent.Explain(t.Name)
			if above.Gate == "" {
				above.Gate, above.Rule = GateExists, "the parent's view lacks it"
			}
			return above.Gate, Selector{Text: above.Rule, Origin: above.Origin}
		}
	}
	if gate, s := v.policy.judge(b, t); gate != "" {
		return gate, s
	}
	if t.Unsupported != "" {
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
		return Explanation{Name: e.Tool.Name, Owner: e.Owner, Visible: true, Deferred: e.Deferred}
	}
	for i := range v.bands {
		b := &v.bands[i]
		if t := find(b.now(), name); t != nil {
			return v.explain(b, t)
		}
		if t := find(b.Set, name); t != nil {
			return Explanation{Name: t.Name, Owner: b.Owner, Gate: GateSupported, Rule: "its owner does not offer it now"}
		}
	}
	for i := range v.closed {
		b := &v.closed[i]
		if t := find(b.Set, name); t != nil {
			return Explanation{Name: t.Name, Owner: b.Owner, Gate: GateExists, Rule: b.Closed}
		}
	}
	return Explanation{Name: name, Gate: GateExists, Rule: "no middleware of this session declares it"}
}

func (v *View) explain(b *Band, t *Tool) Explanation {
	x := Explanation{Name: t.Name, Owner: b.Owner}
	if _, ok := v.named(t.Name, b.Owner); ok {
		e, _ := v.Lookup(t.Name)
		x.Visible, x.Deferred = true, e.Deferred
		return x
	}
	gate, s := v.decide(b, t)
	x.Gate, x.Rule, x.Origin = gate, s.Text, s.Origin
	switch {
	case gate != "":
	case t.Finder:
		x.Gate, x.Rule = GateSupported, "no deferred tool is there to be found"
	case b.Deferred && !v.finders:
		x.Gate, x.Rule = GateSupported, fmt.Sprintf("it is deferred, tool search is not there, and tools.without_search is %q", v.policy.WithoutSearch)
	}
	return x
}

// Hidden lists every declared tool that the view does not hold, closed ones included, in the order of the chain.
func (v *View) Hidden() []Explanation {
	var out []Explanation
	for i := range v.bands {
		for _, t := range v.bands[i].now().All() {
			if x := v.explain(&v.bands[i], t); !x.Visible {
				out = append(out, x)
			}
		}
	}
	for i := range v.closed {
		for _, t := range v.closed[i].Set.All() {
			out = append(out, Explanation{Name: t.Name, Owner: v.closed[i].Owner, Gate: GateExists, Rule: v.closed[i].Closed})
		}
	}
	return out
}

func find(s *Set, name string) *Tool {
	if s == nil {
		return nil
	}
	for _, t := range s.tools {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	for _, t := range s.tools {
		for _, a := range t.Aliases {
			if strings.EqualFold(a, name) {
				return t
			}
		}
	}
	return nil
}
