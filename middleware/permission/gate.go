package permission

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// gate judges calls. It is immutable.
type gate struct {
	options          Options
	modes            []Mode // the session's and, for a child, those below it: the strictest holds, cell by cell
	deny, ask, allow []matcher
	root             string
}

// judge is the hook. It reads nothing but the calls.
func (g *gate) judge(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	for i, c := range calls {
		out[i] = g.verdict(c)
	}
}

func (g *gate) verdict(c *toolview.Call) middleware.Verdict {
	t := c.Tool()
	if r, ok := first(g.deny, t, false); ok {
		return ruled(middleware.Deny, r, "a deny rule covers it")
	}
	if r, ok := first(g.ask, t, false); ok {
		return ruled(middleware.Ask, r, "an ask rule covers it")
	}
	subjects, err := c.Subjects()
	bypass := g.strictest(Mode.guarded) == middleware.Allow
	if err != nil && !bypass {
		return middleware.Verdict{Reason: fmt.Sprintf("what the call touches cannot be told: %v", err)}
	}
	verdict := g.byMode(g.column(t.Effects, subjects))
	if r, ok := first(g.allow, t, true); ok && (readOnlyTool(t.Effects) || !g.planning()) {
		verdict = ruled(middleware.Allow, r, "an allow rule covers it")
	}
	if bypass {
		return verdict
	}
	if at, ok := g.guards(subjects); ok {
		if d := g.strictest(Mode.guarded); d < verdict.Decision || d == middleware.Ask && verdict.Decision == middleware.Ask {
			verdict = middleware.Verdict{Decision: d, Reason: at + " decides what sessions here may do, or what runs in them"}
		}
	}
	return verdict
}

func ruled(d middleware.Decision, r *Rule, reason string) middleware.Verdict {
	return middleware.Verdict{Decision: d, Reason: fmt.Sprintf("%s: %s (%s)", reason, r.Text, r.Origin), Rule: r.Text, Origin: r.Origin}
}

func (g *gate) byMode(c class) middleware.Verdict {
	d := g.strictest(func(m Mode) middleware.Decision { return m.cell(c) })
	v := middleware.Verdict{Decision: d, Mode: d == middleware.Ask}
	switch d {
	case middleware.Ask:
		v.Reason = "it may change something, and no rule allows it"
	case middleware.Deny:
		v.Reason = fmt.Sprintf("the permission mode is %s and no rule allows it", g.modeText())
		if g.planning() {
			v.Reason = "in plan mode only calls that change nothing run"
		}
	}
	return v
}

func (g *gate) strictest(of func(Mode) middleware.Decision) middleware.Decision {
	d := middleware.Allow
	for _, m := range g.modes {
		d = min(d, of(m))
	}
	return d
}

func (g *gate) planning() bool {
	for _, m := range g.modes {
		if m == Plan {
			return true
		}
	}
	return false
}

// column sorts a call. An edit counts as one in the project when its tool only edits and every path that it changes is
// known and inside.
func (g *gate) column(e toolview.Effects, subjects []toolview.Subject) class {
	if readOnlyTool(e) {
		return readOnly
	}
	if !onlyEdits(e) {
		return otherwise
	}
	edits := 0
	for _, s := range subjects {
		if s.Kind != toolview.Path {
			return otherwise
		}
		if s.Edit {
			edits++
			if !g.inside(s.Value) {
				return otherwise
			}
		}
	}
	if edits == 0 {
		return otherwise
	}
	return projectEdit
}

// absolute is a subject's path. Links are its tool's to resolve: a gate reads no disk.
func (g *gate) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.root, path)
	}
	return filepath.Clean(path)
}

func (g *gate) inside(path string) bool {
	if g.root == "" || path == "" || strings.HasPrefix(path, "~") || strings.ContainsRune(path, 0) {
		return false
	}
	rel, err := filepath.Rel(filepath.Clean(g.root), g.absolute(path))
	return err == nil && filepath.IsLocal(rel)
}

// guards finds a path that a call touches and that holds settings, agents, hooks or a repository's own files. Case is
// ignored, since some disks do.
func (g *gate) guards(subjects []toolview.Subject) (string, bool) {
	for _, s := range subjects {
		if s.Kind != toolview.Path {
			continue
		}
		path := g.absolute(s.Value)
		if g.inside(s.Value) { // the project itself may stand below such a folder
			path, _ = filepath.Rel(filepath.Clean(g.root), path)
		}
		for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			switch strings.ToLower(part) {
			case ".git", ".peri", ".claude", ".opencode":
				return s.Value, true
			}
		}
	}
	return "", false
}
