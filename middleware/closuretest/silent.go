package closuretest

import (
	"cmp"
	"context"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Silent reports texts that name what is absent.
const Silent = "silent"

// passage is one text that reaches a model or a person.
type passage struct {
	owner, where, text string
	exact, property    bool
}

// silent holds every text against every name that is absent. Texts that users wrote (overrides, agents' files) are
// theirs, and an owner may speak of its own.
func silent(_ context.Context, t *trial) {
	absent := t.absent()
	for _, p := range t.passages() {
		if p.text == "" {
			continue
		}
		var m *mentions
		if !p.exact || strings.ContainsRune(p.text, ' ') {
			m = t.mentions(p.text)
		}
		for _, a := range absent {
			if a.owner != p.owner && a.named(&p, m) {
				t.leak(p.owner, p.where, "names %s %s of %s, which is absent", a.what, a.name, a.owner)
			}
		}
	}
}

// name is something that is absent.
type name struct{ what, name, owner string }

func (n *name) named(p *passage, m *mentions) bool {
	if m == nil {
		if n.what == "route" {
			return p.text == "/"+n.name
		}
		return p.text == n.name && (!p.property || n.what == "tool" && distinct(n.name))
	}
	switch n.what {
	case "route":
		return m.slash[n.name] || m.slash[n.owner+":"+n.name]
	case "agent":
		return m.quoted[n.name]
	}
	return m.tool(n.name)
}

// absent are the tools, aliases, routes and agents that the suite has and the session lacks.
func (t *trial) absent() []name {
	var out []name
	taken := map[string]bool{}
	for e := range t.seen.view.All() {
		taken[e.Tool.Name] = true
		for _, a := range e.Tool.Aliases {
			taken[a] = true
		}
	}
	tools := map[string]string{}
	for tool, owner := range t.owners {
		tools[tool] = owner
	}
	for e := range t.base.view.All() {
		tools[e.Tool.Name] = e.Owner
	}
	for _, tool := range sorted(tools) {
		if !taken[tool] {
			out = append(out, name{"tool", tool, tools[tool]})
		}
	}
	for _, alias := range sorted(t.aliases) {
		if tool := t.aliases[alias]; !taken[alias] && !taken[tool] && tools[alias] == "" {
			out = append(out, name{"tool", alias, tools[tool]})
		}
	}
	out = append(out, t.absentRoutes()...)
	// An owner may speak of its own, and not of what another brought along.
	agents := map[string]string{}
	for _, f := range t.base.surface {
		if f.Surface == session.OnAgent {
			agents[f.Name] = cmp.Or(f.By, f.Owner)
		}
	}
	for a := range of(t.seen.surface, session.OnAgent) {
		delete(agents, a)
	}
	for _, a := range sorted(agents) {
		out = append(out, name{"agent", a, agents[a]})
	}
	return out
}

// absentRoutes are the routes that the suite declares, or that a family had with everything open, and the session lacks.
// One that another owner serves in its stead is absent still, unless it is a family's: then it is a user's own.
func (t *trial) absentRoutes() []name {
	routes := map[string]string{}
	for _, f := range t.base.surface {
		if f.Surface == session.OnRoute {
			routes[strings.TrimPrefix(f.Name, "/")] = cmp.Or(f.By, f.Owner)
		}
	}
	for r, owner := range t.routes {
		routes[r] = owner
	}
	for i := range t.seen.links {
		l := &t.seen.links[i]
		if l.Instance == nil || l.Fate.Status != middleware.Live {
			continue
		}
		for _, r := range l.Instance.Routes {
			if routes[r.Name] == l.Name || l.RouteFamily {
				delete(routes, r.Name)
			}
		}
	}
	var out []name
	for _, r := range sorted(routes) {
		out = append(out, name{"route", r, routes[r]})
	}
	return out
}

func (t *trial) mentions(text string) *mentions {
	if m, ok := t.read.Load(text); ok {
		return m.(*mentions)
	}
	m := scan(text)
	t.read.Store(text, m)
	return m
}

// passages are all texts of the session.
func (t *trial) passages() []passage {
	var out []passage
	add := func(owner, where, text string) { out = append(out, passage{owner: owner, where: where, text: text}) }
	for _, r := range t.seen.shown() {
		if !r.Override {
			add(r.Owner, "segment "+r.ID, t.shipped(r))
		}
	}
	for e := range t.seen.view.All() {
		if t.served(e) {
			continue
		}
		at := "tool " + e.Tool.Name
		add(e.Owner, at+": title", e.Tool.Title)
		add(e.Owner, at+": doc", e.Tool.Doc)
		for _, p := range pieces(e.Tool.Schema) {
			out = append(out, passage{e.Owner, at + ": schema" + p.at, p.text, p.exact, p.property})
		}
	}
	for i := range t.seen.links {
		l := &t.seen.links[i]
		if l.Instance == nil || l.Fate.Status != middleware.Live {
			continue
		}
		for _, r := range l.Instance.Routes {
			if t.own != nil && t.routes[r.Name] != l.Name {
				continue // of a family: its text is a user's
			}
			add(l.Name, "route /"+r.Name, r.Doc+"\n"+r.Args)
		}
	}
	for _, f := range t.seen.surface {
		if t.own != nil && f.Surface != session.OnChain {
			continue // the others' docs stand above, or are users'
		}
		if !strings.HasPrefix(f.Surface, session.ChildPrefix) && f.Surface != session.OnAgent {
			add(f.Owner, f.Surface+" "+f.Name, f.Doc)
		}
	}
	for _, n := range sorted(t.seen.agents) {
		if a := t.seen.agents[n]; a.info.File == "" {
			add(a.owner, "agent "+n+": doc", a.info.Doc)
			add(a.owner, "agent "+n+": description", a.spawn.Description)
			add(a.owner, "agent "+n+": body", a.spawn.Body)
		}
	}
	return append(out, t.sent()...)
}

// shipped is a segment's text without what users may have written into it: of a project's, what fills its placeholders.
func (t *trial) shipped(r prompt.Rendered) string {
	if t.own == nil {
		return r.Text
	}
	for i := range t.list {
		for _, s := range t.list[i].Segments {
			if s.ID == r.ID {
				return s.Text
			}
		}
	}
	return r.Text
}

// served reports whether a project's tool was published by a server, whose texts are nobody's here.
func (t *trial) served(e toolview.Entry) bool {
	prefix := t.prefix[e.Owner]
	return t.own != nil && prefix != "" && strings.HasPrefix(e.Tool.Name, prefix)
}

// sent are the texts of the requests that come from no field: contributions, what prompt and stop hooks said, and a
// system prompt that a wrapper changed.
func (t *trial) sent() []passage {
	var out []passage
	for _, r := range t.seen.requests {
		for _, c := range r.tail {
			out = append(out, passage{owner: c.Owner, where: "contribution", text: c.Text})
		}
		if text := r.text(); text != systemText(t.seen.system) {
			out = append(out, passage{where: "system prompt as sent", text: text})
		}
		for _, m := range r.messages {
			if m.Role == message.Tool {
				continue
			}
			for _, p := range m.Parts {
				if p.Text != "" && p.Text != said && !strings.HasPrefix(p.Text, prompted) {
					out = append(out, passage{where: "message of the " + string(m.Role), text: p.Text})
				}
			}
		}
	}
	return out
}
