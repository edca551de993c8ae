package session_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

func resume(t testing.TB, o session.Options, id string) *session.Session {
	t.Helper()
	s, err := session.Resume(t.Context(), o, id)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// dated owns a live text with the day in it.
func dated() middleware.Middleware {
	return middleware.Middleware{
		Name: "Dated", Doc: "says the day",
		Segments: []prompt.Segment{
			{ID: "intro", Text: "You work."},
			{ID: "day", Zone: prompt.Live, Text: "Today is {{day}}.", Vars: []string{"day"}},
		},
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Vars: map[string]string{"day": env.Now().Format(time.DateOnly)}}, nil
		},
	}
}

func TestResumedSessionSendsTheSameBytesAfterMidnight(t *testing.T) {
	sc := script.New(script.Say("one"), script.Say("two"), script.Say("three"))
	o := options(t, sc, dated(), withTools("Tools", echo("One", 0)))
	now := time.Date(2026, 1, 1, 23, 59, 0, 0, time.UTC)
	o.Now = func() time.Time { return now }
	s := open(t, o)
	turn(t, s, "go")
	now = now.Add(2 * time.Minute)
	turn(t, s, "go on")
	turn(t, resume(t, o, s.ID()), "and on")
	sent := sc.Sent()
	require.Contains(t, joined(sent[0].System), "2026-01-01")
	for _, r := range sent[1:] {
		require.Equal(t, sent[0].System, r.System)
		require.Equal(t, sent[0].Tools, r.Tools)
		require.Equal(t, sent[0].Messages, r.Messages[:len(sent[0].Messages)])
	}
	require.Equal(t, s.Digest(), resume(t, o, s.ID()).Digest())
}

func TestResumedSessionNeverGetsAWiderPolicy(t *testing.T) {
	hidden, shown := withTools("Hidden", echo("Secret", 0)), withTools("Shown", echo("Seen", 0), echo("Denied", 0))
	o := options(t, script.New(), hidden, shown)
	o.Layers = closing("Hidden")
	o.Lists.Deny = []toolview.Selector{{Text: "Denied"}}
	s := open(t, o)
	require.Equal(t, []string{"Seen"}, names(s))

	wider := o
	wider.Layers, wider.Lists = nil, toolview.Lists{}
	require.Equal(t, []string{"Denied", "Secret", "Seen"}, sorted(names(open(t, fresh(wider)))), "a new session has more")
	again := resume(t, wider, s.ID())
	require.Equal(t, []string{"Seen"}, names(again))
	require.Equal(t, s.Digest(), again.Digest())
}

func TestResumedSessionOpensNoMiddlewareThatItDidNotHave(t *testing.T) {
	o := options(t, script.New(), withTools("Old", echo("One", 0)), withTools("Gone", echo("Two", 0)))
	s := open(t, o)
	later := o
	later.Suite = suite(t, withTools("Old", echo("One", 0)), withTools("New", echo("Three", 0)))
	again := resume(t, later, s.ID())
	require.Equal(t, []string{"One"}, names(again))
	require.Len(t, again.Diagnostics(), 1)
	require.Equal(t, "missing_middleware", again.Diagnostics()[0].Code)
	require.Equal(t, "not part of this session when it was created", again.View().Explain("Three").Rule)
}

func TestResumedMiddlewareGetsItsFrozenPolicyAndItsValues(t *testing.T) {
	var got []string
	make := func(policy string) middleware.Middleware {
		return middleware.Middleware{
			Name: "Keeper", Doc: "keeps", Policy: json.RawMessage(policy),
			Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
				v, _, err := env.Store.Load(ctx, "k")
				got = append(got, string(env.Policy)+" "+string(v))
				if err == nil && v == nil {
					err = env.Store.Save(ctx, "k", []byte("kept"))
				}
				return &middleware.Instance{}, err
			},
		}
	}
	o := options(t, script.New(), make(`{"mode":"plan"}`))
	s := open(t, o)
	o.Suite = suite(t, make(`{"mode":"bypass"}`))
	resume(t, o, s.ID())
	require.Equal(t, []string{`{"mode":"plan"} `, `{"mode":"plan"} kept`}, got)
}

func TestSessionWhoseToolsChangedContinuesWithAResultForEveryPendingCall(t *testing.T) {
	store := &memory.Store{}
	o := options(t, script.New(script.Do("Two", `{}`), script.Say("on")), withTools("Tools", echo("One", 0), echo("Two", 0)))
	o.Store = store
	s := open(t, o)
	// The process died in the middle of a step: the reply is in the journal and its results are not.
	reply := &message.Message{Role: message.Assistant, Parts: []message.Part{
		{Kind: message.ToolUse, Use: &message.Use{ID: "a", Name: "One", Args: json.RawMessage(`{}`)}},
		{Kind: message.ToolUse, Use: &message.Use{ID: "b", Name: "Two", Args: json.RawMessage(`{}`)}},
	}}
	for _, e := range []message.Event{
		{Kind: message.TurnStart, Message: message.Of(message.User, "go")},
		{Kind: message.Reply, Message: reply},
	} {
		require.NoError(t, store.Append(t.Context(), s.ID(), session.Entry{Kind: session.Happened, Event: &e}))
	}
	o.Suite = suite(t, withTools("Tools", echo("One", 0)))
	again := resume(t, o, s.ID())
	paired(t, again.Messages())
	require.Contains(t, joined(results(again)), "Interrupted")
	turn(t, again, "go on")
	paired(t, again.Messages())
	require.Equal(t, []string{"There is no tool `Two`."}, results(again))
	require.Equal(t, plain(t, again.Messages()), plain(t, resume(t, o, s.ID()).Messages()))
}

func TestPauseSurvivesResume(t *testing.T) {
	o := options(t, script.New(), withTools("Tools", echo("One", 0)), withTools("More", echo("Two", 0)))
	s := open(t, o)
	require.NoError(t, s.Pause("More"))
	require.Equal(t, []string{"One"}, names(resume(t, o, s.ID())))
}

func TestEditingSettingsChangesNothingInARunningSession(t *testing.T) {
	o := options(t, script.New(script.Say("a")), withTools("Tools", echo("One", 0)), withTools("More", echo("Two", 0)))
	layers := []meta.Layer{{Name: "project", Entries: []meta.Entry{{Key: "More", Value: true}}}}
	o.Layers = layers
	s := open(t, o)
	before, digest := s.View(), s.Digest()
	layers[0].Entries[0].Value = false
	turn(t, s, "go")
	require.Same(t, before, s.View())
	require.Equal(t, digest, s.Digest())
	require.Equal(t, []string{"One"}, names(open(t, fresh(o))), "a new session sees the change")
}

func TestOptionLayerBeatsTheSettingsBeforeAnythingIsOpened(t *testing.T) {
	opened := 0
	counted := middleware.Middleware{Name: "Plugin", Doc: "counts", Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
		opened++
		return &middleware.Instance{}, nil
	}}
	o := options(t, script.New(), counted)
	o.Layers = []meta.Layer{
		{Name: "global", Entries: []meta.Entry{{Key: "Plugin", Value: true}}},
		{Name: "project", Entries: []meta.Entry{{Key: "Plugin", Value: true}}},
	}
	open(t, o)
	require.Equal(t, 1, opened)
	o.Layers = append(o.Layers, meta.Layer{Name: "option", Entries: []meta.Entry{{Key: "Plugin"}}})
	open(t, fresh(o))
	require.Equal(t, 1, opened)
}

func TestJournalThatIsNoSessionIsRefused(t *testing.T) {
	o := options(t, script.New())
	_, err := session.Resume(t.Context(), o, "nobody")
	require.ErrorIs(t, err, session.ErrNotFound)
	require.NoError(t, o.Store.Append(t.Context(), "x", session.Entry{Kind: session.Happened}))
	_, err = session.Resume(t.Context(), o, "x")
	require.ErrorContains(t, err, "frozen state")
	require.NoError(t, o.Store.Append(t.Context(), "y", session.Entry{Kind: "riddle"}))
	_, err = session.Resume(t.Context(), o, "y")
	require.ErrorContains(t, err, "riddle")
}

func TestJournalSurvivesJSON(t *testing.T) {
	o := options(t, script.New(script.Do("One", `{"text":"x"}`), script.Say("done"), script.Say("more")), dated(), withTools("Tools", echo("One", 0)))
	s := open(t, o)
	turn(t, s, "go")
	require.NoError(t, s.Pause("Tools"))
	entries, err := o.Store.Load(t.Context(), s.ID())
	require.NoError(t, err)
	var back []session.Entry
	require.NoError(t, json.Unmarshal([]byte(plain(t, entries)), &back))
	o.Store = &memory.Store{}
	require.NoError(t, o.Store.Append(t.Context(), s.ID(), back...))
	again := resume(t, o, s.ID())
	require.Equal(t, plain(t, s.Messages()), plain(t, again.Messages()))
	require.Equal(t, s.Digest(), again.Digest())
	require.Equal(t, s.System(), again.System())
}

func TestFrozenStateOfAnUnknownVersionIsRefused(t *testing.T) {
	s := open(t, options(t, script.New()))
	text := plain(t, s.Frozen())
	var f session.Frozen
	require.NoError(t, json.Unmarshal([]byte(text), &f))
	var loose map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &loose))
	loose["version"] = 99
	require.ErrorContains(t, json.Unmarshal([]byte(plain(t, loose)), &f), "version 99")
}

func TestChildIsNotResumedAsAMainSession(t *testing.T) {
	o := options(t, script.New(), withTools("Tools", echo("One", 0)), spawner(map[string]toolview.Spawn{"none": {Agent: "none", Tools: []string{}}}))
	s := open(t, o)
	k, err := s.Agent(t.Context(), "none")
	require.NoError(t, err)
	require.Empty(t, names(k))
	_, err = session.Resume(t.Context(), fresh(o), k.ID())
	require.ErrorContains(t, err, "it is a child of "+s.ID())
}

func TestSessionIsNotResumedWithoutAGateThatItHad(t *testing.T) {
	o := options(t, script.New(), withTools("Tools", echo("One", 0)), gate("Gate", func(*toolview.Call) middleware.Verdict {
		return middleware.Verdict{Decision: middleware.Deny}
	}))
	s := open(t, o)
	resume(t, o, s.ID())
	o.Suite = suite(t, withTools("Tools", echo("One", 0)))
	_, err := session.Resume(t.Context(), o, s.ID())
	require.ErrorContains(t, err, "Gate judged its calls")
}

func TestStartRunsOnceAProcessAndNotAgainForChildren(t *testing.T) {
	starts, ends := 0, 0
	m := with("Watch", middleware.Instance{Hooks: middleware.Hooks{
		Start: func(context.Context) error { starts++; return nil },
		End:   func(context.Context) { ends++ },
	}})
	o := options(t, script.New(script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d")), m)
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	turn(t, s, "go")
	turn(t, s, "go")
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	turn(t, fork, "go")
	require.NoError(t, s.Close(context.Background()))
	require.Equal(t, []int{1, 1}, []int{starts, ends})
	turn(t, resume(t, o, s.ID()), "go")
	require.Equal(t, 2, starts)
}

func TestServerThatComesUpBetweenTwoRunsIsDeferred(t *testing.T) {
	live := &toolview.Live{}
	m := middleware.Middleware{
		Name: "Server", Doc: "publishes tools", Dynamic: "x__",
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Tools: live}, nil
		},
	}
	sc := script.New(script.Say("a"), script.Say("b"))
	o := options(t, sc, m, withTools("Tools", echo("Zed", 0)), withDeferred("More", echo("Two", 0)), finder())
	s := open(t, o)
	turn(t, s, "go")
	live.Publish(toolview.MustSet(echo("x__late", 0)))
	turn(t, resume(t, o, s.ID()), "go")
	require.Equal(t, sc.Sent()[0].Tools, sc.Sent()[1].Tools)
	require.Contains(t, sc.Sent()[1].Deferred, "x__late")
}
