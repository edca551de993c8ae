package middleware_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// events are the ways in which a chain runs its hooks, by the name that a fault gives them.
var events = map[string]func(context.Context, *middleware.Chain, *toolview.Call) error{
	"start": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error { c.Start(ctx); return nil },
	"end":   func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error { c.End(ctx); return nil },
	"input": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		return c.Input(ctx, &middleware.Input{})
	},
	"reply": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		c.Reply(ctx, &middleware.Step{}, message.Of(message.Assistant, "hi"))
		return nil
	},
	"result": func(ctx context.Context, c *middleware.Chain, call *toolview.Call) error {
		c.Result(ctx, call, message.Say("done"))
		return nil
	},
	"stop": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		c.Stop(ctx, &middleware.Step{})
		return nil
	},
	"history": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		c.History(ctx, &middleware.Step{})
		return nil
	},
	"contribute": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		c.Contribute(ctx, &middleware.Step{}, nil)
		return nil
	},
	"gate":    judged,
	"rewrite": judged,
	"wrap tool": func(ctx context.Context, c *middleware.Chain, call *toolview.Call) error {
		_, err := c.Tool(ctx, call)
		return err
	},
	"wrap model": func(ctx context.Context, c *middleware.Chain, _ *toolview.Call) error {
		m, err := c.Model(model)
		if err == nil {
			_, err = m(ctx, &middleware.Request{}, nil)
		}
		return err
	},
}

func judged(ctx context.Context, c *middleware.Chain, call *toolview.Call) error {
	j := c.NewJudge(0)
	defer j.Close()
	j.Calls(ctx, []*toolview.Call{call}, make([]middleware.Verdict, 1))
	return nil
}

func model(context.Context, *middleware.Request, middleware.Sink) (*message.Message, error) {
	return message.Of(message.Assistant, "hi"), nil
}

// hooked sets one hook, which calls run.
func hooked(hook string, run func() error) middleware.Instance {
	var in middleware.Instance
	h := &in.Hooks
	switch hook {
	case "start":
		h.Start = func(context.Context) error { return run() }
	case "end":
		h.End = func(context.Context) { _ = run() }
	case "input":
		h.Input = func(context.Context, *middleware.Input) error { return run() }
	case "reply":
		h.Reply = func(context.Context, *middleware.Step, *message.Message) { _ = run() }
	case "result":
		h.Result = func(context.Context, *toolview.Call, *message.Result) { _ = run() }
	case "stop":
		h.Stop = func(context.Context, *middleware.Step) (string, error) { return "", run() }
	case "history":
		h.History = func(_ context.Context, _ *middleware.Step, m []*message.Message) ([]*message.Message, error) {
			return m, run()
		}
	case "contribute":
		in.Contribute = func(context.Context, *middleware.Step, *prompt.Tail) error { return run() }
	case "gate":
		h.Gate = func(ctx context.Context, c []*toolview.Call, out []middleware.Verdict) {
			passing(ctx, c, out)
			_ = run()
		}
	case "rewrite":
		h.Rewrite = func(ctx context.Context, c []*toolview.Call, out []middleware.Verdict) {
			passing(ctx, c, out)
			_ = run()
		}
	case "wrap tool":
		h.WrapTool = func(next middleware.ToolFunc) middleware.ToolFunc {
			return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
				if err := run(); err != nil {
					return nil, err
				}
				return next(ctx, c)
			}
		}
	case "wrap model":
		h.WrapModel = func(next middleware.ModelFunc) middleware.ModelFunc {
			return func(ctx context.Context, r *middleware.Request, s middleware.Sink) (*message.Message, error) {
				if err := run(); err != nil {
					return nil, err
				}
				return next(ctx, r, s)
			}
		}
	}
	return in
}

func TestPanicOfEveryHookIsContainedAndItsOwnersName(t *testing.T) {
	for hook, fire := range events {
		t.Run(hook, func(t *testing.T) {
			ran := map[string]int{}
			list := []middleware.Middleware{
				with("Before", hooked(hook, func() error { ran["Before"]++; return nil })),
				with("Bad", hooked(hook, func() error { ran["Bad"]++; panic("oops") })),
				with("Behind", hooked(hook, func() error { ran["Behind"]++; return nil })),
			}
			if hook == "history" {
				list = list[1:2] // one owner of a chain may have it
			}
			c, faults := watched(t, list...)
			err := fire(t.Context(), c, calls(t, "One")[0])
			require.Equal(t, 1, ran["Bad"])
			told := faults.drain()
			if err != nil {
				told = append(told, err.Error())
			}
			require.Equal(t, []string{"Bad: " + hook + ": panic: oops"}, told)
			switch hook {
			case "history":
			case "input", "wrap tool", "wrap model", "rewrite":
				require.Zero(t, ran["Behind"], "it refuses, denies or fails")
			default:
				require.Equal(t, map[string]int{"Before": 1, "Bad": 1, "Behind": 1}, ran)
			}
		})
	}
}

func TestEveryHookOfTheContractIsListedAsSet(t *testing.T) {
	var none middleware.Hooks
	require.Empty(t, none.Set())
	for hook := range events {
		in := hooked(hook, func() error { return nil })
		want := 1
		if hook == "contribute" {
			want = 0
		}
		require.Len(t, in.Hooks.Set(), want, hook)
	}
}

func TestHookErrorIsReportedAndStopsNoOther(t *testing.T) {
	for _, hook := range []string{"start", "stop", "contribute"} {
		ran := 0
		c, faults := watched(t, with("Bad", hooked(hook, func() error { return errBroken })), with("Good", hooked(hook, func() error { ran++; return nil })))
		require.NoError(t, events[hook](t.Context(), c, nil))
		require.Equal(t, []string{"Bad: " + hook + ": broken"}, faults.drain())
		require.Equal(t, 1, ran, hook)
	}
}

func TestInputHooksExtendInOrderAndTheFirstErrorRefuses(t *testing.T) {
	adds := func(name string, err error) middleware.Middleware {
		return with(name, middleware.Instance{Hooks: middleware.Hooks{Input: func(_ context.Context, in *middleware.Input) error {
			in.Parts = append(in.Parts, message.Part{Kind: message.Text, Text: name})
			return err
		}}})
	}
	in := middleware.Input{Parts: []message.Part{{Kind: message.Text, Text: "hi "}}}
	require.NoError(t, chain(t, adds("A", nil), adds("B", nil)).Input(t.Context(), &in))
	require.Equal(t, "hi AB", in.Text())
	err := chain(t, adds("A", nil), adds("B", errBroken), adds("C", nil)).Input(t.Context(), &in)
	require.EqualError(t, err, "B: input: broken")
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, "hi ABAB", in.Text())
}

func TestFirstStopHookWithAWordContinuesTheTurn(t *testing.T) {
	says := func(name, text string) middleware.Middleware {
		return with(name, middleware.Instance{Hooks: middleware.Hooks{Stop: func(context.Context, *middleware.Step) (string, error) { return text, nil }}})
	}
	require.Equal(t, "go on", chain(t, says("A", ""), says("B", "go on"), says("C", "no")).Stop(t.Context(), &middleware.Step{}))
	require.Empty(t, chain(t, says("A", "")).Stop(t.Context(), &middleware.Step{}))
}

func TestHistoryThatFailsOrVanishesIsLeftAsItIs(t *testing.T) {
	all := []*message.Message{message.Of(message.User, "one"), message.Of(message.Assistant, "two")}
	step := &middleware.Step{Messages: all}
	for name, c := range map[string]struct {
		out   []*message.Message
		err   error
		want  []*message.Message
		fault []string
	}{
		"shorter": {all[1:], nil, all[1:], nil},
		"failing": {all[1:], errBroken, all, []string{"H: history: broken"}},
		"nothing": {nil, nil, all, []string{"H: history: left nothing of the conversation"}},
	} {
		h := func(context.Context, *middleware.Step, []*message.Message) ([]*message.Message, error) {
			return c.out, c.err
		}
		chain, faults := watched(t, with("H", middleware.Instance{Hooks: middleware.Hooks{History: h}}))
		require.Equal(t, c.want, chain.History(t.Context(), step), name)
		require.Equal(t, c.fault, faults.drain(), name)
	}
	require.Equal(t, all, chain(t, named("A")).History(t.Context(), step))
}

func TestContributionsComeInChainOrderUnderTheirOwnersAndAFailingOneLosesOnlyItsPart(t *testing.T) {
	adds := func(name string, err error, texts ...string) middleware.Middleware {
		return with(name, middleware.Instance{Contribute: func(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error {
			for _, x := range texts {
				tail.Add(x)
			}
			return err
		}})
	}
	c, faults := watched(t, adds("Z", nil, "z1", "", "z2"), adds("Bad", errBroken, "lost"), adds("A", nil, "a"), adds("Paused", nil, "p"))
	require.Equal(t, []prompt.Contribution{{Owner: "Z", Text: "z1"}, {Owner: "Z", Text: "z2"}, {Owner: "A", Text: "a"}},
		c.Contribute(t.Context(), &middleware.Step{}, map[string]bool{"Paused": true}))
	require.Equal(t, []string{"Bad: contribute: broken"}, faults.drain())
	require.Len(t, c.Contribute(t.Context(), &middleware.Step{}, nil), 4)
	require.Nil(t, chain(t, named("A")).Contribute(t.Context(), &middleware.Step{}, nil))
}

func TestPanickingRouteIsItsOwnersFault(t *testing.T) {
	_, err := middleware.RunRoute(t.Context(), "M", middleware.Route{
		RouteDecl: middleware.RouteDecl{Name: "go"},
		Run:       func(context.Context, string) (middleware.RouteReply, error) { panic("oops") },
	}, "")
	require.EqualError(t, err, "M: route go: panic: oops")
}
