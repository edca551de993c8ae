package session_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func TestUnchangedStepReturnsTheSameViewAndAllocatesNothing(t *testing.T) {
	s := open(t, options(t, script.New(), withTools("A", echo("One", toolview.ReadOnly)), withDeferred("B", echo("Two", 0)), finder()))
	before := s.View()
	require.Same(t, before, s.View())
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = s.View() }))
	require.NoError(t, s.Pause("A"))
	require.NotSame(t, before, s.View())
}

func TestRewrittenCallIsJudgedTwice(t *testing.T) {
	var seen []string
	judge := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		seen = append(seen, string(c.Args()))
		if string(c.Args()) == `{"text":"evil"}` {
			return middleware.Verdict{Decision: middleware.Deny, Reason: "evil"}
		}
		return middleware.Verdict{Decision: middleware.Pass}
	})
	rewriter := with("Rewriter", middleware.Instance{Hooks: middleware.Hooks{
		Rewrite: func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
			for i := range calls {
				out[i] = middleware.Verdict{Decision: middleware.Allow, Args: json.RawMessage(`{"text":"evil"}`)}
			}
		},
	}})
	s := open(t, options(t, script.New(script.Do("One", `{"text":"good"}`), script.Say("done")),
		withTools("A", echo("One", 0)), judge, rewriter))
	turn(t, s, "go")
	require.Equal(t, []string{`{"text":"good"}`, `{"text":"evil"}`}, seen)
	require.Equal(t, []string{"Not run: evil."}, results(s))
}

func TestThreeDeferredCallsMakeOneApprovalRequest(t *testing.T) {
	ask := gate("Gate", func(*toolview.Call) middleware.Verdict {
		return middleware.Verdict{Decision: middleware.Ask, Reason: "look"}
	})
	o := options(t, script.New(
		script.Do("Exec", `{"name":"Two","arguments":{"text":"a"}}`, "Exec", `{"name":"Two","arguments":{"text":"b"}}`, "Exec", `{"name":"Two","arguments":{"text":"c"}}`),
		script.Say("done")), withDeferred("B", echo("Two", 0)), ask, finder())
	yes := &approver{allow: true}
	o.Approver = yes
	s := open(t, o)
	turn(t, s, "go")
	require.Equal(t, []string{"Two:a", "Two:b", "Two:c"}, results(s))
	require.Len(t, yes.requests, 1)
	require.Len(t, yes.requests[0], 3)
	require.Equal(t, "Two", yes.requests[0][0].Tool, "a person sees the inner call")
}

func TestChildKeepsAGateThatItsOwnInstanceLacks(t *testing.T) {
	g := gate("Gate", func(*toolview.Call) middleware.Verdict {
		return middleware.Verdict{Decision: middleware.Deny, Reason: "never"}
	})
	opened := g.Open
	g.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		in, err := opened(ctx, env)
		in.Child = func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{}, nil
		}
		return in, err
	}
	s := open(t, options(t, script.New(script.Do("One", `{}`), script.Say("done")), withTools("A", echo("One", 0)), g))
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	turn(t, fork, "go")
	require.Equal(t, []string{"Not run: never."}, results(fork))
}

func TestLeavingTheRangeLeavesOneResultForEachUse(t *testing.T) {
	leave := map[string]func(*session.Session, message.EventKind){
		"break": func(s *session.Session, at message.EventKind) {
			for e := range s.Prompt(t.Context(), session.Text("go")) {
				if e.Kind == at {
					break
				}
			}
		},
		"panic": func(s *session.Session, at message.EventKind) {
			require.PanicsWithValue(t, "mine", func() {
				for e := range s.Prompt(t.Context(), session.Text("go")) {
					if e.Kind == at {
						panic("mine")
					}
				}
			})
		},
	}
	for name, how := range leave {
		for _, at := range []message.EventKind{message.TextDelta, message.Reply, message.CallStart, message.CallEnd} {
			t.Run(name+" at "+string(at), func(t *testing.T) {
				first := script.Do("One", `{"text":"a"}`, "One", `{"text":"b"}`)
				first.Text = "on it"
				o := options(t, script.New(first, script.Say("done"), script.Say("again")), withTools("A", echo("One", 0)))
				s := open(t, o)
				how(s, at)
				paired(t, s.Messages())
				resumed, err := session.Resume(t.Context(), o, s.ID())
				require.NoError(t, err)
				defer resumed.Close(context.Background())
				require.Equal(t, plain(t, s.Messages()), plain(t, resumed.Messages()), "the journal tells the same")
				turn(t, s, "and now")
				paired(t, s.Messages())
			})
		}
	}
}

func plain(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b)
}
