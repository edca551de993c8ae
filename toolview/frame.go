package toolview

import (
	"errors"
)

// Lists are the allow and deny lists of one level: the settings, the host or an agent.
type Lists struct {
	// Allow holds every allow list that applies; a tool must be on each. None = everything, an empty one = nothing.
	Allow [][]Selector `json:"allow,omitempty"`
	Deny  []Selector   `json:"deny,omitempty"`
	// Lift is what the lists keep from their own level and not from those below: it makes the frame of an agent's
	// children out of the agent's own.
	Lift []Selector `json:"lift,omitempty"`
}

// Frame is a compiled, immutable level of lists. A nil Frame restricts nothing.
type Frame struct {
	allow  []list
	deny   list
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
	f.deny, f.lift = add(l.Deny, true), add(l.Lift, false)
	if len(l.Deny) > 0 {
		f.lists.Deny = f.deny.entries()
	}
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
			var at Selector
			if len(f.allow[i].rules) > 0 {
				at = f.allow[i].rules[0].Selector
			}
			return GateListed, Selector{Text: "not on the allow list", Origin: at.Origin}
		}
	}
	if s, ok := f.deny.denies(owner, d); ok {
		return GateDenied, s
	}
	return "", Selector{}
}

// refuses is the scoped entries of one level for one call; nil = they let it pass.
func (f *Frame) refuses(t *touch) *refusal {
	if f == nil || !f.scoped {
		return nil
	}
	no := f.deny.refuses(t)
	for i := 0; no == nil && i < len(f.allow); i++ {
		if f.allow[i].scoped {
			no = f.allow[i].restrains(t)
		}
	}
	if no == nil || len(f.lift.rules) == 0 {
		return no
	}
	if lifted, whole := f.lift.lists(t.owner, t.decl); whole || lifted && f.lift.restrains(t) == nil {
		return nil
	}
	return no
}

// free reports whether the frame restricts nothing, so that whole sets pass unread.
func (f *Frame) free() bool {
	return f == nil || len(f.allow) == 0 && len(f.deny.rules) == 0
}
