package middleware_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

func child(t testing.TB, c *middleware.Chain, fork bool) *middleware.Chain {
	t.Helper()
	k, err := c.Child(t.Context(), middleware.Env{Agent: middleware.Agent{Name: "scout", Fork: fork, Depth: 1}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = k.Close(context.Background()) })
	return k
}

func TestChildSharesInstancesAndClosesOnlyItsOwn(t *testing.T) {
	var log []string
	shared := logged(&log, "Shared", nil, nil)
	own := named("Own")
	own.Open = func(context.Context, middleware.Env) (*middleware.Instance, error) {
		in := &middleware.Instance{State: "parent", Close: func(context.Context) error { log = append(log, "close Own of parent"); return nil }}
		in.Child = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{State: env.Agent.Name + " " + env.Owner, Close: func(context.Context) error {
				log = append(log, "close Own of child")
				return nil
			}}, nil
		}
		return in, nil
	}
	c := chain(t, shared, own)
	k := child(t, c, false)
	a, _ := c.Link("Shared")
	b, _ := k.Link("Shared")
	require.Same(t, a.Instance, b.Instance)
	a, _ = c.Link("Own")
	b, _ = k.Link("Own")
	require.Equal(t, "parent", a.Instance.State)
	require.Equal(t, "scout Own", b.Instance.State)

	grand := child(t, k, false)
	b, _ = grand.Link("Own")
	require.Equal(t, "scout Own", b.Instance.State, "whose Child is nil, a grandchild shares")
	require.NoError(t, grand.Close(t.Context()))
	require.NoError(t, k.Close(t.Context()))
	require.NoError(t, k.Close(t.Context()))
	require.Equal(t, []string{"open Shared", "close Own of child"}, log)
	require.NoError(t, c.Close(t.Context()))
	require.Equal(t, []string{"open Shared", "close Own of child", "close Own of parent", "close Shared"}, log)
}

func TestRootOnlyStaysBehindInNamedChildrenAndComesAlongInForks(t *testing.T) {
	m := named("Root")
	m.RootOnly, m.Tools = true, tools("One")
	c := chain(t, m)
	for fork, status := range map[bool]middleware.Status{true: middleware.Live, false: middleware.Closed} {
		k := child(t, c, fork)
		l, _ := k.Link("Root")
		require.Equal(t, status, l.Fate.Status)
		live, closed := k.Bands()
		require.Equal(t, []int{map[bool]int{true: 1}[fork], map[bool]int{false: 1}[fork]}, []int{len(live), len(closed)})
		if !fork {
			l, _ = child(t, k, true).Link("Root")
			require.Equal(t, middleware.Closed, l.Fate.Status, "a fork of a child does not bring it back")
		}
	}
}

func denies(_ context.Context, _ []*toolview.Call, out []middleware.Verdict) {
	for i := range out {
		out[i] = middleware.Verdict{Reason: "no"}
	}
}

func TestChildKeepsEveryGateAndRewriterOfItsParent(t *testing.T) {
	for name, below := range map[string]middleware.Instance{
		"whose instance passes everything": {Hooks: middleware.Hooks{Gate: passing}},
		"whose instance has no gate":       {},
		"whose instance is unsupported":    {Unsupported: "not in children"},
	} {
		gate := with("Guard", middleware.Instance{Hooks: middleware.Hooks{Gate: denies}, Child: opens(below)})
		below.Hooks.Gate = nil
		rewriter := with("Hook", middleware.Instance{Hooks: middleware.Hooks{Rewrite: denies}, Child: opens(below)})
		for _, m := range []middleware.Middleware{gate, rewriter} {
			c := chain(t, m)
			require.Equal(t, middleware.Deny, judge(t, c, calls(t, "One"))[0].Decision)
			for _, fork := range []bool{false, true} {
				k := child(t, c, fork)
				require.Equal(t, middleware.Deny, judge(t, k, calls(t, "One"))[0].Decision, "%s %s", m.Name, name)
				require.Equal(t, middleware.Deny, judge(t, child(t, k, fork), calls(t, "One"))[0].Decision, "%s %s: grandchild", m.Name, name)
			}
		}
	}
}

func opens(in middleware.Instance) func(context.Context, middleware.Env) (*middleware.Instance, error) {
	return func(context.Context, middleware.Env) (*middleware.Instance, error) {
		c := in
		return &c, nil
	}
}

func TestChildsOwnGateIsAskedToo(t *testing.T) {
	c := chain(t, with("Guard", middleware.Instance{Hooks: middleware.Hooks{Gate: passing}, Child: opens(middleware.Instance{Hooks: middleware.Hooks{Gate: denies}})}))
	require.Equal(t, middleware.Pass, judge(t, c, calls(t, "One"))[0].Decision)
	require.Equal(t, middleware.Deny, judge(t, child(t, c, false), calls(t, "One"))[0].Decision)
}

func TestChildCannotBringAGateThatWasNotDeclared(t *testing.T) {
	c := chain(t, with("M", middleware.Instance{Child: opens(middleware.Instance{Hooks: middleware.Hooks{Gate: passing}})}))
	_, err := c.Child(t.Context(), middleware.Env{}, nil)
	require.EqualError(t, err, "middleware: M: declares Gates: false and its instance has a gate: true")
}

func TestWhatIsUnsupportedInAParentIsUnsupportedInItsChildren(t *testing.T) {
	opened := false
	c := chain(t, with("M", middleware.Instance{Unsupported: "no server", Child: func(context.Context, middleware.Env) (*middleware.Instance, error) {
		opened = true
		return &middleware.Instance{}, nil
	}}))
	l, _ := child(t, c, true).Link("M")
	require.Equal(t, middleware.Unsupported, l.Fate.Status)
	require.False(t, opened)
}

func TestFailingChildClosesWhatItOpenedAndLeavesTheParent(t *testing.T) {
	var log []string
	of := func(name string, fail error) middleware.Middleware {
		return with(name, middleware.Instance{
			Close: func(context.Context) error { log = append(log, "parent "+name); return nil },
			Child: func(context.Context, middleware.Env) (*middleware.Instance, error) {
				if fail != nil {
					return nil, fail
				}
				return &middleware.Instance{Close: func(context.Context) error { log = append(log, "child "+name); return nil }}, nil
			},
		})
	}
	c := chain(t, of("A", nil), of("B", nil), of("Bad", errBroken), of("Later", nil))
	k, err := c.Child(t.Context(), middleware.Env{}, nil)
	require.Nil(t, k)
	require.EqualError(t, err, "middleware: Bad: open: broken")
	require.Equal(t, []string{"child B", "child A"}, log)
}
