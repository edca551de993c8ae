package goal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/goal"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// worker has a tool that does something, the same for the same text, and one that fails.
func worker() middleware.Middleware {
	type in struct {
		Text string `json:"text" doc:"what to do"`
	}
	tool := func(name string, result *message.Result) toolview.Tool {
		return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Works.", Effects: toolview.Internal},
			func(context.Context, any, *toolview.Call, in) (*message.Result, error) { return result, nil })
	}
	return middleware.Middleware{
		Name: "WorkerMiddleware", Doc: "works",
		Tools: toolview.MustSet(tool("Work", message.Say("done")), tool("Break", message.Fail("broken"))),
	}
}

func options(t *testing.T, sc *script.Script, store session.Store, rounds int) session.Options {
	t.Helper()
	suite, err := middleware.NewSuite(worker(), goal.New(goal.Options{Rounds: rounds}))
	require.NoError(t, err)
	return session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Store: store, Models: sc.Models, MaxSteps: 40,
	}
}

func start(t *testing.T, rounds int, steps ...script.Step) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), options(t, script.New(steps...), nil, rounds))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// turn is one turn: how often it was continued, what it said at last, the notices, and its error.
type turn struct {
	continued int
	last      string
	notices   string
	err       error
}

func prompt(t *testing.T, s *session.Session, text string) turn {
	t.Helper()
	var out turn
	for e, err := range s.Prompt(t.Context(), session.Text(text)) {
		switch {
		case err != nil:
			out.err = err
		case e.Kind == message.TurnStart && e.Reason == "continued":
			out.continued++
			require.Contains(t, e.Message.Text(), "The goal is still open: ")
		case e.Kind == message.Reply:
			out.last = e.Message.Text()
		case e.Kind == message.Note && e.Owner == goal.Name:
			out.notices += e.Text + "\n"
		}
	}
	return out
}

const (
	set  = `{"goal":"all tests pass"}`
	done = `{"done":true}`
)

func work(i int) script.Step { return script.Do("Work", fmt.Sprintf(`{"text":"%d"}`, i)) }

func TestATurnGoesOnUntilTheGoalIsMet(t *testing.T) {
	without := prompt(t, start(t, 0, script.Say("there"), script.Say("never asked")), "go")
	require.Zero(t, without.continued)
	require.Equal(t, "there", without.last)

	s := start(t, 0, script.Do("Goal", set), work(1), script.Say("one"), work(2), script.Say("two"), script.Do("Goal", done), script.Say("met"), script.Say("never asked"))
	got := prompt(t, s, "go")
	require.NoError(t, got.err)
	require.Equal(t, 2, got.continued)
	require.Equal(t, "met", got.last)
	require.Empty(t, got.notices)
}

func TestWithoutProgressTheTurnEndsAndTheGoalStays(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []script.Step
		want  int
	}{
		"words alone":          {[]script.Step{script.Do("Goal", set), script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d")}, 2},
		"the same call again":  {[]script.Step{script.Do("Goal", set), work(1), script.Say("a"), work(1), script.Say("b"), work(1), script.Say("c"), work(1), script.Say("d")}, 2},
		"calls that fail":      {[]script.Step{script.Do("Goal", set), script.Do("Break", `{"text":"x"}`), script.Say("a"), script.Do("Break", `{"text":"y"}`), script.Say("b"), script.Do("Break", `{"text":"z"}`), script.Say("c"), script.Say("d")}, 2},
		"asking for the goal":  {[]script.Step{script.Do("Goal", set), script.Say("a"), script.Do("Goal", `{}`), script.Say("b"), script.Do("Goal", `{}`), script.Say("c"), script.Say("d")}, 2},
		"work between silence": {[]script.Step{script.Do("Goal", set), script.Say("a"), script.Say("b"), work(1), script.Say("c"), script.Say("d"), script.Say("e"), script.Say("f")}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, 0, tc.steps...)
			got := prompt(t, s, "go")
			require.NoError(t, got.err)
			require.Equal(t, tc.want, got.continued)
			require.Contains(t, got.notices, "the goal stays open: nothing new was done")
			require.Equal(t, "The goal is open: all tests pass", prompt(t, s, "/goal").last)
		})
	}
}

func TestContinuationsAreBoundForEachPrompt(t *testing.T) {
	steps := []script.Step{script.Do("Goal", set)}
	for i := range 20 {
		steps = append(steps, work(i), script.Say(fmt.Sprint("end ", i)))
	}
	s := start(t, 3, steps...)
	got := prompt(t, s, "go")
	require.Equal(t, 3, got.continued)
	require.Equal(t, "end 3", got.last)
	require.Contains(t, got.notices, "continued 3 times")
	require.Equal(t, 3, prompt(t, s, "go on").continued, "the user's next prompt counts anew")

	endless := []script.Step{script.Do("Goal", set)}
	for i := range 200 {
		endless = append(endless, work(i), script.Say("x"))
	}
	got = prompt(t, start(t, 1000, endless...), "go")
	require.ErrorIs(t, got.err, session.ErrLimit, "the session's own limit holds besides")
}

func TestAGoalSurvivesAResume(t *testing.T) {
	store := &memory.Store{}
	o := options(t, script.New(script.Do("Goal", set), script.Say("a"), script.Say("b"), script.Say("c")), store, 0)
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, 2, prompt(t, s, "go").continued)
	require.NoError(t, s.Close(t.Context()))

	o.Models = script.New(work(1), script.Say("one"), script.Do("Goal", done), script.Say("met")).Models
	again, err := session.Resume(t.Context(), o, s.ID())
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close(context.Background())) }()
	require.Equal(t, "The goal is open: all tests pass", prompt(t, again, "/goal").last)
	got := prompt(t, again, "go on")
	require.Equal(t, 1, got.continued)
	require.Equal(t, "met", got.last)
	require.Equal(t, "No goal is open.", prompt(t, again, "/goal").last)
}

func TestTheRouteShowsSetsAndClears(t *testing.T) {
	s := start(t, 0, work(1), script.Say("a"), script.Do("Goal", done), script.Say("met"), script.Say("plain"))
	require.Equal(t, "No goal is open.", prompt(t, s, "/goal").last)
	require.Equal(t, "No goal was open.", prompt(t, s, "/goal clear").last)
	got := prompt(t, s, "/goal ship it")
	require.Equal(t, 1, got.continued)
	require.Equal(t, "met", got.last)

	s = start(t, 1, script.Say("a"), script.Say("b"), script.Say("plain"), script.Say("never asked"))
	require.Equal(t, 1, prompt(t, s, "/goal ship it").continued)
	require.Equal(t, "The goal is given up: ship it", prompt(t, s, "/goal clear").last)
	require.Zero(t, prompt(t, s, "hello").continued)
}

func TestAChildIsNotKeptAtItsParentsGoal(t *testing.T) {
	m := goal.New(goal.Options{})
	inst, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	_, err = inst.Routes[0].Run(t.Context(), "ship it")
	require.NoError(t, err)
	ends := func(in *middleware.Instance) string {
		band := toolview.Band{Owner: m.Name, Set: m.Deferred, State: in.State}
		text, err := in.Hooks.Stop(t.Context(), &middleware.Step{View: toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil)})
		require.NoError(t, err)
		return text
	}
	for _, a := range []middleware.Agent{{Name: "explore"}, {Fork: true}} {
		child, err := inst.Child(t.Context(), middleware.Env{Agent: a})
		require.NoError(t, err)
		require.Empty(t, ends(child))
		_, err = child.Routes[0].Run(t.Context(), "the child's own")
		require.NoError(t, err)
		require.Contains(t, ends(child), "the child's own")
	}
	require.Contains(t, ends(inst), "ship it")
}

func TestWithoutItsToolNothingIsContinued(t *testing.T) {
	for name, off := range map[string]func(*session.Session) error{
		"denied": func(s *session.Session) error { return s.Deny("goal") },
		"paused": func(s *session.Session) error { return s.Pause(goal.Name) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, 1, script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d"))
			require.Equal(t, 1, prompt(t, s, "/goal ship it").continued)
			require.NoError(t, off(s))
			require.Zero(t, prompt(t, s, "hello").continued)
		})
	}
}

// broken is a store that fails, or holds what is no goal.
type broken struct{ save error }

func (b broken) Load(context.Context, string) ([]byte, bool, error) { return []byte("{"), true, nil }
func (b broken) Save(context.Context, string, []byte) error         { return b.save }

func TestAStoreThatFailsCostsTheGoalAlone(t *testing.T) {
	var told []string
	inst, err := goal.New(goal.Options{}).Open(t.Context(), middleware.Env{
		Store: broken{errors.New("disk full")}, Notice: func(s string) { told = append(told, s) },
	})
	require.NoError(t, err)
	require.Len(t, told, 1)
	_, err = inst.Routes[0].Run(t.Context(), "ship it")
	require.ErrorContains(t, err, "disk full")
	r, err := inst.Routes[0].Run(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "No goal is open.", r.Text)
}

func TestTheReminderIsInTheTailWhileAGoalIsOpen(t *testing.T) {
	sc := script.New(script.Do("Goal", set), script.Do("Goal", done), script.Say("met"))
	var tails []string
	o := options(t, sc, nil, 0)
	o.Models = func(name string) (middleware.ModelFunc, error) {
		model, err := sc.Models(name)
		return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
			var b strings.Builder
			for _, c := range r.Tail {
				b.WriteString(c.Text)
			}
			tails = append(tails, b.String())
			return model(ctx, r, sink)
		}, err
	}
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	prompt(t, s, "go")
	require.Len(t, tails, 3)
	require.Empty(t, tails[0])
	require.Contains(t, tails[1], "The goal of this session is open: all tests pass")
	require.Empty(t, tails[2])
}

func TestItClosesWhole(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: []middleware.Middleware{worker(), goal.New(goal.Options{})}})
}
