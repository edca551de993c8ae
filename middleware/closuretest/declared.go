package closuretest

import (
	"context"
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Declared reports what stands on a surface without its owner having declared it.
const Declared = "declared"

// fields are the surfaces that fields of a middleware show, so that no Facts may claim them.
var fields = [...]string{
	session.OnChain, session.OnSegment, session.OnTool, session.OnSearch, session.OnRoute, session.OnHook,
	session.OnContribution, session.OnAgent,
}

func declared(_ context.Context, t *trial) {
	for _, view := range []*toolview.View{t.seen.view, t.seen.last} {
		for _, x := range view.Smuggled() {
			t.leak(x.Owner, "tool "+x.Name, "published, and not declared; the framework dropped it")
		}
		for e := range view.All() {
			if e.Owner != probeName && !t.may(e.Owner, e.Tool.Name) {
				t.leak(e.Owner, "tool "+e.Tool.Name, "in the view, and not declared")
			}
		}
	}
	for _, r := range t.seen.requests {
		if r.view.Digest() != t.seen.view.Digest() && r.view.Digest() != t.seen.last.Digest() {
			t.leak("", "request", "holds the tools %s, the session %s", direct(r.view), direct(t.seen.last))
		}
	}
	for i := range t.seen.links {
		if l := &t.seen.links[i]; l.Instance != nil {
			t.instance(l)
		}
	}
	for name, a := range t.seen.agents {
		if !a.found {
			t.leak(a.owner, "agent "+name, "listed, and nobody can be spawned by that name")
		}
	}
}

// may reports whether an owner declared a tool's name.
func (t *trial) may(owner, tool string) bool {
	return t.owners[tool] == owner || t.prefix[owner] != "" && strings.HasPrefix(tool, t.prefix[owner])
}

// instance checks what one middleware brought against what it declared.
func (t *trial) instance(l *middleware.Link) {
	for _, r := range l.Instance.Routes {
		owner, taken := t.routes[r.Name]
		switch {
		case taken && owner != l.Name:
			t.leak(l.Name, "route /"+r.Name, "served, and declared by %s", owner)
		case !taken && !l.RouteFamily:
			t.leak(l.Name, "route /"+r.Name, "served, and not declared")
		}
	}
	if l.Fate.Status == middleware.Live {
		for _, r := range l.Middleware.Routes {
			if !slices.ContainsFunc(l.Instance.Routes, func(s middleware.Route) bool { return s.Name == r.Name }) {
				t.leak(l.Name, "route /"+r.Name, "declared, and not served")
			}
		}
	}
	for name := range l.Instance.Vars {
		known := false
		for _, s := range l.Segments {
			known = known || slices.Contains(s.Vars, name)
		}
		if !known {
			t.leak(l.Name, "var "+name, "filled, and no segment of its own has it")
		}
	}
	for _, f := range t.seen.facts[l.Name] {
		if slices.Contains(fields[:], f.Surface) || strings.HasPrefix(f.Surface, session.ChildPrefix) {
			t.leak(l.Name, f.Surface+" "+f.Name, "told by Facts, which is for what no field shows")
		}
	}
}
