package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// broken is a leaf that ends in the given way.
func broken(name string, how func(context.Context) (*message.Result, error)) toolview.Tool {
	t := echo(name, 0)
	t.Run = func(ctx context.Context, _ *toolview.Call) (*message.Result, error) { return how(ctx) }
	return t
}

func TestEveryUseHasOneResultHoweverItsCallEnds(t *testing.T) {
	deny := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		if c.Name() == "Denied" {
			return middleware.Verdict{Decision: middleware.Deny, Reason: "not this one"}
		}
		if c.Name() == "Asked" {
			return middleware.Verdict{Decision: middleware.Ask}
		}
		return middleware.Verdict{Decision: middleware.Pass}
	})
	tools := withTools("Tools", echo("Fine", 0), echo("Denied", 0), echo("Asked", 0),
		broken("Panics", func(context.Context) (*message.Result, error) { panic("boom") }),
		broken("Errs", func(context.Context) (*message.Result, error) { return nil, errors.New("disk on fire") }),
		broken("Nothing", func(context.Context) (*message.Result, error) { return nil, nil }),
		broken("Fails", func(context.Context) (*message.Result, error) { return message.Fail("no such file"), nil }),
	)
	want := map[string]string{
		"Fine":    "Fine:",
		"Denied":  "Not run: not this one.",
		"Asked":   "Not run: this call needs approval, and nobody is there to give it.",
		"Panics":  "`Panics` failed: Tools: tool Panics: panic: boom",
		"Errs":    "`Errs` failed: disk on fire",
		"Nothing": "`Nothing` returned nothing",
		"Fails":   "no such file",
		"Missing": "There is no tool `Missing`.",
	}
	for name, text := range want {
		t.Run(name+" alone", func(t *testing.T) {
			s := open(t, options(t, script.New(script.Do(name, `{}`), script.Say("done")), tools, deny))
			turn(t, s, "go")
			paired(t, s.Messages())
			require.Equal(t, []string{text}, results(s))
		})
		t.Run(name+" beside others", func(t *testing.T) {
			s := open(t, options(t, script.New(script.Do("Fine", `{}`, name, `{}`, "Fine", `{}`), script.Say("done")), tools, deny))
			turn(t, s, "go")
			paired(t, s.Messages())
			require.Equal(t, []string{"Fine:", text, "Fine:"}, results(s))
		})
	}
}

func TestUnshownToolGetsTheAnswerOfAMisspeltNameAndTheTurnGoesOn(t *testing.T) {
	ran := false
	secret := broken("Secret", func(context.Context) (*message.Result, error) { ran = true; return message.Say("ran"), nil })
	for what, o := range map[string]session.Options{
		"closed": func() session.Options {
			o := options(t, script.New(script.Do("Secret", `{}`), script.Say("on")), withTools("Hidden", secret), withTools("Shown", echo("Seen", 0)))
			o.Layers = closing("Hidden")
			return o
		}(),
		"denied": func() session.Options {
			o := options(t, script.New(script.Do("Secret", `{}`), script.Say("on")), withTools("Hidden", secret), withTools("Shown", echo("Seen", 0)))
			o.Lists.Deny = []toolview.Selector{{Text: "secret"}}
			return o
		}(),
		"not allowed": func() session.Options {
			o := options(t, script.New(script.Do("Secret", `{}`), script.Say("on")), withTools("Hidden", secret), withTools("Shown", echo("Seen", 0)))
			o.Lists.Allow = [][]toolview.Selector{{{Text: "Seen"}}}
			return o
		}(),
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t, o)
			events := turn(t, s, "go")
			require.Equal(t, []string{"There is no tool `Secret`."}, results(s))
			require.Equal(t, "on", s.Messages()[3].Text(), "the turn goes on")
			require.Equal(t, "done", events[len(events)-1].Reason)
			require.False(t, ran)
		})
	}
}

func TestErrorOfAnUnknownToolNamesOnlyVisibleTools(t *testing.T) {
	o := options(t, script.New(script.Do("Seem", `{}`), script.Say("on")), withTools("Hidden", echo("Seems", 0)), withTools("Shown", echo("Seen", 0)))
	s := open(t, o)
	turn(t, s, "go")
	require.Contains(t, joined(results(s)), "`Seems`", "presence first")
	o = options(t, script.New(script.Do("Seem", `{}`), script.Say("on")), withTools("Hidden", echo("Seems", 0)), withTools("Shown", echo("Seen", 0)))
	o.Layers = closing("Hidden")
	s = open(t, o)
	turn(t, s, "go")
	require.Equal(t, []string{"There is no tool `Seem`. Did you mean `Seen`?"}, results(s))
}

func TestCancelledTurnLeavesOneResultForEachUse(t *testing.T) {
	started := make(chan struct{}, 2)
	slow := broken("Slow", func(ctx context.Context) (*message.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	o := options(t, script.New(script.Do("Slow", `{}`, "Slow", `{}`), script.Say("later")), withTools("Tools", slow))
	s := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		<-started
		cancel()
	}()
	var last message.Event
	var failed error
	for e, err := range s.Prompt(ctx, session.Text("go")) {
		if err != nil {
			failed = err
			continue
		}
		last = e
	}
	require.ErrorIs(t, failed, context.Canceled)
	require.Equal(t, "cancelled", last.Reason)
	paired(t, s.Messages())
	turn(t, s, "and now")
}

func TestLateGateDeniesAndTheTurnGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		g := gate("Gate", func(*toolview.Call) middleware.Verdict {
			<-hang
			return middleware.Verdict{Decision: middleware.Allow}
		})
		o := options(t, script.New(script.Do("One", `{}`), script.Say("on")), withTools("Tools", echo("One", 0)), g)
		o.GateBudget = time.Minute
		s, err := session.New(t.Context(), o)
		require.NoError(t, err)
		turn(t, s, "go")
		require.Equal(t, []string{"Not run: Gate gave no verdict within 1m0s."}, results(s))
		require.Equal(t, "on", s.Messages()[3].Text())
		close(hang)
		require.NoError(t, s.Close(context.Background()))
	})
}

func TestArgumentsThatAreNoJSONKeepTheTranscriptWhole(t *testing.T) {
	model := func(_ context.Context, r *middleware.Request, _ middleware.Sink) (*message.Message, error) {
		if len(r.Messages) > 1 {
			return message.Of(message.Assistant, "on"), nil
		}
		return &message.Message{Parts: []message.Part{
			{Kind: message.ToolUse, Use: &message.Use{ID: "x", Name: "One", Args: json.RawMessage(`{"text":`)}},
			{Kind: message.ToolUse, Use: &message.Use{ID: "x", Name: "One", Args: json.RawMessage(`{}`)}},
		}}, nil
	}
	o := options(t, script.New(), withTools("Tools", echo("One", 0)))
	o.Models = func(string) (middleware.ModelFunc, error) { return model, nil }
	s := open(t, o)
	turn(t, s, "go")
	paired(t, s.Messages())
	plain(t, s.Messages())
	uses := s.Messages()[1].Uses()
	require.NotEqual(t, uses[0].ID, uses[1].ID, "an id that comes twice is made another")
	require.Contains(t, results(s)[0], "`One` was not run")
	require.Equal(t, "One:", results(s)[1])
}

func TestModelThatFailsEndsTheTurnAndTheNextOneWorks(t *testing.T) {
	s := open(t, options(t, script.New(script.Step{Error: "overloaded"}, script.Say("fine"))))
	var failed error
	for _, err := range s.Prompt(t.Context(), session.Text("go")) {
		failed = errors.Join(failed, err)
	}
	require.ErrorContains(t, failed, "overloaded")
	turn(t, s, "again")
	require.Equal(t, "fine", s.Messages()[2].Text())
}

func TestTurnEndsAtItsLimitOfSteps(t *testing.T) {
	o := options(t, script.New(script.Do("One", `{}`), script.Do("One", `{}`), script.Do("One", `{}`)), withTools("Tools", echo("One", 0)))
	o.MaxSteps = 2
	s := open(t, o)
	var failed error
	for _, err := range s.Prompt(t.Context(), session.Text("go")) {
		failed = errors.Join(failed, err)
	}
	require.ErrorIs(t, failed, session.ErrLimit)
	paired(t, s.Messages())
}

func TestOneTurnAtATime(t *testing.T) {
	s := open(t, options(t, script.New(script.Say("fine"))))
	for range s.Prompt(t.Context(), session.Text("go")) {
		for _, err := range s.Prompt(t.Context(), session.Text("me too")) {
			require.ErrorIs(t, err, session.ErrBusy)
		}
	}
}

func TestRejectionReachesTheModelWithItsMessage(t *testing.T) {
	g := gate("Gate", func(*toolview.Call) middleware.Verdict { return middleware.Verdict{Decision: middleware.Ask} })
	o := options(t, script.New(script.Do("One", `{}`), script.Say("on")), withTools("Tools", echo("One", 0)), g)
	o.Approver = refusing("use the other branch")
	s := open(t, o)
	turn(t, s, "go")
	require.Equal(t, []string{"Not run: the user rejected it: use the other branch."}, results(s))
}

type refusing string

func (r refusing) Approve(_ context.Context, q []session.Request) ([]session.Approval, error) {
	return []session.Approval{{Message: string(r)}}, nil
}

func TestCallThatEndsItsGoroutineCostsItsResultAlone(t *testing.T) {
	exits := broken("Exits", func(context.Context) (*message.Result, error) { runtime.Goexit(); return nil, nil })
	uses := make([]string, 0, 80)
	for range 20 {
		uses = append(uses, "Exits", `{}`, "Fine", `{}`)
	}
	s := open(t, options(t, script.New(script.Do(uses...), script.Say("done")), withTools("Tools", echo("Fine", 0), exits)))
	turn(t, s, "go")
	paired(t, s.Messages())
	got := results(s)
	require.Equal(t, "This call ended without a result.", got[0])
	require.Equal(t, "Fine:", got[39])
}
