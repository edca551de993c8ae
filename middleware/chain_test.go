package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// logged is a middleware that writes down when it is opened and closed.
func logged(log *[]string, name string, openErr, closeErr error) middleware.Middleware {
	m := named(name)
	m.Open = func(context.Context, middleware.Env) (*middleware.Instance, error) {
		*log = append(*log, "open "+name)
		return &middleware.Instance{Close: func(context.Context) error {
			*log = append(*log, "close "+name)
			return closeErr
		}}, openErr
	}
	return m
}

func TestOpenRunsInOrderAndCloseInReverseOnceAndJoins(t *testing.T) {
	var log []string
	panics := with("C", middleware.Instance{Close: func(context.Context) error { log = append(log, "close C"); panic("oops") }})
	s := suite(t, logged(&log, "A", nil, errBroken), logged(&log, "B", nil, nil), panics, logged(&log, "Closed", nil, nil))
	c, err := s.Open(t.Context(), middleware.Opening{State: state(t, s, map[string]bool{"Closed": false})})
	require.NoError(t, err)
	require.Equal(t, []string{"open A", "open B"}, log)
	for range 2 {
		err = c.Close(t.Context())
		require.EqualError(t, err, "middleware: C: close: panic: oops\nmiddleware: A: close: broken")
		require.ErrorIs(t, err, errBroken)
	}
	require.Equal(t, []string{"open A", "open B", "close C", "close B", "close A"}, log, "a closed one is never opened")
}

func TestFailingOpenClosesWhatWasOpenedAndNamesTheOne(t *testing.T) {
	gateless := func(log *[]string) middleware.Middleware {
		m := logged(log, "Bad", nil, nil)
		m.Gates = true
		return m
	}
	for name, c := range map[string]struct {
		bad  func(*[]string) middleware.Middleware
		want string
		own  bool // it returned an instance, which is closed too
	}{
		"an error": {func(l *[]string) middleware.Middleware { return logged(l, "Bad", errBroken, nil) }, "middleware: Bad: open: broken", true},
		"a panic": {func(*[]string) middleware.Middleware {
			return opening("Bad", func() (*middleware.Instance, error) { panic("oops") })
		}, "middleware: Bad: open: panic: oops", false},
		"no instance": {func(*[]string) middleware.Middleware {
			return opening("Bad", func() (*middleware.Instance, error) { return nil, nil })
		}, "middleware: Bad: open: returned no instance", false},
		"a gate that is missing": {gateless, "middleware: Bad: declares Gates: true and its instance has a gate: false", true},
		"a gate that is not declared": {func(*[]string) middleware.Middleware {
			return opening("Bad", func() (*middleware.Instance, error) {
				return &middleware.Instance{Hooks: middleware.Hooks{Gate: passing}}, nil
			})
		}, "middleware: Bad: declares Gates: false and its instance has a gate: true", false},
		"a rewriter that children would lose": {func(*[]string) middleware.Middleware {
			m := opening("Bad", func() (*middleware.Instance, error) {
				return &middleware.Instance{Hooks: middleware.Hooks{Rewrite: passing}}, nil
			})
			m.RootOnly = true
			return m
		}, "middleware: Bad: is RootOnly and brings a rewriter, which may deny: children would lose it", false},
		"a route without a Run": {func(*[]string) middleware.Middleware {
			m := opening("Bad", func() (*middleware.Instance, error) {
				return &middleware.Instance{Routes: []middleware.Route{{RouteDecl: middleware.RouteDecl{Name: "go"}}}}, nil
			})
			m.Routes = []middleware.RouteDecl{{Name: "go", Doc: "goes"}}
			return m
		}, `middleware: Bad: brings the route "go" without a Run`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			s := suite(t, logged(&log, "A", nil, nil), logged(&log, "B", nil, errors.New("stuck")), c.bad(&log), logged(&log, "Later", nil, nil))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			got, err := s.Open(ctx, middleware.Opening{})
			require.Nil(t, got)
			require.EqualError(t, err, c.want+"\nmiddleware: B: close: stuck")
			want := []string{"close B", "close A"}
			if c.own {
				want = append([]string{"close Bad"}, want...)
			}
			require.Equal(t, want, log[len(log)-len(want):])
			require.NotContains(t, log, "open Later")
		})
	}
}

func opening(name string, f func() (*middleware.Instance, error)) middleware.Middleware {
	m := named(name)
	m.Open = func(context.Context, middleware.Env) (*middleware.Instance, error) { return f() }
	return m
}

func TestSecondHistoryFailsOpenAndClosesAll(t *testing.T) {
	var log []string
	h := func(_ context.Context, _ *middleware.Step, m []*message.Message) ([]*message.Message, error) {
		return m, nil
	}
	one := with("One", middleware.Instance{Hooks: middleware.Hooks{History: h}})
	two := with("Two", middleware.Instance{Hooks: middleware.Hooks{History: h}})
	c, err := suite(t, logged(&log, "A", nil, nil), one, two).Open(t.Context(), middleware.Opening{})
	require.Nil(t, c)
	require.EqualError(t, err, "middleware: Two rewrites the history, which One does already")
	require.Equal(t, []string{"open A", "close A"}, log)
	_, err = suite(t, one).Open(t.Context(), middleware.Opening{})
	require.NoError(t, err)
}

func TestResumeOpensWhatTheSessionHadWithThePoliciesItHad(t *testing.T) {
	seen := map[string]string{}
	remember := func(name string, requires ...string) middleware.Middleware {
		m := named(name)
		m.Policy, m.Requires = json.RawMessage(`"now"`), requires
		m.Open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			seen[env.Owner] = string(env.Policy)
			return &middleware.Instance{}, nil
		}
		return m
	}
	s := suite(t, remember("New"), remember("Kept"), remember("Bare"), remember("Needy", "New"))
	_, err := s.Open(t.Context(), middleware.Opening{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"New": `"now"`, "Kept": `"now"`, "Bare": `"now"`, "Needy": `"now"`}, seen)

	clear(seen)
	c, err := s.Open(t.Context(), middleware.Opening{
		Only:     map[string]bool{"Kept": true, "Bare": true, "Needy": true},
		Policies: map[string]json.RawMessage{"Kept": json.RawMessage(`"then"`)},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Kept": `"then"`, "Bare": ""}, seen, "one that had no policy has none")
	l, _ := c.Link("New")
	require.Equal(t, middleware.Fate{Name: "New", Status: middleware.Closed, Cause: "not part of this session when it was created"}, l.Fate)
	l, _ = c.Link("Needy")
	require.Equal(t, middleware.Fate{Name: "Needy", Status: middleware.Cascaded, Cause: "requires New, which is closed"}, l.Fate)
}

func TestUnsupportedMiddlewareKeepsItsGateAndNothingElse(t *testing.T) {
	build := func(reason string) *middleware.Chain {
		ran := func(what string) { panic(what + " ran") }
		m := with("M", middleware.Instance{
			Unsupported: reason,
			Vars:        map[string]string{},
			Hooks: middleware.Hooks{
				Gate: func(_ context.Context, _ []*toolview.Call, out []middleware.Verdict) {
					out[0] = middleware.Verdict{Decision: middleware.Ask}
				},
				Start: func(context.Context) error { ran("start"); return nil },
				Stop:  func(context.Context, *middleware.Step) (string, error) { return "more", nil },
				Input: func(context.Context, *middleware.Input) error { return errBroken },
			},
			Routes:     []middleware.Route{{RouteDecl: middleware.RouteDecl{Name: "go"}, Run: reply("M")}},
			Contribute: func(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error { tail.Add("x"); return nil },
			Agents:     roster{"scout"},
		})
		m.Tools, m.Routes = tools("One"), []middleware.RouteDecl{{Name: "go", Doc: "goes"}}
		m.Segments = []prompt.Segment{{ID: "01_m", Text: "about M"}}
		return chain(t, m)
	}
	facts := func(c *middleware.Chain) []any {
		live, _ := c.Bands()
		v := toolview.NewDeriver(live, nil, nil).View(&toolview.Policy{}, nil)
		_, _, route := c.Route("go", nil)
		_, agent := c.Agent("scout", nil)
		return []any{
			len(v.Direct()), len(c.Base().Segments()), route, agent, c.Stop(t.Context(), &middleware.Step{}),
			len(c.Contribute(t.Context(), &middleware.Step{}, nil)), c.Input(t.Context(), &middleware.Input{}) != nil,
		}
	}
	require.Equal(t, []any{1, 1, true, true, "more", 1, true}, facts(build("")))
	lame := build("no server")
	require.Equal(t, []any{0, 0, false, false, "", 0, false}, facts(lame))
	require.Equal(t, middleware.Ask, judge(t, lame, calls(t, "One"))[0].Decision)
	l, _ := lame.Link("M")
	require.Equal(t, middleware.Fate{Name: "M", Status: middleware.Unsupported, Cause: "no server"}, l.Fate)
	live, _ := lame.Bands()
	x := toolview.NewDeriver(live, nil, nil).View(&toolview.Policy{}, nil).Explain("One")
	require.Equal(t, []any{toolview.GateSupported, "no server"}, []any{x.Gate, x.Rule})
}

type roster []string

func (r roster) Agent(name string) (toolview.Spawn, bool) {
	for _, n := range r {
		if n == name {
			return toolview.Spawn{Agent: n}, true
		}
	}
	return toolview.Spawn{}, false
}

func (r roster) List() []middleware.AgentInfo { return nil }

func reply(text string) func(context.Context, string) (middleware.RouteReply, error) {
	return func(_ context.Context, args string) (middleware.RouteReply, error) {
		return middleware.RouteReply{Text: text + " " + args}, nil
	}
}

func TestFirstOfTheChainHasTheBareRouteAndTheOtherItsQualifiedName(t *testing.T) {
	family := func(name string, routes ...string) middleware.Middleware {
		in := middleware.Instance{}
		for _, r := range routes {
			in.Routes = append(in.Routes, middleware.Route{RouteDecl: middleware.RouteDecl{Name: r}, Run: reply(name)})
		}
		m := with(name, in)
		m.RouteFamily = true
		return m
	}
	// A greedy one tries to take the qualified name of another.
	c := chain(t, family("A", "status", "B:secret", "x:y"), family("B", "status", "secret"))
	none, paused := map[string]bool(nil), map[string]bool{"A": true}
	for _, want := range []struct {
		name   string
		paused map[string]bool
		owner  string
	}{
		{"status", none, "A"},
		{"A:status", none, "A"},
		{"B:status", none, "B"},
		{"B:secret", none, "B"},
		{"x:y", none, "A"},
		{"A:x:y", none, "A"},
		{"status", paused, "B"},
		{"A:status", paused, ""},
		{"x:y", paused, ""},
		{"A:secret", none, ""},
		{"nothing", none, ""},
		{"", none, ""},
	} {
		owner, r, ok := c.Route(want.name, want.paused)
		require.Equal(t, want.owner != "", ok, want.name)
		require.Equal(t, want.owner, owner, want.name)
		if ok {
			got, err := middleware.RunRoute(t.Context(), owner, r, "now")
			require.NoError(t, err)
			require.Equal(t, want.owner+" now", got.Text)
		}
	}
}

func TestClosedMiddlewaresToolsAreKnownForExplanationsAlone(t *testing.T) {
	a := named("A")
	a.Tools, a.Deferred = tools("One"), tools("Two")
	s := suite(t, a)
	c, err := s.Open(t.Context(), middleware.Opening{State: state(t, s, map[string]bool{"A": false})})
	require.NoError(t, err)
	live, closed := c.Bands()
	require.Empty(t, live)
	require.Len(t, closed, 2)
	v := toolview.NewDeriver(live, closed, nil).View(&toolview.Policy{}, nil)
	require.Equal(t, toolview.Explanation{Name: "Two", Owner: "A", Gate: toolview.GateExists, Rule: "meta.A: false"}, v.Explain("two"))
	live, closed = chain(t, a).Bands()
	require.Len(t, live, 2)
	require.Empty(t, closed)
}

func TestEnvReachesEachMiddlewareUnderItsOwnName(t *testing.T) {
	var notices []string
	asks := func(name string) middleware.Middleware {
		m := named(name)
		m.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			env.Notice("from " + env.Owner)
			env.Log().Info("nobody hears it")
			_, _, err := env.Store.Load(ctx, "k")
			return &middleware.Instance{}, err
		}
		return m
	}
	var stores []string
	_, err := suite(t, asks("A"), asks("B")).Open(t.Context(), middleware.Opening{
		Notice: func(owner, text string) { notices = append(notices, owner+": "+text) },
		Store:  func(owner string) middleware.Store { stores = append(stores, owner); return nothing{} },
	})
	require.NoError(t, err)
	require.Equal(t, []string{"A: from A", "B: from B"}, notices)
	require.Equal(t, []string{"A", "B"}, stores)
}

type nothing struct{}

func (nothing) Load(context.Context, string) ([]byte, bool, error) { return nil, false, nil }
func (nothing) Save(context.Context, string, []byte) error         { return nil }
