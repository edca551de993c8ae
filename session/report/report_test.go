package report_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/session/report"
	"github.com/metaharness/peri/toolview"
)

func tool(name string, e toolview.Effects) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Does it.", Effects: e},
		func(context.Context, any, *toolview.Call, struct{}) (*message.Result, error) {
			return message.Say("done"), nil
		})
}

type roster struct{}

func (roster) Agent(string) (toolview.Spawn, bool) { return toolview.Spawn{}, false }
func (roster) List() []middleware.AgentInfo {
	return []middleware.AgentInfo{{Name: "helper", Origin: "project", File: ".peri/agents/helper.md"}}
}

func opens(in middleware.Instance) func(context.Context, middleware.Env) (*middleware.Instance, error) {
	return func(context.Context, middleware.Env) (*middleware.Instance, error) {
		c := in
		return &c, nil
	}
}

// suite has one middleware for every way to be or not to be.
func suite(t *testing.T) *middleware.Suite {
	t.Helper()
	show := middleware.RouteDecl{Name: "show", Doc: "Shows."}
	gate := func(_ context.Context, _ []*toolview.Call, out []middleware.Verdict) {
		for i := range out {
			out[i].Decision = middleware.Pass
		}
	}
	s, err := middleware.NewSuite(
		middleware.Middleware{
			Name: "Texts", Doc: "texts",
			Segments: []prompt.Segment{
				{ID: "first", Text: "First."},
				{ID: "named", Zone: prompt.Live, Text: "Call me {{who}}.", Vars: []string{"who"}},
			},
		},
		middleware.Middleware{
			Name: "Gate", Doc: "judges", Gates: true,
			Open: opens(middleware.Instance{Hooks: middleware.Hooks{Gate: gate}}),
		},
		middleware.Middleware{
			Name: "Works", Doc: "works", Tools: toolview.MustSet(tool("Make", toolview.Edits), tool("Look", toolview.ReadOnly)),
			Segments: []prompt.Segment{{ID: "about", Zone: prompt.Live, Text: "Make things.", Needs: []string{"Make"}}},
			Routes:   []middleware.RouteDecl{show},
			Open: opens(middleware.Instance{Agents: roster{}, Routes: []middleware.Route{{
				RouteDecl: show, Run: func(context.Context, string) (middleware.RouteReply, error) { return middleware.RouteReply{}, nil },
			}}}),
		},
		middleware.Middleware{Name: "Leans", Doc: "leans", Requires: []string{"Works"}, Deferred: toolview.MustSet(tool("Later", 0))},
		middleware.Middleware{
			Name: "Lacks", Doc: "lacks", Tools: toolview.MustSet(tool("Never", 0)),
			Open: opens(middleware.Instance{Unsupported: "set lacks.server"}),
		},
	)
	require.NoError(t, err)
	return s
}

func open(t *testing.T, b middleware.Blueprint) *session.Session {
	t.Helper()
	b.Suite = suite(t)
	s, err := session.New(context.Background(), session.Options{
		Blueprint: b, Models: func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func closing(names ...string) []meta.Layer {
	l := meta.Layer{Name: "project"}
	for i, n := range names {
		l.Entries = append(l.Entries, meta.Entry{Key: n, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: i + 2, Column: 3}})
	}
	return []meta.Layer{l}
}

func states(r *report.Report) map[string]string {
	out := map[string]string{}
	for _, m := range r.Middlewares {
		out[m.Name] = m.State
	}
	return out
}

func TestEveryStateIsToldWithItsCause(t *testing.T) {
	r := report.New(open(t, middleware.Blueprint{}), nil, nil)
	require.Equal(t, map[string]string{"Texts": "live", "Gate": "live", "Works": "live", "Leans": "live", "Lacks": "unsupported"}, states(r))
	require.Equal(t, []string{"first"}, r.Middlewares[0].Segments)
	require.Equal(t, []string{"Look", "Make"}, r.Middlewares[2].Direct)
	require.Equal(t, []string{"show"}, r.Middlewares[2].Routes)
	require.Equal(t, []string{"gate"}, r.Middlewares[1].Hooks)
	require.Equal(t, "helper", r.Agents[0].Name)

	r = report.New(open(t, middleware.Blueprint{Layers: closing("Works")}), nil, nil)
	require.Equal(t, map[string]string{"Texts": "live", "Gate": "live", "Works": "closed", "Leans": "cascaded", "Lacks": "unsupported"}, states(r))
	require.Equal(t, "settings.yaml:2:3", r.Middlewares[2].Origin.String())
	require.Contains(t, r.Middlewares[3].Cause, "requires Works")
	require.Empty(t, r.Agents)
	require.Empty(t, r.Routes)
}

func TestWithoutAGateTheUnattendedToolsAreCounted(t *testing.T) {
	codes := func(r *report.Report) (out []string) {
		for _, d := range r.Diagnostics {
			out = append(out, d.Code+": "+d.Message)
		}
		return out
	}
	require.NotContains(t, strings.Join(codes(report.New(open(t, middleware.Blueprint{}), nil, nil)), "\n"), "unattended")
	r := report.New(open(t, middleware.Blueprint{Layers: closing("Gate")}), nil, nil)
	require.Contains(t, strings.Join(codes(r), "\n"), "unattended: no gate judges calls: 2 tools")
}

func TestListsAreNeverNull(t *testing.T) {
	empty, err := middleware.NewSuite()
	require.NoError(t, err)
	s, err := session.New(context.Background(), session.Options{
		Blueprint: middleware.Blueprint{Suite: empty}, Models: func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	for _, r := range []*report.Report{report.New(s, nil, nil), report.Closed(empty, s.State(), nil, nil), report.New(open(t, middleware.Blueprint{}), nil, nil)} {
		b, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, strings.Replace(string(b), `"tools":null}`, "", 1), "null", "an agent without a list is all that may be")
	}
}

func TestUnopenedIsThePlanOfTheSameState(t *testing.T) {
	s := open(t, middleware.Blueprint{Layers: closing("Works")})
	r := report.Closed(s.Chain().Suite(), s.State(), nil, nil)
	require.Equal(t, map[string]string{"Texts": "live", "Gate": "live", "Works": "closed", "Leans": "cascaded", "Lacks": "live"}, states(r),
		"whether a precondition holds only an opened one knows")
	require.Len(t, r.Hidden, 3)
}

func TestExplainSaysWhoDecidedAndWhatToWrite(t *testing.T) {
	deny := []toolview.Selector{{Text: "Look", Origin: meta.Origin{Layer: "global", File: "home.yaml", Line: 9, Column: 5}}}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first.md"), []byte("Another.\n"), 0o600))
	layers := closing("Works")
	layers[0].Entries = append(layers[0].Entries, meta.Entry{Key: "first", Value: true, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: 7}})
	opened := open(t, middleware.Blueprint{Lists: toolview.Lists{Deny: deny}})
	closed := open(t, middleware.Blueprint{
		Layers: layers, Documents: meta.Documents{{Layer: "project", Dir: dir, FS: os.DirFS(dir)}},
	})
	for _, c := range []struct {
		name, kind, because, origin, change string
		s                                   *session.Session
		there                               bool
	}{
		{"Works", "middleware", "by default", "default", "write Works: false under meta", opened, true},
		{"Works", "middleware", "meta.Works: false", "settings.yaml:2:3", "write Works: true at settings.yaml:2:3", closed, false},
		{"Leans", "middleware", "requires Works", "settings.yaml:2:3", "open what it requires: Works", closed, false},
		{"Lacks", "middleware", "set lacks.server", "default", "set lacks.server", opened, false},
		{"Make", "tool", "its owner is live", "default", "write Make under tools.deny, or Works: false under meta", opened, true},
		{"make", "tool", "gate exists", "settings.yaml:2:3", "write Works: true at", closed, false},
		{"Look", "tool", "gate denied: tools.deny has Look", "home.yaml:9:5", "remove Look from tools.deny at home.yaml:9:5", opened, false},
		{"Never", "tool", "gate supported", "default", "set lacks.server", opened, false},
		{"first", "segment", "the built-in text", "default", "write .peri/meta/first.md", opened, true},
		{"first", "segment", "the override", "first.md", "write first: false at settings.yaml:7", closed, true},
		{"named", "segment", "nothing fills it: {{who}}", "default", "provide", opened, false},
		{"about", "segment", "its owner is not there", "settings.yaml:2:3", "write Works: true", closed, false},
		{"/show", "route", "its owner is live", "default", "write Works: false", opened, true},
		{"show", "route", "its owner is not there", "settings.yaml:2:3", "write Works: true", closed, false},
		{"helper", "agent", "the project definition", ".peri/agents/helper.md", "enabled: false", opened, true},
		{meta.BuiltInSubagents, "policy", "by default", "default", "write BuiltInSubagents: false", opened, true},
	} {
		found, _ := report.Explain(c.s, c.name)
		require.Len(t, found, 1, c.name)
		f := found[0]
		require.Equal(t, c.kind, f.Kind, c.name)
		require.Equal(t, c.there, f.There, c.name)
		require.Contains(t, f.Because, c.because, c.name)
		require.Contains(t, f.Origin.String(), c.origin, c.name)
		require.Contains(t, f.Change, c.change, c.name)
	}
	found, _ := report.Explain(opened, "Works")
	require.Contains(t, found[0].Closing, "Works: ")
	require.Contains(t, found[0].Closing, "tool 2")
	require.Contains(t, found[0].Closing, "closes Leans too")
	found, _ = report.Explain(closed, "Works")
	require.Empty(t, found[0].Closing, "there is nothing to close")
	found, _ = report.Explain(opened, "Ma*")
	require.Equal(t, "selector", found[0].Kind)
	require.Contains(t, found[0].Because, "it selects Make")
	found, _ = report.Explain(closed, "Ma*")
	require.False(t, found[0].There)
	require.Contains(t, found[0].Because, "also Make")

	found, near := report.Explain(opened, "Mkae")
	require.Empty(t, found)
	require.Equal(t, []string{"Make"}, near)
}
