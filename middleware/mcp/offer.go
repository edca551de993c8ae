package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// offer is what a server offers. It is immutable.
type offer struct {
	direct, deferred []toolview.Tool
	routes           []middleware.Route
	resources        int
	flaws            []flaw
	// said is all of it by content, so that an unchanged offer is known.
	said string
}

// flaw is something of a server's that cannot be used, or not as it stands.
type flaw struct {
	server, what, why string
	code              string
	severity          meta.Severity
}

func (f flaw) String() string { return fmt.Sprintf("server %s: %s: %s", f.server, f.what, f.why) }

// most is how much of one kind is read of a server, and pages in how many parts it may come.
const (
	most  = 2000
	pages = 200
)

// all reads a list to its end, without its entries that are null. A server that has no such list has an empty one.
func all[T any](has bool, page func(cursor string) ([]*T, string, error)) ([]*T, error) {
	if !has {
		return nil, nil
	}
	var out []*T
	cursor := ""
	for range pages {
		list, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(e *T) bool { return e == nil })
		if out = append(out, list...); len(out) > most {
			return nil, fmt.Errorf("it has more than %d entries", most)
		}
		if next == "" || next == cursor {
			return out, nil
		}
		cursor = next
	}
	return nil, fmt.Errorf("it does not end after %d pages", pages)
}

// list reads what the server offers, and publishes it if it is not what it was.
func (s *server) list(ctx context.Context, c *conn) error {
	caps := &sdk.ServerCapabilities{}
	if r := c.cs.InitializeResult(); r != nil && r.Capabilities != nil {
		caps = r.Capabilities
	}
	tools, err := all(caps.Tools != nil, func(cursor string) ([]*sdk.Tool, string, error) {
		r, err := c.cs.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", fmt.Errorf("tools: %w", err)
		}
		return r.Tools, r.NextCursor, nil
	})
	if err != nil {
		return err
	}
	o := &offer{}
	s.addTools(o, tools)
	// What else there is never keeps the tools away.
	prompts, err := all(caps.Prompts != nil, func(cursor string) ([]*sdk.Prompt, string, error) {
		r, err := c.cs.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Prompts, r.NextCursor, nil
	})
	if err != nil {
		o.fault(s.Name, "its prompts", s.told(err))
	}
	s.addPrompts(o, prompts)
	if caps.Resources != nil {
		s.addResources(ctx, o, c)
	}
	for _, l := range c.lost.taken() {
		o.fault(s.Name, l[0], "it is left out: "+l[1])
	}
	s.take(o)
	return nil
}

func (o *offer) fault(server, what, why string) {
	o.flaws = append(o.flaws, flaw{server, what, why, "mcp_quarantined", meta.SeverityWarning})
}

// take makes an offer the server's, and tells of what is new to blame.
func (s *server) take(o *offer) {
	var b strings.Builder
	for _, list := range [][]toolview.Tool{o.direct, o.deferred} {
		for i := range list {
			t := &list[i]
			fmt.Fprintf(&b, "%s\n%s\n%s\n%s\n%s\n", t.Name, t.Title, t.Doc, t.Schema, t.Effects)
		}
		b.WriteString("\n")
	}
	for _, r := range o.routes {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Name, r.Doc, r.Args)
	}
	fmt.Fprintf(&b, "%d\n", o.resources)
	for _, f := range o.flaws {
		b.WriteString(f.String() + "\n")
	}
	o.said = b.String()
	s.mu.Lock()
	before := s.offer
	if before.said == o.said {
		s.mu.Unlock()
		return
	}
	s.offer = o
	s.mu.Unlock()
	for _, f := range o.flaws {
		if !slices.Contains(before.flaws, f) {
			s.hub.notice("%s", f)
		}
	}
	s.hub.publish()
}

// addTools makes tools of what the server listed, each on its own: one that cannot be used is left out alone.
func (s *server) addTools(o *offer, listed []*sdk.Tool) {
	slices.SortStableFunc(listed, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	for i, raw := range listed {
		if i > 0 && listed[i-1].Name == raw.Name {
			o.fault(s.Name, fmt.Sprintf("tool %q", raw.Name), "it is listed twice, and the first one is taken")
			continue
		}
		t, err := s.tool(raw)
		if err != nil {
			o.fault(s.Name, fmt.Sprintf("tool %q", raw.Name), "it is left out: "+err.Error())
			continue
		}
		o.add(s, t)
	}
}

// add keeps a tool that the server's lists leave.
func (o *offer) add(s *server, t toolview.Tool) {
	switch {
	case !s.gate.offers(&t.Decl):
	case listed(s.gate.direct, &t.Decl):
		o.direct = append(o.direct, t)
	default:
		o.deferred = append(o.deferred, t)
	}
}

// tool makes a tool of what a server lists.
func (s *server) tool(raw *sdk.Tool) (toolview.Tool, error) {
	if raw.Name == "" {
		return toolview.Tool{}, fmt.Errorf("it has no name")
	}
	schema, err := usable(raw.InputSchema)
	if err != nil {
		return toolview.Tool{}, err
	}
	title := raw.Title
	if title == "" && raw.Annotations != nil {
		title = raw.Annotations.Title
	}
	doc := strings.TrimSpace(clean(raw.Description))
	if doc == "" {
		doc = fmt.Sprintf("%s of the server %s, which does not describe it.", raw.Name, s.Name)
	}
	t := toolview.Tool{
		Decl: s.decl(raw.Name), Title: clean(title), Doc: doc, Schema: schema, Effects: s.effects(raw.Annotations),
		Run: s.caller(raw.Name),
	}
	return compiled(t)
}

// decl is the identity of what the server calls leaf.
func (s *server) decl(leaf string) toolview.Decl {
	return toolview.Decl{Name: qualified(s.Name, leaf), Family: "mcp", Category: s.Name, Private: true, Server: s.Name, Leaf: leaf}
}

// compiled checks a tool by itself.
func compiled(t toolview.Tool) (toolview.Tool, error) {
	set, err := toolview.NewSet(t)
	if err != nil {
		return toolview.Tool{}, err
	}
	return *set.All()[0], nil
}

// usable makes the schema of arguments one that says it is of an object, as it is anyway.
func usable(given any) (json.RawMessage, error) {
	if given == nil {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	m, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("its schema is no JSON object")
	}
	if t, has := m["type"]; !has || t == nil {
		m["type"] = "object"
	}
	if p, has := m["properties"]; has && p == nil {
		delete(m, "properties")
	}
	if r, has := m["required"]; has && r == nil {
		delete(m, "required")
	}
	return json.Marshal(m)
}

// effects are what the annotations say of a trusted server's tool. Of another nothing is known, so that anything may be.
func (s *server) effects(a *sdk.ToolAnnotations) toolview.Effects {
	if !s.Trusted || a == nil {
		return toolview.OpenWorld | toolview.Destructive
	}
	var e toolview.Effects
	if a.OpenWorldHint == nil || *a.OpenWorldHint {
		e |= toolview.OpenWorld
	}
	if a.ReadOnlyHint {
		return e | toolview.ReadOnly
	}
	if a.DestructiveHint == nil || *a.DestructiveHint {
		e |= toolview.Destructive
	}
	if a.IdempotentHint {
		e |= toolview.Idempotent
	}
	return e
}

// clean drops what has no business in a text that a model or a person reads: control characters, what turns the direction
// of writing around, tags that nobody sees, and broken encoding.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ', 0x7f <= r && r <= 0x9f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, 0xe0000 <= r && r <= 0xe007f:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// publish makes what all servers offer the session's, in the order of their names. Of two tools of one name the earlier
// server's is kept.
func (h *hub) publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var direct, deferred []toolview.Tool
	var routes []middleware.Route
	var said strings.Builder
	h.flaws = nil
	taken := map[string]string{}
	first := func(name string, s *server, what string) bool {
		if by, is := taken[name]; is {
			h.flaws = append(h.flaws, flaw{s.Name, what, fmt.Sprintf("its name is taken by one of server %s", by), "mcp_collision", meta.SeverityWarning})
			return false
		}
		taken[name] = s.Name
		return true
	}
	for _, s := range h.servers {
		s.mu.Lock()
		o := s.offer
		s.mu.Unlock()
		fmt.Fprintf(&said, "%s %s\n", s.Name, o.said)
		for _, part := range []struct {
			from []toolview.Tool
			to   *[]toolview.Tool
		}{{o.direct, &direct}, {o.deferred, &deferred}} {
			for _, t := range part.from {
				if first(t.Name, s, fmt.Sprintf("tool %q", t.Leaf)) {
					*part.to = append(*part.to, t)
				}
			}
		}
		for _, r := range o.routes {
			if first("/"+r.Name, s, "prompt /"+r.Name) {
				routes = append(routes, r)
			}
		}
	}
	if h.had == said.String() && h.routes.Load() != nil {
		return
	}
	h.had = said.String()
	h.direct.Publish(grouped(direct))
	h.deferred.Publish(grouped(deferred))
	h.routes.Store(&routes)
}

// grouped is a set of tools that were checked one by one and have different names.
func grouped(tools []toolview.Tool) *toolview.Set {
	set, err := toolview.NewSet(tools...)
	if err != nil {
		return nil // cannot be; without them is better than without a session
	}
	return set
}

func (h *hub) commands() []middleware.Route { return *h.routes.Load() }
