package closuretest

import (
	"context"
	"slices"
	"strings"

	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Exact reports facts, texts and places that changed and should not have, or should have and did not.
const Exact = "exact"

// exact works out, from what was seen with everything open, what is to be left, and compares.
//
// The exceptions are the law's: what requires the closed closes too; without a finder deferred tools are direct; finders
// leave with the last deferred tool; a Live text leaves with the last tool that it needs; what a middleware brought along
// for another leaves with it, and the texts in which that other tells of it change.
func exact(_ context.Context, t *trial) {
	e := expect(t.base, t.seen.gone)
	type place struct{ surface, name, owner string }
	at := func(s session.Surface) map[place]session.Fact {
		out := make(map[place]session.Fact, len(s))
		for _, f := range s {
			out[place{f.Surface, f.Name, f.Owner}] = f
		}
		return out
	}
	want, got := at(e.surface), at(t.seen.surface)
	for p, f := range got {
		switch was, ok := want[p]; {
		case !ok && t.seen.gone[p.owner]:
			t.leak(p.owner, p.surface+" "+p.name, "is still there")
		case !ok:
			t.leak(p.owner, p.surface+" "+p.name, "appeared")
		case was != f:
			t.leak(p.owner, p.surface+" "+p.name, "changed from %q to %q", was.Doc+" "+was.Detail, f.Doc+" "+f.Detail)
		}
	}
	for p := range want {
		if _, ok := got[p]; !ok {
			t.leak(p.owner, p.surface+" "+p.name, "left too, and its owner is open")
		}
	}
	t.order(e)
	t.texts(e)
}

// order compares the sequence of what is left.
func (t *trial) order(e expected) {
	if got := direct(t.seen.view); !slices.Equal(got, e.direct) {
		t.leak("", "tool order", "%s, expected %s", strings.Join(got, " "), strings.Join(e.direct, " "))
	}
	ids := func(s []prompt.Rendered) string {
		var out []string
		for _, r := range s {
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	if got, want := ids(t.seen.shown()), ids(e.segments); got != want {
		t.leak("", "segment order", "%s, expected %s", got, want)
	}
}

// texts compares what is left word for word.
func (t *trial) texts(e expected) {
	for _, r := range t.seen.shown() {
		for _, was := range e.segments {
			if was.ID == r.ID && was.Text != r.Text && !t.took(r.Owner) {
				t.leak(r.Owner, "segment "+r.ID, "its text changed: %s", difference(was.Text, r.Text))
			}
		}
	}
	for now := range t.seen.view.All() {
		was, ok := t.base.view.Lookup(now.Tool.Name)
		if !ok || was.Tool == now.Tool || t.took(now.Owner) {
			continue
		}
		a, b := jsonOf(wire([]*toolview.Tool{was.Tool})), jsonOf(wire([]*toolview.Tool{now.Tool}))
		if a != b {
			t.leak(now.Owner, "tool "+now.Tool.Name, "its definition changed: %s", difference(a, b))
		}
	}
}

// took reports whether an owner had something that a closed middleware brought along.
func (t *trial) took(owner string) bool {
	return slices.ContainsFunc(t.base.surface, func(f session.Fact) bool { return f.Owner == owner && t.seen.gone[f.By] })
}

// expected is what should be left of a suite.
type expected struct {
	surface  session.Surface
	direct   []string
	segments []prompt.Rendered
}

func expect(base *look, gone map[string]bool) expected {
	var e expected
	finders, deferred := 0, 0
	for x := range base.view.All() {
		if gone[x.Owner] {
			continue
		}
		if x.Tool.Finder {
			finders++
		}
		if x.Deferred {
			deferred++
		}
	}
	stays := map[string]bool{}
	for x := range base.view.All() {
		if gone[x.Owner] || x.Tool.Finder && deferred == 0 {
			continue
		}
		stays[x.Tool.Name] = true
		if !x.Deferred || finders == 0 {
			e.direct = append(e.direct, x.Tool.Name)
		}
	}
	text := map[string]bool{}
	for _, r := range base.shown() {
		if !gone[r.Owner] && (len(r.Needs) == 0 || slices.ContainsFunc(r.Needs, func(n string) bool { return stays[n] })) {
			text[r.ID] = true
			e.segments = append(e.segments, r)
		}
	}
	// A child may have fewer deferred tools than its parent, and lose the last one earlier.
	finds := slices.ContainsFunc(base.surface, func(f session.Fact) bool {
		return f.Surface == session.ChildPrefix+session.OnSearch && !gone[f.Owner]
	})
	for _, f := range base.surface {
		if gone[f.Owner] || gone[f.By] {
			continue
		}
		child, surface := "", f.Surface
		if rest, ok := strings.CutPrefix(surface, session.ChildPrefix); ok {
			child, surface = session.ChildPrefix, rest
		}
		x, _ := base.view.Lookup(f.Name)
		switch {
		case child != "" && surface == session.OnTool && !finds && x.Tool != nil && x.Tool.Finder,
			(surface == session.OnTool || surface == session.OnSearch) && !stays[f.Name],
			surface == session.OnSegment && !text[f.Name]:
			continue
		case surface == session.OnSearch && finders == 0:
			f.Surface = child + session.OnTool
		}
		e.surface = append(e.surface, f)
	}
	return e
}

// difference shows where two texts part.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-20)
	cut := func(s string) string {
		if len(s) < from {
			return ""
		}
		return strings.ToValidUTF8(s[from:min(len(s), i+40)], "")
	}
	return "…" + cut(a) + "… became …" + cut(b) + "…"
}
