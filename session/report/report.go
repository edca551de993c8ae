// Package report describes a session, or what a suite and its frozen state would make of one, as one plain value that
// marshals to versioned JSON, and explains single names.
package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Version names the JSON of a Report.
const Version = "peri.inspect/v1"

// Report is what a session is made of. Digest is the session's, or the state's when nothing was opened. Every list is there, also when it is empty, in the order of the chain, the prompt
// or the layers.
type Report struct {
	Version     string            `json:"version"`
	Digest      string            `json:"digest"`
	Layers      []Layer           `json:"layers"`
	Diagnostics []meta.Diagnostic `json:"diagnostics"`
	Meta        []Entry           `json:"meta"`
	Middlewares []Middleware      `json:"middlewares"`
	Segments    []Segment         `json:"segments"`
	Tools       []Tool            `json:"tools"`
	Routes      []Route           `json:"routes"`
	Agents      []Agent           `json:"agents"`
	Hidden      []Hidden          `json:"hidden"`
}

// Layer is one settings file. The caller of New brings them.
type Layer struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Loaded  bool   `json:"loaded"`
	Trusted bool   `json:"trusted"`
}

// Entry is one key of the frozen map and what decided it.
type Entry struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Value bool   `json:"value"`
	Layer string `json:"layer"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// Middleware is one capability of the suite. Segments, Direct and Deferred are what a step sees of it now; Routes and
// Hooks what it brings.
type Middleware struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Cause    string   `json:"cause"`
	Segments []string `json:"segments"`
	Direct   []string `json:"direct"`
	Deferred []string `json:"deferred"`
	Routes   []string `json:"routes"`
	Hooks    []string `json:"hooks"`
	// Origin is the entry of the meta map that decided, if one did. Meta has it too, so that the JSON need not.
	Origin meta.Origin `json:"-"`
}

// Segment is one text of the system prompt. SHA256 is of its bytes.
type Segment struct {
	ID     string `json:"id"`
	Owner  string `json:"owner"`
	Zone   string `json:"zone"`
	Order  int    `json:"order"`
	Origin string `json:"origin"`
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Tool is one visible tool.
type Tool struct {
	Name         string   `json:"name"`
	Owner        string   `json:"owner"`
	Visibility   string   `json:"visibility"`
	Effects      []string `json:"effects"`
	SchemaSHA256 string   `json:"schemaSha256"`
}

// Route is one slash command, without the slash.
type Route struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Doc   string `json:"doc"`
}

// Agent is one that may be spawned by name. Tools nil = all that its parent sees.
type Agent struct {
	Name   string   `json:"name"`
	Origin string   `json:"origin"`
	File   string   `json:"file"`
	Tools  []string `json:"tools"`
}

// Hidden is a declared tool that the session does not see, and why.
type Hidden struct {
	Name string `json:"name"`
	Gate string `json:"gate"`
	Rule string `json:"rule"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// New describes a session as its next step would be. It runs no hook and calls no model.
func New(s *session.Session, layers []Layer, found []meta.Diagnostic) *Report {
	r := start(s.State(), s.Chain().Suite(), layers, append(found[:len(found):len(found)], s.Diagnostics()...))
	r.Digest = s.Digest()
	view := s.View()
	shown := s.Surface()
	segments := map[string]bool{}
	for _, f := range shown {
		if f.Surface == session.OnSegment {
			segments[f.Name] = true
		}
	}
	for _, b := range s.Base().Segments() {
		if segments[b.ID] {
			r.Segments = append(r.Segments, segment(b))
		}
	}
	for e := range view.All() {
		r.Tools = append(r.Tools, tool(e.Tool, e.Owner, e.Deferred))
	}
	for _, x := range view.Hidden() {
		r.Hidden = append(r.Hidden, Hidden{x.Name, string(x.Gate), x.Rule, x.Origin.File, x.Origin.Line})
	}
	for _, l := range s.Chain().Links() {
		r.link(l, s.Chain().Offers(nil))
	}
	r.distribute()
	r.unattended(s)
	return r
}

// unattended counts the tools that may change something while no gate is there to judge their calls.
func (r *Report) unattended(s *session.Session) {
	n := 0
	for e := range s.View().All() {
		if f := e.Tool.Effects; !f.Has(toolview.Internal) && (!f.Has(toolview.ReadOnly) || f.Has(toolview.OpenWorld)) {
			n++
		}
	}
	for _, l := range s.Chain().Links() {
		if l.Gates && l.Fate.Status == middleware.Live {
			return
		}
	}
	if n > 0 {
		r.Diagnostics = append(r.Diagnostics, meta.Diagnostic{
			Severity: meta.SeverityWarning, Code: "unattended",
			Message: fmt.Sprintf("no gate judges calls: %d tools that may reach outside the session run unattended", n),
		})
	}
}

// Closed describes what a state lets exist, from constants alone: nothing is opened, lists are not applied, and what
// only a running middleware knows is absent.
func Closed(suite *middleware.Suite, state *meta.State, layers []Layer, found []meta.Diagnostic) *Report {
	r := start(state, suite, layers, found)
	r.Digest = state.Digest()
	var texts []prompt.Rendered
	for i, fate := range suite.Plan(state) {
		m := suite.All()[i]
		row := row(fate)
		if fate.Status == middleware.Live {
			for _, s := range m.Segments {
				texts = append(texts, planned(m.Name, s, state))
			}
			for _, t := range m.Tools.All() {
				r.Tools = append(r.Tools, tool(t, m.Name, false))
			}
			for _, t := range m.Deferred.All() {
				r.Tools = append(r.Tools, tool(t, m.Name, true))
			}
			for _, d := range m.Routes {
				row.Routes = append(row.Routes, d.Name)
				r.Routes = append(r.Routes, Route{d.Name, m.Name, d.Doc})
			}
		} else {
			r.hide(m.Tools, fate)
			r.hide(m.Deferred, fate)
		}
		r.Middlewares = append(r.Middlewares, row)
	}
	for _, b := range prompt.NewBase(texts).Segments() {
		r.Segments = append(r.Segments, segment(b))
	}
	r.distribute()
	return r
}

func start(state *meta.State, suite *middleware.Suite, layers []Layer, found []meta.Diagnostic) *Report {
	r := &Report{
		Version: Version, Layers: layers, Diagnostics: found, Meta: []Entry{}, Middlewares: []Middleware{},
		Segments: []Segment{}, Tools: []Tool{}, Routes: []Route{}, Agents: []Agent{}, Hidden: []Hidden{},
	}
	if r.Layers == nil {
		r.Layers = []Layer{}
	}
	if r.Diagnostics == nil {
		r.Diagnostics = []meta.Diagnostic{}
	}
	keys := suite.Keys()
	for _, e := range state.Entries() {
		k, _ := keys.Lookup(e.Key)
		r.Meta = append(r.Meta, Entry{e.Key, k.Kind.String(), e.Value, e.Origin.Layer, e.Origin.File, e.Origin.Line})
	}
	return r
}

func row(f middleware.Fate) Middleware {
	return Middleware{
		Name: f.Name, State: string(f.Status), Cause: f.Cause, Origin: f.Origin,
		Segments: []string{}, Direct: []string{}, Deferred: []string{}, Routes: []string{}, Hooks: []string{},
	}
}

// link adds one middleware of an opened chain.
func (r *Report) link(l middleware.Link, offers []middleware.Offer) {
	out := row(l.Fate)
	if l.Instance != nil {
		for _, h := range l.Instance.Hooks.Set() {
			if l.Fate.Status == middleware.Live || h.Name == "gate" {
				out.Hooks = append(out.Hooks, h.Name)
			}
		}
	}
	if l.Instance != nil && l.Fate.Status == middleware.Live {
		for _, o := range offers {
			if o.Owner == l.Name {
				out.Routes = append(out.Routes, o.Name)
				r.Routes = append(r.Routes, Route{o.Name, o.Owner, o.Doc})
			}
		}
		if l.Instance.Agents != nil {
			for _, a := range l.Instance.Agents.List() {
				r.Agents = append(r.Agents, Agent{a.Name, a.Origin, a.File, a.Tools})
			}
		}
	}
	r.Middlewares = append(r.Middlewares, out)
}

// distribute tells every middleware what is shown of it.
func (r *Report) distribute() {
	at := make(map[string]*Middleware, len(r.Middlewares))
	for i := range r.Middlewares {
		at[r.Middlewares[i].Name] = &r.Middlewares[i]
	}
	for _, s := range r.Segments {
		if m := at[s.Owner]; m != nil {
			m.Segments = append(m.Segments, s.ID)
		}
	}
	for _, t := range r.Tools {
		m := at[t.Owner]
		if t.Visibility == deferred {
			m.Deferred = append(m.Deferred, t.Name)
		} else {
			m.Direct = append(m.Direct, t.Name)
		}
	}
}

func (r *Report) hide(set *toolview.Set, f middleware.Fate) {
	for _, t := range set.All() {
		r.Hidden = append(r.Hidden, Hidden{t.Name, string(toolview.GateExists), f.Cause, f.Origin.File, f.Origin.Line})
	}
}

const (
	direct   = "direct"
	deferred = "deferred"
)

func tool(t *toolview.Tool, owner string, late bool) Tool {
	out := Tool{Name: t.Name, Owner: owner, Visibility: direct, Effects: t.Effects.Words(), SchemaSHA256: sum(t.Schema)}
	if late {
		out.Visibility = deferred
	}
	if out.Effects == nil {
		out.Effects = []string{}
	}
	return out
}

func segment(b prompt.Rendered) Segment {
	out := Segment{
		ID: b.ID, Owner: b.Owner, Zone: b.Zone.String(), Order: b.Order, Origin: "builtin",
		Bytes: len(b.Text), SHA256: sum([]byte(b.Text)),
	}
	if b.Override {
		out.Origin = "override"
	}
	out.File = b.Origin.File
	return out
}

// planned is a segment before its placeholders are filled: only an opened owner knows their values.
func planned(owner string, s prompt.Segment, state *meta.State) prompt.Rendered {
	b := prompt.Rendered{ID: s.ID, Owner: owner, Zone: s.Zone, Order: s.Order, Text: s.Text, Needs: s.Needs, Word: s.Word}
	if o, is := state.Override(s.ID); is {
		b.Text, b.Origin, b.Override = o.Text, o.Origin, true
	}
	return b
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
