package session_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

type empty struct{}

type words struct {
	Text string `json:"text,omitempty" doc:"what to say back"`
}

// echo is a leaf that says its text back.
func echo(name string, effects toolview.Effects) toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: "Says its text back.", Effects: effects,
	}, func(_ context.Context, _ any, c *toolview.Call, in words) (*message.Result, error) {
		return message.Say(c.Name() + ":" + in.Text), nil
	})
}

// withTools owns direct tools, withDeferred deferred ones.
func withTools(name string, tools ...toolview.Tool) middleware.Middleware {
	return middleware.Middleware{Name: name, Doc: "owns tools", Tools: toolview.MustSet(tools...)}
}

func withDeferred(name string, tools ...toolview.Tool) middleware.Middleware {
	return middleware.Middleware{Name: name, Doc: "owns deferred tools", Deferred: toolview.MustSet(tools...)}
}

// finder is a tool search without an index.
func finder() middleware.Middleware {
	type exec struct {
		Name      string          `json:"name" doc:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty" doc:"its arguments"`
	}
	search := echo("Find", toolview.Internal)
	search.Finder = true
	run := toolview.NewForwarder(toolview.Tool{Decl: toolview.Decl{Name: "Exec"}, Doc: "Runs a found tool.", Finder: true},
		func(in exec) (toolview.Inner, error) { return toolview.Inner{Name: in.Name, Args: in.Arguments}, nil })
	return middleware.Middleware{Name: "Finder", Doc: "finds deferred tools", Tools: toolview.MustSet(search, run)}
}

// gate asks judge about every call.
func gate(name string, judge func(*toolview.Call) middleware.Verdict) middleware.Middleware {
	return middleware.Middleware{
		Name: name, Doc: "judges", Gates: true,
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Hooks: middleware.Hooks{Gate: judging(judge)}}, nil
		},
	}
}

func judging(judge func(*toolview.Call) middleware.Verdict) func(context.Context, []*toolview.Call, []middleware.Verdict) {
	return func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
		for i, c := range calls {
			out[i] = judge(c)
		}
	}
}

// with makes a middleware of one instance.
func with(name string, in middleware.Instance) middleware.Middleware {
	return middleware.Middleware{
		Name: name, Doc: "a test's", Gates: in.Hooks.Gate != nil,
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			c := in
			return &c, nil
		},
	}
}

func suite(t testing.TB, list ...middleware.Middleware) *middleware.Suite {
	t.Helper()
	s, err := middleware.NewSuite(list...)
	require.NoError(t, err)
	return s
}

func options(t testing.TB, sc *script.Script, list ...middleware.Middleware) session.Options {
	t.Helper()
	return session.Options{
		Blueprint: middleware.Blueprint{Suite: suite(t, list...), Root: t.TempDir()},
		Models:    sc.Models, Store: &memory.Store{},
	}
}

func open(t testing.TB, o session.Options) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// closing is a layer that closes middlewares.
func closing(names ...string) []meta.Layer {
	l := meta.Layer{Name: "project"}
	for _, n := range names {
		l.Entries = append(l.Entries, meta.Entry{Key: n, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: 2}})
	}
	return []meta.Layer{l}
}

// turn plays one prompt and returns its events.
func turn(t testing.TB, s *session.Session, text string) []message.Event {
	t.Helper()
	var events []message.Event
	for e, err := range s.Prompt(t.Context(), session.Text(text)) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// results are the texts of the results of a session's last step that had any.
func results(s *session.Session) []string {
	h := s.Messages()
	for i := len(h) - 1; i >= 0; i-- {
		if rs := h[i].Results(); len(rs) > 0 {
			var out []string
			for _, r := range rs {
				out = append(out, r.Text())
			}
			return out
		}
	}
	return nil
}

// paired requires that every use of the transcript has exactly one result, right behind its reply.
func paired(t testing.TB, h []*message.Message) {
	t.Helper()
	for i, m := range h {
		uses := m.Uses()
		if len(uses) == 0 {
			continue
		}
		require.Less(t, i+1, len(h), "the last reply has uses without results")
		rs := h[i+1].Results()
		require.Len(t, rs, len(uses))
		for k, u := range uses {
			require.Equal(t, u.ID, rs[k].UseID)
		}
	}
}

// approver answers every request and keeps the requests.
type approver struct {
	allow    bool
	requests [][]session.Request
}

func (a *approver) Approve(_ context.Context, r []session.Request) ([]session.Approval, error) {
	a.requests = append(a.requests, r)
	out := make([]session.Approval, len(r))
	for i := range out {
		out[i].Allow = a.allow
	}
	return out, nil
}

func joined(s []string) string { return strings.Join(s, "\n") }

// names are the direct tools of a session in wire order.
func names(s *session.Session) []string {
	var out []string
	for _, t := range s.View().Direct() {
		out = append(out, t.Name)
	}
	return out
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// fresh is the same options for another session.
func fresh(o session.Options) session.Options {
	o.ID = ""
	return o
}
