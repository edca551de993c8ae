package toolview

import (
	"errors"
	"slices"

	"github.com/metaharness/peri/meta"
)

// Lists are the allow and deny lists of one level: the settings, the host or an agent.
type Lists struct {
	// Allow holds every allow list that applies; a tool must be on each. None = everything, an empty one = nothing.
	Allow [][]Selector `json:"allow,omitempty"`
	Deny  []Selector   `json:"deny,omitempty"`
	// AllowAt is where the allow lists stand, parallel to Allow as far as it goes. An empty list has no entry to say it.
	AllowAt []meta.Origin `json:"allow_at,omitempty"`
	// Kinds are lists for one kind of tool each, and Rules is a ruleset: of it the last that matches holds, and only what
	// it denies is this package's.
	Kinds []KindLists `json:"kinds,omitempty"`
	Rules []Ruling    `json:"rules,omitempty"`
	// Lift is what the lists keep from their own level and not from those below: it makes the frame of an agent's
	// children out of the agent's own.
	Lift []Selector `json:"lift,omitempty"`
}

// Frame is a compiled, immutable level of lists. A nil Frame restricts nothing.
type Frame struct {
	allow  []list
	deny   list
	kinds  []*kindFrame
	rules  *Ruleset
	lift   list
	lists  Lists
	scoped bool
}

// NewFrame compiles lists. A selector that this grammar does not know is an error that names its place: it is never
// dropped, since dropping one from a deny list would open what it closes.
func NewFrame(l Lists) (*Frame, error) {
	f := &Frame{}
	var errs []error
	add := func(sel []Selector, deny bool) list {
		c, err := compile(sel, deny)
		if err != nil {
			errs = append(errs, err)
		}
		f.scoped = f.scoped || c.scoped
		return c
	}
	for _, a := range l.Allow {
		c := add(a, false)
		f.allow = append(f.allow, c)
		f.lists.Allow = append(f.lists.Allow, c.entries())
	}
	f.lists.AllowAt = slices.Clone(l.AllowAt)
	f.deny, f.lift = add(l.Deny, true), add(l.Lift, false)
	if len(l.Deny) > 0 {
		f.lists.Deny = f.deny.entries()
	}
	for _, k := range l.Kinds {
		c, err := newKindFrame(k)
		f.kinds, errs = append(f.kinds, c), append(errs, err)
		f.scoped = f.scoped || c.scoped()
	}
	rules, err := NewRuleset(l.Rules)
	f.rules, errs = rules, append(errs, err)
	f.scoped = f.scoped || rules != nil && rules.scoped
	f.lists.Kinds, f.lists.Rules = slices.Clone(l.Kinds), slices.Clone(l.Rules)
	if len(l.Lift) > 0 {
		f.lists.Lift = f.lift.entries()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// Lists returns what the frame was compiled from.
func (f *Frame) Lists() Lists {
	if f == nil {
		return Lists{}
	}
	return f.lists
}

// judge is the gates listed and denied for one level. finder says that an allow list need not list the tool.
func (f *Frame) judge(owner string, d *Decl, finder bool) (Gate, Selector) {
	if f == nil {
		return "", Selector{}
	}
	gate, at := f.narrows(owner, d, finder)
	if gate != "" && len(f.lift.rules) > 0 {
		if lifted, _ := f.lift.lists(owner, d); lifted {
			return "", Selector{}
		}
	}
	return gate, at
}

func (f *Frame) narrows(owner string, d *Decl, finder bool) (Gate, Selector) {
	for i := range f.allow {
		if finder {
			break
		}
		if listed, _ := f.allow[i].lists(owner, d); !listed {
			return GateListed, Selector{Text: "not on the allow list", Origin: f.allowAt(i)}
		}
	}
	if s, ok := f.deny.denies(owner, d); ok {
		return GateDenied, s
	}
	for _, k := range f.kinds {
		if gate, at := k.judge(owner, d, finder); gate != "" {
			return gate, at
		}
	}
	if s, ok := f.rules.hides(owner, d); ok {
		return GateDenied, s
	}
	return "", Selector{}
}

// Refusal is why the lists would keep a call from being made, "" = they let it pass. It is for lists that bind for a
// while, when taking tools out of the view would cost more than refusing their calls.
func (f *Frame) Refusal(c *Call) string {
	if gate, at := f.judge(c.Owner(), &c.entry.Tool.Decl, c.entry.Tool.Finder); gate == GateListed {
		return at.Text
	} else if gate != "" {
		return "denied by `" + at.Text + "`"
	}
	if no := f.refuses(newTouch(c, c.view.policy.Place)); no != nil {
		return no.why + ", by `" + no.by.Text + "`"
	}
	return ""
}

// allowAt is where an allow list stands.
func (f *Frame) allowAt(i int) meta.Origin {
	switch {
	case i < len(f.lists.AllowAt):
		return f.lists.AllowAt[i]
	case len(f.allow[i].rules) > 0:
		return f.allow[i].rules[0].Origin
	}
	return meta.Origin{}
}

// refuses is the scoped entries of one level for one call; nil = they let it pass.
func (f *Frame) refuses(t *touch) *refusal {
	if f == nil || !f.scoped {
		return nil
	}
	no := f.scopes(t)
	if len(f.lift.rules) == 0 {
		return no
	}
	if no == nil {
		gate, at := f.narrows(t.owner, t.decl, t.call.entry.Tool.Finder)
		if gate == "" {
			return nil
		}
		no = &refusal{at, "it is there for other calls alone"}
	}
	if lifted, whole := f.lift.lists(t.owner, t.decl); whole || lifted && f.lift.restrains(t) == nil {
		return nil
	}
	return no
}

// denied is the scoped entries of the deny lists alone.
func (f *Frame) denied(t *touch) *refusal {
	no := f.deny.refuses(t)
	for i := 0; no == nil && i < len(f.kinds); i++ {
		if k := f.kinds[i]; kindOf(t.decl) == k.kind {
			no = k.deny.refuses(t)
		}
	}
	return no
}

func (f *Frame) scopes(t *touch) *refusal {
	if no := f.deny.refuses(t); no != nil {
		return no
	}
	for i := range f.allow {
		if f.allow[i].scoped {
			if no := f.allow[i].restrains(t); no != nil {
				return no
			}
		}
	}
	for _, k := range f.kinds {
		if no := k.refuses(t); no != nil {
			return no
		}
	}
	if f.rules != nil && f.rules.scoped {
		if action, by := f.rules.judge(t); action == ActionDeny {
			return &refusal{by, "it is denied here"}
		}
	}
	return nil
}

// free reports whether the frame restricts nothing, so that whole sets pass unread.
func (f *Frame) free() bool {
	return f == nil || len(f.allow) == 0 && len(f.deny.rules) == 0 && len(f.kinds) == 0 && f.rules == nil
}
