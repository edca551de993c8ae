package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Fact is one thing that a session has.
type Fact = middleware.Fact

// Surface is every fact of a session, sorted by surface, name and owner. A closed middleware has none.
type Surface []Fact

// The surfaces of a session. Those of a fork carry the prefix ChildPrefix.
const (
	OnChain        = "chain"
	OnSegment      = "segment"
	OnTool         = "tool"
	OnSearch       = "search"
	OnRoute        = "route"
	OnHook         = "hook"
	OnContribution = "contribution"
	OnAgent        = "agent"
	ChildPrefix    = "child/"
)

// Surface reads the facts of this session alone, from fields: it runs no hook and no contribution.
func (s *Session) Surface() Surface {
	view, _, policy := s.snapshot()
	var out Surface
	for _, o := range s.chain.Offers(policy.Paused) {
		detail := "command"
		if o.From != "" {
			detail += " of " + o.From
		}
		out = append(out, Fact{Surface: OnRoute, Name: "/" + o.Name, Owner: o.Owner, Doc: o.Doc, Detail: detail, By: o.By})
	}
	links := s.chain.Links()
	for i := range links {
		out = append(out, chainFacts(&links[i], policy)...)
	}
	for _, r := range s.base.Segments() {
		if s.shows(r, view, policy) {
			out = append(out, Fact{
				Surface: OnSegment, Name: r.ID, Owner: r.Owner,
				Detail: fmt.Sprintf("%s %d %s", r.Zone, r.Order, s.origin(r)),
			})
		}
	}
	for e := range view.All() {
		f := Fact{Surface: OnTool, Name: e.Tool.Name, Owner: e.Owner, Doc: e.Tool.Title, Detail: e.Tool.Effects.String()}
		if e.Deferred {
			f.Surface = OnSearch
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Surface, b.Surface), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Detail, b.Detail))
	})
	return out
}

// shows reports whether the next step's system prompt holds a segment.
func (s *Session) shows(r prompt.Rendered, view *toolview.View, policy *toolview.Policy) bool {
	return r.Zone == prompt.Cached || !policy.Paused[r.Owner] && view.HasAny(r.Needs) && view.Admits(r.Owner, r.Word)
}

// origin is where a segment's text comes from: builtin, or the override's file, relative to the project where it can be.
func (s *Session) origin(r prompt.Rendered) string {
	if r.Origin.File == "" {
		return "builtin"
	}
	if rel, err := filepath.Rel(s.opt.Root, r.Origin.File); err == nil && !strings.HasPrefix(rel, "..") {
		return "override:" + filepath.ToSlash(rel)
	}
	return "override:" + r.Origin.Layer
}

// SurfaceWithFork is Surface and the same of a fork, which is opened for it and closed again.
func (s *Session) SurfaceWithFork(ctx context.Context) (Surface, error) {
	out := s.Surface()
	fork, err := s.Fork(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range fork.Surface() {
		f.Surface = ChildPrefix + f.Surface
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Fact) int { return cmp.Compare(a.Surface, b.Surface) })
	return out, fork.Close(ctx)
}

// chainFacts are the facts of one middleware that its fields tell.
func chainFacts(l *middleware.Link, policy *toolview.Policy) []Fact {
	if l.Instance == nil {
		return nil
	}
	status := string(l.Fate.Status)
	paused := policy.Paused[l.Name]
	if paused {
		status = "paused"
	}
	out := []Fact{{Surface: OnChain, Name: l.Name, Owner: l.Name, Doc: l.Doc, Detail: status}}
	for _, h := range l.Instance.Hooks.Set() {
		if l.Fate.Status == middleware.Live || h.Name == "gate" {
			out = append(out, Fact{Surface: OnHook, Name: h.Name, Owner: l.Name, Detail: h.Event})
		}
	}
	if l.Fate.Status != middleware.Live || paused {
		return out
	}
	if l.Instance.Contribute != nil {
		out = append(out, Fact{Surface: OnContribution, Name: l.Name, Owner: l.Name})
	}
	if l.Instance.Agents != nil {
		for _, a := range l.Instance.Agents.List() {
			out = append(out, Fact{
				Surface: OnAgent, Name: a.Name, Owner: l.Name, Doc: a.Doc, By: a.By,
				Detail: strings.TrimSpace(a.Origin + " " + a.File),
			})
		}
	}
	if l.Instance.Facts != nil {
		for _, f := range l.Instance.Facts() {
			f.Owner = l.Name
			out = append(out, f)
		}
	}
	return out
}

// String is the fact as one line: surface name owner detail.
func (s Surface) String() string {
	var b strings.Builder
	for _, f := range s {
		b.WriteString(strings.TrimRight(strings.Join([]string{f.Surface, f.Name, f.Owner, f.Detail}, " "), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Of returns the facts of one owner.
func (s Surface) Of(owner string) Surface {
	var out Surface
	for _, f := range s {
		if f.Owner == owner {
			out = append(out, f)
		}
	}
	return out
}

// Minus returns the facts that other lacks.
func (s Surface) Minus(other Surface) Surface {
	type id struct{ surface, name, owner, detail string }
	has := make(map[id]bool, len(other))
	for _, f := range other {
		has[id{f.Surface, f.Name, f.Owner, f.Detail}] = true
	}
	var out Surface
	for _, f := range s {
		if !has[id{f.Surface, f.Name, f.Owner, f.Detail}] {
			out = append(out, f)
		}
	}
	return out
}
