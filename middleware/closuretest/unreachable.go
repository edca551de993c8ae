package closuretest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// Unreachable reports answers that tell a closed name from a misspelt one.
const Unreachable = "unreachable"

// misspell is a name of the same shape that nobody has: each letter becomes the next but six.
func misspell(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+7)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+7)%26
		}
		return r
	}, name)
}

func unreachable(ctx context.Context, t *trial) {
	tools, routes := t.lost()
	if len(tools) == 0 && len(routes) == 0 {
		return
	}
	s, err := t.open(ctx, setup{closed: t.closed, steps: t.calls(tools)})
	if err != nil {
		t.failed("session", err)
		return
	}
	err = s.turn(prompted)
	t.answers(s, "called", tools)
	t.inner(s.View(), tools)
	t.prompts(s, routes)
	if err = s.end(err); err != nil {
		t.failed("calls of absent names", err)
	}
	t.replay(ctx, tools)
}

// lost are the names that the closed tools and routes went by.
func (t *trial) lost() (tools, routes []string) {
	for _, n := range t.absent() {
		switch {
		case !t.seen.gone[n.owner] || len(t.closed) > 0 && t.base.gone[n.owner]:
		case n.what == "tool":
			tools = append(tools, n.name)
		case n.what == "route":
			routes = append(routes, n.name)
		}
	}
	return tools, routes
}

// calls are steps that call each name and its misspelling in every way that the view has.
func (t *trial) calls(tools []string) []script.Step {
	var steps []script.Step
	for i, name := range tools {
		var step script.Step
		for k, spelling := range []string{name, misspell(name)} {
			for w, way := range t.ways(spelling) {
				var args map[string]any
				if json.Unmarshal([]byte(way.Args), &args) == nil {
					step.Calls = append(step.Calls, script.Call{ID: fmt.Sprintf("%d.%d.%d", i, w, k), Tool: way.Tool, Args: args})
				}
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// ways are the calls by which a model may name a tool: by itself, through each forwarder, to each finder, and those
// that the configuration knows.
func (t *trial) ways(name string) []Way {
	out := []Way{{Tool: name, Args: "{}"}}
	for e := range t.seen.view.All() {
		if !e.Tool.Finder && e.Tool.Unwrap == nil {
			continue
		}
		for _, args := range naming(e.Tool, name) {
			out = append(out, Way{e.Tool.Name, args})
		}
	}
	if t.cfg.Ways == nil {
		return out
	}
	for _, w := range t.cfg.Ways(name) {
		if _, ok := t.seen.view.Lookup(w.Tool); ok {
			out = append(out, w)
		}
	}
	return out
}

// naming puts a name into each argument that takes a text. Of a forwarder only those count that it forwards by.
func naming(tool *toolview.Tool, name string) []string {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	var base map[string]json.RawMessage
	if json.Unmarshal(tool.Schema, &s) != nil || json.Unmarshal(minimal(tool, sample(tool, "closuretest")), &base) != nil {
		return nil
	}
	var out []string
	for _, p := range sorted(s.Properties) {
		if kind(s.Properties[p].Type) != "string" {
			continue
		}
		args := map[string]json.RawMessage{}
		for k, v := range base {
			args[k] = v
		}
		args[p] = json.RawMessage(jsonOf(name))
		text := jsonOf(args)
		if tool.Unwrap != nil {
			if in, err := tool.Unwrap(json.RawMessage(text)); err != nil || in.Name != name {
				continue
			}
		}
		out = append(out, text)
	}
	return out
}

// answers compares the results of the calls that calls made.
func (t *trial) answers(s *subject, how string, tools []string) {
	got := map[string]*message.Result{}
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			got[r.UseID] = r
		}
	}
	view := s.View()
	for i, name := range tools {
		for w, way := range t.ways(name) {
			r, typo := got[fmt.Sprintf("%d.%d.0", i, w)], got[fmt.Sprintf("%d.%d.1", i, w)]
			if r == nil || typo == nil {
				t.leak("", how+" "+name+" by "+way.Tool, "has no answer")
				continue
			}
			if e, ok := view.Lookup(way.Tool); ok && e.Tool.Unwrap == nil && e.Tool.Finder {
				t.finding(name, way.Tool, r, typo, view)
				continue
			}
			t.alike(how+" "+name+" by "+way.Tool, name, r, typo, view)
		}
	}
}

// suggestion is what an answer to an unknown name may add: visible names that are near.
var suggestion = regexp.MustCompile(` Did you mean [^?]*\?`)

var ticked = regexp.MustCompile("`([^`]+)`")

// alike compares two answers, the names put alike and the suggestions left out, which are to be of the view.
func (t *trial) alike(where, name string, got, typo *message.Result, view *toolview.View) {
	for _, s := range suggestion.FindAllString(got.Text(), -1) {
		for _, n := range ticked.FindAllStringSubmatch(s, -1) {
			if _, ok := view.Lookup(n[1]); !ok {
				t.leak("", where, "suggests %s, which is not in the view", n[1])
			}
		}
	}
	a, b := plain(got, name), plain(typo, misspell(name))
	if a != b {
		t.leak(t.ownerOf(name), where, "is answered unlike a misspelt name: %s", difference(b, a))
	}
}

// finding checks that a search for an absent name shows no more of it than the query did. Unlike a misspelt name it may
// find something, since a search goes by words; but that is something that the view has.
func (t *trial) finding(name, finder string, got, typo *message.Result, view *toolview.View) {
	where, m := "search for "+name+" by "+finder, scan(got.Text())
	switch {
	case count(got, name) > count(typo, misspell(name)):
		t.leak(t.ownerOf(name), where, "finds it")
	case plain(got, name) != plain(typo, misspell(name)) && !slices.ContainsFunc(names(view), func(n string) bool { return m.bare[n] }):
		t.leak(t.ownerOf(name), where, "is answered unlike a misspelt name: %s", difference(plain(typo, misspell(name)), plain(got, name)))
	}
	if tool := t.definition(name); tool != nil && strings.Contains(got.Text(), tool.Doc) {
		for e := range view.All() {
			if e.Tool.Doc == tool.Doc {
				return
			}
		}
		t.leak(t.ownerOf(name), where, "tells what it is for")
	}
}

// plain is an answer without its id, its suggestions and the name that it is about.
func plain(r *message.Result, name string) string {
	c := *r
	c.UseID, c.Structured = "", nil
	c.Parts = slices.Clone(r.Parts)
	for i := range c.Parts {
		c.Parts[i].Text = blank(suggestion.ReplaceAllString(c.Parts[i].Text, ""), name)
	}
	return jsonOf(c) + blank(escaped.ReplaceAllString(string(r.Structured), " "), name)
}

// escaped are the marks of JSON that would join the word behind them.
var escaped = regexp.MustCompile(`\\[nrt]`)

// blank puts one word for a name wherever it stands as a word.
func blank(text, name string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if w == name {
			return "NAME"
		}
		return w
	})
}

// count is how often a name stands in an answer as a word.
func count(r *message.Result, name string) int {
	n := 0
	for _, w := range word.FindAllString(r.Text()+" "+escaped.ReplaceAllString(string(r.Structured), " "), -1) {
		if w == name {
			n++
		}
	}
	return n
}

func (t *trial) ownerOf(tool string) string {
	if e, ok := t.base.view.Lookup(tool); ok {
		return e.Owner
	}
	if of, ok := t.aliases[tool]; ok {
		tool = of
	}
	return t.owners[tool]
}

func (t *trial) definition(tool string) *toolview.Tool {
	e, _ := t.base.view.Lookup(tool)
	return e.Tool
}

// inner asks for the names as a tool does that makes calls of its own.
func (t *trial) inner(view *toolview.View, tools []string) {
	for _, name := range tools {
		call, got := view.Inner("closuretest", toolview.Inner{Name: name})
		_, typo := view.Inner("closuretest", toolview.Inner{Name: misspell(name)})
		if call != nil || got == nil {
			t.leak(t.ownerOf(name), "inner call of "+name, "is possible")
			continue
		}
		t.alike("inner call of "+name, name, got, typo, view)
	}
}

// prompts sends each route and its misspelling, bare and with its owner's name.
func (t *trial) prompts(s *subject, routes []string) {
	for _, route := range routes {
		owner := t.routeOwner(route)
		for _, prefix := range []string{"", owner + ":"} {
			got, typo := t.answer(s, prefix, route), t.answer(s, prefix, misspell(route))
			if got != typo {
				t.leak(owner, "route /"+prefix+route, "is answered unlike a misspelt one: %s", difference(typo, got))
			}
		}
	}
}

// answer is what a prompt with a route is answered, one word put for its name, which need not be a word itself.
func (t *trial) answer(s *subject, prefix, route string) string {
	return blank(strings.ReplaceAll(t.ask(s, prefix+route), "/"+prefix+route, "/"+prefix+"NAME"), route)
}

func (t *trial) routeOwner(route string) string {
	if owner, ok := t.routes[route]; ok {
		return owner
	}
	return of(t.base.surface, session.OnRoute)["/"+route]
}

func (t *trial) ask(s *subject, route string) string {
	if err := s.turn("/" + route); err != nil {
		return err.Error()
	}
	h := s.Messages()
	return h[len(h)-1].Text()
}

// replay resumes a session that was created with the set closed and whose transcript used what it owned, under settings
// that open it all.
func (t *trial) replay(ctx context.Context, tools []string) {
	store := &memory.Store{}
	entries := slices.Clone(t.seen.journal[:1]) // created
	event := func(e message.Event) {
		e.Session = sessionID
		entries = append(entries, session.Entry{Kind: session.Happened, Event: &e})
	}
	event(message.Event{Kind: message.TurnStart, Message: message.Of(message.User, prompted)})
	reply := &message.Message{Role: message.Assistant, Parts: []message.Part{{Kind: message.Text, Text: said}}}
	for i, name := range tools {
		use := &message.Use{ID: fmt.Sprintf("old%d", i), Name: name, Args: json.RawMessage("{}")}
		reply.Parts = append(reply.Parts, message.Part{Kind: message.ToolUse, Use: use})
	}
	event(message.Event{Kind: message.Reply, Message: reply})
	for _, use := range reply.Uses() {
		res := message.Say(said)
		res.UseID = use.ID
		event(message.Event{Kind: message.CallEnd, Use: use, Result: res})
	}
	event(message.Event{Kind: message.TurnEnd, Reason: "done"})
	if err := store.Append(ctx, sessionID, entries...); err != nil {
		t.failed("journal", err)
		return
	}
	s, err := t.open(ctx, setup{store: store, resume: true, steps: t.calls(tools)})
	if err != nil {
		t.failed("resume", err)
		return
	}
	err = s.turn(prompted)
	t.answers(s, "replayed and called", tools)
	t.inner(s.View(), tools)
	for owner := range t.seen.gone {
		if n := s.led.opened(owner); n > 0 {
			t.leak(owner, "resume", "was opened, and the session was created without it")
		}
	}
	for _, f := range s.Surface() {
		if t.seen.gone[f.Owner] {
			t.leak(f.Owner, "resume: "+f.Surface+" "+f.Name, "is back")
		}
	}
	if err = s.end(err); err != nil {
		t.failed("resumed turn", err)
	}
}
