package middleware_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type says struct {
	Text string `json:"text,omitempty" doc:"what to say"`
}

func tool(name string, aliases ...string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name, Aliases: aliases}, Doc: "Says its text."},
		func(_ context.Context, _ any, c *toolview.Call, in says) (*message.Result, error) {
			return message.Say(c.Name() + ":" + in.Text), nil
		})
}

func tools(names ...string) *toolview.Set {
	var list []toolview.Tool
	for _, n := range names {
		list = append(list, tool(n))
	}
	return toolview.MustSet(list...)
}

// named is a middleware that does nothing.
func named(name string) middleware.Middleware {
	return middleware.Middleware{Name: name, Doc: "a test's"}
}

// with is a middleware of one instance.
func with(name string, in middleware.Instance) middleware.Middleware {
	m := named(name)
	m.Gates = in.Hooks.Gate != nil
	m.Open = func(context.Context, middleware.Env) (*middleware.Instance, error) {
		c := in
		return &c, nil
	}
	return m
}

func suite(t testing.TB, list ...middleware.Middleware) *middleware.Suite {
	t.Helper()
	s, err := middleware.NewSuite(list...)
	require.NoError(t, err)
	return s
}

// state is the frozen map with these keys.
func state(t testing.TB, s *middleware.Suite, keys map[string]bool) *meta.State {
	t.Helper()
	l := meta.Layer{Name: "project"}
	for k, v := range keys {
		l.Entries = append(l.Entries, meta.Entry{Key: k, Value: v, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: 3}})
	}
	r, notes, err := meta.Resolve(s.Keys(), l)
	require.NoError(t, err)
	require.Empty(t, notes)
	frozen, notes := meta.Freeze(r, nil)
	require.Empty(t, notes)
	return frozen
}

// chain opens a suite of which everything is live.
func chain(t testing.TB, list ...middleware.Middleware) *middleware.Chain {
	t.Helper()
	c, _ := watched(t, list...)
	return c
}

// watched is chain with the faults that it reports. They are read when nothing runs any more.
func watched(t testing.TB, list ...middleware.Middleware) (*middleware.Chain, *faults) {
	t.Helper()
	f := &faults{all: make(chan middleware.Fault, 1000)}
	c, err := suite(t, list...).Open(t.Context(), middleware.Opening{Report: func(x middleware.Fault) { f.all <- x }})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, f
}

type faults struct{ all chan middleware.Fault }

func (f *faults) drain() []string {
	var out []string
	for len(f.all) > 0 {
		out = append(out, (<-f.all).Error())
	}
	slices.Sort(out)
	return out
}

// calls makes calls of visible tools.
func calls(t testing.TB, names ...string) []*toolview.Call {
	t.Helper()
	distinct := slices.Compact(slices.Sorted(slices.Values(names)))
	v := toolview.NewDeriver([]toolview.Band{{Owner: "Tools", Set: tools(distinct...)}}, nil, nil).View(&toolview.Policy{}, nil)
	var out []*toolview.Call
	for _, n := range names {
		c, bad := v.Call("u", n, []byte(`{"text":"x"}`))
		require.Nil(t, bad)
		out = append(out, c)
	}
	return out
}

var errBroken = errors.New("broken")
