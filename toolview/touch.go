package toolview

import (
	"fmt"
	"slices"

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
	// edits says that the tool may edit files, internal that it touches nothing outside the session but what its subjects
	// name.
	edits, internal bool

	asked bool
	all   []Subject
	err   error
}

func newTouch(c *Call, at Place) *touch {
	tool := c.entry.Tool
	internal := tool.Effects.Has(Internal)
	return &touch{
		call: c, owner: c.entry.Owner, decl: &tool.Decl, at: at, internal: internal,
		edits: tool.Effects.Has(Edits) || tool.Effects.Has(Runs) || internal && tool.Subjects != nil,
	}
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
	return t.all, t.err
}

// judged are the subjects of which each must be allowed: of a call that runs commands those and the files that they
// edit, unless a command that is allowed does it.
func (t *touch) judged() ([]Subject, error) {
	all, err := t.subjects()
	if err != nil || !slices.ContainsFunc(all, func(s Subject) bool { return s.Kind == Command }) {
		return all, err
	}
	var out []Subject
	for _, s := range all {
		if s.Kind == Command || s.Kind == Path && s.Edit && !s.Within {
			out = append(out, s)
		}
	}
	return out, nil
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
	if no := v.scopedRefusal(newTouch(c, v.policy.Place)); no != nil {
		return no.result(c.Name())
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
			if no := f.denied(t); no != nil {
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
