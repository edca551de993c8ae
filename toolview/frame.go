package toolview

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Selector is one entry of an allow or deny list, with the place where somebody wrote it. A selector is a tool's
// name or alias, a family, `@Owner`, `*` (every tool that is not Private; in a deny list every tool) or `**` (every
// tool). Case does not count.
type Selector struct {
	Text   string      `json:"text"`
	Origin meta.Origin `json:"origin"`
}

// Lists are the allow and deny lists of one level: the settings, the host or an agent.
type Lists struct {
	// Allow holds every allow list that applies; a tool must be on each. None = everything, an empty one = nothing.
	Allow [][]Selector `json:"allow,omitempty"`
	Deny  []Selector   `json:"deny,omitempty"`
}

// Frame is a compiled, immutable level of lists. A nil Frame restricts nothing.
type Frame struct {
	allow []list
	deny  list
	lists Lists
}

type list struct {
	exact  map[string]int // lower-case name, alias, family or @owner → index of its selector
	all    int            // index of the widest wildcard, -1 = none
	public bool           // the wildcard is `*`: Private tools stay out
	of     []Selector
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
		return c
	}
	for _, a := range l.Allow {
		c := add(a, false)
		f.allow = append(f.allow, c)
		f.lists.Allow = append(f.lists.Allow, c.of)
	}
	f.deny = add(l.Deny, true)
	f.lists.Deny = f.deny.of
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

func compile(sel []Selector, deny bool) (list, error) {
	c := list{exact: make(map[string]int, len(sel)), all: -1, of: slices.Clone(sel)}
	var errs []error
	for i, s := range sel {
		text := strings.TrimSpace(s.Text)
		switch {
		case text == "**" || text == "*" && deny:
			c.all, c.public = i, false
		case text == "*":
			if c.all < 0 {
				c.all, c.public = i, true
			}
		case text == "":
			errs = append(errs, fmt.Errorf("%s: an empty selector: name a tool, or remove the entry", s.Origin))
		case !legalName(strings.TrimPrefix(text, "@")):
			errs = append(errs, fmt.Errorf("%s: selector %q: patterns and scopes are not known here: write one tool's name, a family, @Owner, * or **", s.Origin, s.Text))
		default:
			c.exact[strings.ToLower(text)] = i
		}
	}
	return c, errors.Join(errs...)
}

// match finds the selector that selects a tool.
func (c *list) match(owner string, d *Decl) (Selector, bool) {
	if c.all >= 0 && !(c.public && d.Private) {
		return c.of[c.all], true
	}
	if len(c.exact) == 0 {
		return Selector{}, false
	}
	try := func(word string) (Selector, bool) {
		i, ok := c.exact[strings.ToLower(word)]
		if !ok {
			return Selector{}, false
		}
		return c.of[i], true
	}
	for _, word := range append([]string{d.Name, d.Family, "@" + owner}, d.Aliases...) {
		if s, ok := try(word); ok && word != "" {
			return s, true
		}
	}
	return Selector{}, false
}

// judge is the gates listed and denied for one level.
func (f *Frame) judge(owner string, d *Decl) (Gate, Selector) {
	if f == nil {
		return "", Selector{}
	}
	for i := range f.allow {
		if _, ok := f.allow[i].match(owner, d); !ok {
			var at Selector
			if len(f.allow[i].of) > 0 {
				at = f.allow[i].of[0]
			}
			return GateListed, Selector{Text: "not on the allow list", Origin: at.Origin}
		}
	}
	if s, ok := f.deny.match(owner, d); ok {
		return GateDenied, s
	}
	return "", Selector{}
}

// free reports whether the frame restricts nothing, so that whole sets pass unread.
func (f *Frame) free() bool {
	return f == nil || len(f.allow) == 0 && len(f.deny.of) == 0
}

// Unmatched lists the selectors that no tool of the given groups could ever meet, with the nearest words. Names of
// closed middlewares' tools count as known.
func (f *Frame) Unmatched(known []Band) []meta.Diagnostic {
	if f.free() {
		return nil
	}
	words := map[string]string{} // lower case → as its owner spells it
	know := func(w string) {
		if l := strings.ToLower(w); w != "" && words[l] == "" {
			words[l] = w
		}
	}
	for _, b := range known {
		know("@" + b.Owner)
		for _, t := range b.Set.All() {
			know(t.Name)
			know(t.Family)
			for _, a := range t.Aliases {
				know(a)
			}
		}
	}
	candidates := slices.Sorted(maps.Values(words))
	var out []meta.Diagnostic
	report := func(where string, c *list) {
		for _, s := range c.of {
			text := strings.ToLower(strings.TrimSpace(s.Text))
			if text == "*" || text == "**" || words[text] != "" {
				continue
			}
			d := meta.Diagnostic{
				Severity: meta.SeverityWarning, Code: "unmatched_selector", Key: where, Origin: s.Origin,
				Message: fmt.Sprintf("%q selects no tool of this session", s.Text),
			}
			if near := meta.Nearest(text, candidates); len(near) > 0 {
				d.Suggestion = "did you mean " + strings.Join(near, ", ") + "?"
			}
			out = append(out, d)
		}
	}
	for i := range f.allow {
		report("tools.allow", &f.allow[i])
	}
	report("tools.deny", &f.deny)
	return out
}
