package toolview

import (
	"fmt"

	"github.com/metaharness/peri/prompt/message"
)

// refusal is why a visible tool's call is not made.
type refusal struct {
	by  Selector
	why string
}

func (r *refusal) result(name string) *message.Result {
	return message.Fail(fmt.Sprintf("`%s` was not run: %s, by `%s` (%s). The tool itself is there for other calls; do not do the same another way.",
		name, r.why, r.by.Text, r.by.Origin))
}

// touch is a call as scoped entries judge it. What it touches is asked once, and only if an entry is about the tool.
type touch struct {
	call  *Call
	owner string
	decl  *Decl
	at    Place
	// edits says that the tool may edit files, internal that it touches nothing outside the session, and commands that
	// the call runs some.
	edits, internal, commands bool

	asked bool
	all   []Subject
	err   error
}

func (t *touch) subjects() ([]Subject, error) {
	if t.asked {
		return t.all, t.err
	}
	t.asked = true
	tool := t.call.entry.Tool
	if tool.Subjects == nil && tool.Server != "" {
		t.all = []Subject{{Kind: Name, Value: tool.Server + "/" + tool.Leaf}}
	} else {
		t.all, t.err = t.call.Subjects()
	}
	for _, s := range t.all {
		t.commands = t.commands || s.Kind == Command
	}
	return t.all, t.err
}

// scopes reports whether scoped entries are to be asked about calls, here or above.
func (v *View) scopes() bool {
	for _, f := range v.policy.Frames {
		if f != nil && f.scoped {
			return true
		}
	}
	for _, f := range v.policy.Ancestors {
		if f != nil && f.scoped {
			return true
		}
	}
	return v.parent != nil && v.parent.scoped
}

// refused asks the scoped entries of this view and of those above about a call.
func (v *View) refused(c *Call) *message.Result {
	tool := c.entry.Tool
	t := &touch{
		call: c, owner: c.entry.Owner, decl: &tool.Decl, at: v.policy.Place,
		edits: tool.Effects.Has(Edits) || tool.Effects.Has(Runs), internal: tool.Effects.Has(Internal),
	}
	if no := v.scopedRefusal(t); no != nil {
		return no.result(tool.Name)
	}
	return nil
}

func (v *View) scopedRefusal(t *touch) *refusal {
	for _, f := range v.policy.Frames {
		if no := f.refuses(t); no != nil {
			return no
		}
	}
	if v.brought(t) {
		for _, f := range v.policy.Ancestors {
			if f == nil || !f.scoped {
				continue
			}
			if no := f.deny.refuses(t); no != nil {
				return no
			}
		}
		return nil
	}
	if v.parent != nil && v.parent.scoped {
		return v.parent.scopedRefusal(t)
	}
	return nil
}

// brought reports whether the tool is one that the agent's own definition brought.
func (v *View) brought(t *touch) bool {
	for i := range v.live {
		if b := v.live[i].band; b.Brought && b.Owner == t.owner {
			if at, ok := v.live[i].set.Lookup(t.decl.Name); ok && &at.Decl == t.decl {
				return true
			}
		}
	}
	return false
}
