package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// continuer owns a flow that continues a child by its id.
func continuer() middleware.Middleware {
	type in struct {
		ID     string `json:"id" doc:"which run"`
		Prompt string `json:"prompt" doc:"what"`
	}
	return withTools("Continuer", toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Continue"}, Doc: "Continues a run.", Effects: toolview.Internal},
		func(_ context.Context, _ any, _ *toolview.Call, in in, h toolview.Host) (*message.Result, error) {
			return h.Spawn(toolview.Spawn{Resume: in.ID, Prompt: in.Prompt})
		}))
}

func narrow() map[string]toolview.Spawn {
	return map[string]toolview.Spawn{"helper": {Agent: "helper", Body: "You help.", Origin: "agents/helper.md", Tools: []string{"One", "Keep"}, Mode: "plan", MaxTurns: 7}}
}

// keeper owns a leaf that counts with its session.
func keeper() middleware.Middleware {
	keep := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Keep"}, Doc: "Counts."},
		func(ctx context.Context, st middleware.Store, _ *toolview.Call, _ empty) (*message.Result, error) {
			was, _, err := st.Load(ctx, "n")
			if err != nil {
				return nil, err
			}
			is := string(was) + "I"
			return message.Say(is), st.Save(ctx, "n", []byte(is))
		})
	var open func(context.Context, middleware.Env) (*middleware.Instance, error)
	open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		return &middleware.Instance{State: env.Store, Child: open}, nil
	}
	return middleware.Middleware{Name: "Keeper", Doc: "keeps", Tools: toolview.MustSet(keep), Open: open}
}

func TestAChildContinuesAfterItsParentWasResumedInAnotherProcess(t *testing.T) {
	for _, how := range []string{"named", "fork", "background"} {
		t.Run(how, func(t *testing.T) {
			start := map[string]string{"named": `{"agent":"helper","prompt":"go"}`, "fork": `{"prompt":"go"}`, "background": `{"agent":"helper","prompt":"go","background":true}`}[how]
			o := options(t, script.For(map[string][]script.Step{
				"":       {script.Say("before"), script.Do("Spawn", start), script.Do("Keep", `{}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Say("done")},
				"helper": {script.Do("Keep", `{}`), script.Say("first answer")},
			}), withTools("Tools", echo("One", 0), echo("Two", 0)), keeper(), spawner(narrow()), continuer())
			if how == "fork" {
				o.Models = script.New(script.Say("before"), script.Do("Spawn", start), script.Do("Keep", `{}`), script.Say("first answer"), script.Say("done")).Models
			}
			o.ID = "main"
			s := open(t, o)
			turn(t, s, "first")
			turn(t, s, "second")
			require.NoError(t, s.Close(t.Context()))

			// Another process, whose definition of the agent is wider: the child is what it was.
			wide := map[string]toolview.Spawn{"helper": {Agent: "helper", Body: "You do anything."}}
			child := []script.Step{script.Do("Two", `{"text":"x"}`), script.Do("Keep", `{}`), script.Say("second answer")}
			more := map[string][]script.Step{"": {
				script.Do("Continue", `{"id":"main.1","prompt":"more"}`), script.Do("Continue", `{"id":"main.1","prompt":"and more"}`),
				script.Do("Spawn", `{"agent":"helper","prompt":"another"}`), script.Say("done"),
			}, "helper": append(child, script.Say("third answer"), script.Say("a new one"))}
			if how == "fork" {
				more[""] = append(append(append(more[""][:1:1], child...), more[""][1], script.Say("third answer")), more[""][2:]...)
			}
			later := script.For(more)
			o.Models = later.Models
			o.Suite = suite(t, withTools("Tools", echo("One", 0), echo("Two", 0)), keeper(), spawner(wide), continuer())
			again := resume(t, o, "main")
			events := turn(t, again, "again")
			paired(t, again.Messages())

			var heard []string
			for _, m := range again.Messages() {
				for _, r := range m.Results() {
					heard = append(heard, r.Text())
				}
			}
			require.Contains(t, joined(heard), "second answer")
			require.Contains(t, joined(heard), "third answer")
			require.Contains(t, joined(heard), "[agent run main.2]", "a new child takes nobody's id")
			var kept, two string
			for _, e := range events {
				if e.Kind != message.CallEnd || e.Session != "main.1" {
					continue
				}
				switch e.Use.Name {
				case "Keep":
					kept = e.Result.Text()
				case "Two":
					two = e.Result.Text()
				}
			}
			require.Equal(t, "II", kept, "what its middlewares kept is there")
			if how == "fork" {
				require.Equal(t, "Two:x", two)
			} else {
				require.Equal(t, "There is no tool `Two`.", two, "its own lists hold")
			}
			for _, sent := range later.Sent() {
				if sent.Agent == "helper" && !strings.Contains(joined(sent.System), "You do anything.") {
					require.Contains(t, joined(sent.System), "You help.")
					require.NotContains(t, sent.Tools, "Two")
					require.Equal(t, "go", sent.Messages[0].Text(), "it remembers")
				}
			}
			if how == "fork" {
				k, err := o.Store.Load(t.Context(), "main.1")
				require.NoError(t, err)
				require.Equal(t, 3, k[0].From, "its parent's messages stay its parent's")
			}
			_, err := session.Resume(t.Context(), o, "main.1")
			require.ErrorContains(t, err, "child of main")
		})
	}
}

func TestAResultIsCollectedAfterAResume(t *testing.T) {
	o := options(t, script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"go","background":true}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Say("done")},
		"helper": {script.Say("the answer")},
	}), spawner(helper))
	o.ID = "main"
	s := open(t, o)
	turn(t, s, "go")
	require.NoError(t, s.Close(t.Context()))
	created, err := o.Store.Load(t.Context(), "main.1")
	require.NoError(t, err)
	cut := message.Event{Kind: message.TurnStart, Message: message.Of(message.User, "go")}
	require.NoError(t, o.Store.Append(t.Context(), "main.2", created[0], session.Entry{Kind: session.Happened, Event: &cut}))
	require.NoError(t, o.Store.Append(t.Context(), "other.1", session.Entry{Kind: session.Created, Frozen: created[0].Frozen, Parent: "other", Spawn: created[0].Spawn}))
	require.NoError(t, o.Store.Append(t.Context(), "main.old", session.Entry{Kind: session.Created, Frozen: created[0].Frozen, Parent: "main"}))
	o.Models = script.New(script.Do("Collect", `{"id":"main.1"}`, "Collect", `{"id":"main.2"}`, "Collect", `{"id":"main.9"}`, "Collect", `{"id":"other.1"}`, "Collect", `{"id":"main.old"}`, "Collect", `{"id":"main"}`), script.Say("done")).Models
	again := resume(t, o, "main")
	turn(t, again, "go")
	got := results(again)
	require.Equal(t, "the answer\n[agent run main.1]", got[0])
	require.Contains(t, got[1], "interrupted")
	for i, id := range []string{"main.9", "other.1", "main.old", "main"} {
		require.Equal(t, `there is no agent run "`+id+`" in this session`, got[i+2])
	}
}

// priced is a model that says what every reply costs.
func priced(sc *script.Script) func(string) (middleware.ModelFunc, error) {
	return func(string) (middleware.ModelFunc, error) {
		return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
			m, err := sc.Model(ctx, r, sink)
			if m != nil {
				m.Usage = &message.Usage{Input: 10, Output: 1, CacheRead: 5}
			}
			return m, err
		}, nil
	}
}

func ofKind(events []message.Event, kind message.EventKind) []message.Event {
	var out []message.Event
	for _, e := range events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func TestWhatChildrenCostIsPartOfTheirParentsTurn(t *testing.T) {
	agents := map[string]toolview.Spawn{"helper": {Agent: "helper"}, "deep": {Agent: "deep"}}
	sc := script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"a"}`, "Spawn", `{"agent":"deep","prompt":"b"}`), script.Say("done"), script.Say("again")},
		"helper": {script.Say("x"), script.Say("y")},
		"deep":   {script.Do("Spawn", `{"agent":"helper","prompt":"c"}`), script.Say("z")},
	})
	o := options(t, sc, spawner(agents))
	o.Models, o.ID = priced(sc), "main"
	s := open(t, o)
	events := turn(t, s, "go")
	cost := map[string]int{}
	for _, e := range ofKind(events, message.ChildEnd) {
		cost[e.Agent] += e.Usage.Input
		require.NotNil(t, e.Result)
		require.Equal(t, "done", e.Reason)
		require.NotEmpty(t, e.Parent)
	}
	require.Equal(t, map[string]int{"helper": 20, "deep": 30}, cost, "a child's is that of its own turn with its children's")
	ends := ofKind(events, message.TurnEnd)
	require.Equal(t, "main", ends[len(ends)-1].Session)
	require.Equal(t, &message.Usage{Input: 60, Output: 6, CacheRead: 30}, ends[len(ends)-1].Usage)
	events = turn(t, s, "go")
	require.Equal(t, 10, ofKind(events, message.TurnEnd)[0].Usage.Input, "the next turn begins anew")

	free := open(t, options(t, script.New(script.Say("done")), spawner(agents)))
	require.Nil(t, ofKind(turn(t, free, "go"), message.TurnEnd)[0].Usage)
}

func TestWhatABackgroundChildCostIsCountedOnceInTheTurnThatHearsOfItsEnd(t *testing.T) {
	sc := script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"a","background":true}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Say("done"), script.Say("again")},
		"helper": {script.Say("x")},
	})
	o := options(t, sc, spawner(helper))
	o.Models, o.ID = priced(sc), "main"
	s := open(t, o)
	events := append(turn(t, s, "go"), turn(t, s, "again")...)
	starts, ends := ofKind(events, message.ChildStart), ofKind(events, message.ChildEnd)
	require.Len(t, starts, 1)
	require.Len(t, ends, 1)
	require.Equal(t, "main.1", ends[0].Session)
	require.Equal(t, starts[0].Parent, ends[0].Parent)
	require.Equal(t, "call_1_1", ends[0].Parent)
	total := 0
	for _, e := range ofKind(events, message.TurnEnd) {
		total += e.Usage.Input
	}
	require.Equal(t, 50, total)
}

func TestProgressOfAChildNamesItAndTheCallThatStartedIt(t *testing.T) {
	talk := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Talk"}, Doc: "Talks."},
		func(ctx context.Context, _ any, c *toolview.Call, _ empty) (*message.Result, error) {
			c.Progress(ctx, "half way")
			return message.Say("said"), nil
		})
	for how, start := range map[string]string{"foreground": `{"agent":"helper","prompt":"a"}`, "background": `{"agent":"helper","prompt":"a","background":true}`} {
		sc := script.For(map[string][]script.Step{
			"":       {script.Do("Spawn", start), script.Do("Talk", `{}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Say("done")},
			"helper": {script.Do("Talk", `{}`), script.Say("x")},
		})
		o := options(t, sc, withTools("Tools", talk), spawner(helper))
		o.ID = "main"
		own := 0
		for _, e := range ofKind(turn(t, open(t, o), "go"), message.Progress) {
			require.Equal(t, "half way", e.Text)
			if e.Session == "main" {
				own++
				require.Empty(t, e.Agent)
				continue
			}
			require.Equal(t, "helper", e.Agent, how)
			require.Equal(t, "call_1_1", e.Parent, how)
			require.Equal(t, "main.1", e.Session, how)
			own += 10
		}
		require.Equal(t, 11, own, how)
	}
}

// slow is a leaf that waits until its call is over; began tells of each.
func slow(began chan<- string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Slow"}, Doc: "Waits."},
		func(ctx context.Context, _ any, c *toolview.Call, in words) (*message.Result, error) {
			began <- in.Text
			<-ctx.Done()
			return nil, ctx.Err()
		})
}

func TestTheHostCancelsOneChildAndTheOthersGoOn(t *testing.T) {
	began := make(chan string, 4)
	agents := map[string]toolview.Spawn{"stuck": {Agent: "stuck"}, "helper": {Agent: "helper"}}
	sc := script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"a"}`, "Spawn", `{"agent":"stuck","prompt":"b"}`), script.Do("Continue", `{"id":"main.2","prompt":"on"}`, "Continue", `{"id":"main.1","prompt":"on"}`), script.Say("done")},
		"stuck":  {script.Do("Slow", `{"text":"x"}`), script.Say("went on")},
		"helper": {script.Say("helped"), script.Say("helped again"), script.Say("helped again")},
	})
	o := options(t, sc, withTools("Tools", slow(began)), spawner(agents), continuer())
	o.ID = "main"
	s := open(t, o)
	require.ErrorIs(t, s.CancelChild("main.1"), session.ErrNotFound)
	stuck := ""
	var told []string
	for e, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
		switch {
		case e.Kind == message.CallStart && e.Use.Name == "Slow":
			stuck = e.Session
			<-began
			require.NoError(t, s.CancelChild(stuck))
		case e.Kind == message.ChildEnd:
			told = append(told, e.Agent+": "+e.Reason+": "+e.Result.Text())
		}
	}
	paired(t, s.Messages())
	require.NotEmpty(t, stuck)
	require.Contains(t, joined(told), "stuck: cancelled: stuck did not finish: session: the turn was cancelled: the host cancelled this agent run\n[agent run "+stuck+"]")
	require.Contains(t, joined(told), "helper: done: helped\n")
	require.Contains(t, joined(told), "stuck: done: went on\n", "it can be continued")
	require.ErrorContains(t, s.CancelChild(stuck), "nothing that could be cancelled")
	require.Equal(t, "done", s.Messages()[len(s.Messages())-1].Text(), "the parent goes on")
}

func TestTheHostCancelsAChildInTheBackgroundAndAGrandchild(t *testing.T) {
	began := make(chan string, 4)
	agents := map[string]toolview.Spawn{"stuck": {Agent: "stuck"}, "deep": {Agent: "deep"}}
	sc := script.For(map[string][]script.Step{
		"":      {script.Do("Spawn", `{"agent":"stuck","prompt":"b","background":true}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Do("Spawn", `{"agent":"deep","prompt":"c"}`), script.Say("done")},
		"stuck": {script.Do("Slow", `{"text":"x"}`), script.Do("Slow", `{"text":"y"}`)},
		"deep":  {script.Do("Spawn", `{"agent":"stuck","prompt":"b"}`), script.Say("deep done")},
	})
	o := options(t, sc, withTools("Tools", slow(began)), spawner(agents))
	o.ID = "main"
	s := open(t, o)
	cancelled := make(chan error, 2)
	go func() {
		for _, id := range []string{"main.1", "main.2.1"} {
			<-began
			cancelled <- s.CancelChild(id)
		}
	}()
	turn(t, s, "go")
	require.NoError(t, <-cancelled)
	require.NoError(t, <-cancelled)
	var all []string
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			all = append(all, r.Text())
		}
	}
	require.Len(t, all, 3)
	require.Contains(t, all[1], "the host cancelled this agent run")
	require.Contains(t, all[2], "deep done", "the child goes on")
}

func TestCancellingATurnCancelsItsChildrenAndNotThoseInTheBackground(t *testing.T) {
	began, release := make(chan string, 4), make(chan struct{})
	var cancelled atomic.Int32
	wait := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Wait"}, Doc: "Waits."},
		func(ctx context.Context, _ any, _ *toolview.Call, in words) (*message.Result, error) {
			began <- in.Text
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, ctx.Err()
			case <-release:
				return message.Say("waited"), nil
			}
		})
	agents := map[string]toolview.Spawn{"helper": {Agent: "helper"}, "other": {Agent: "other"}}
	sc := script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"a","background":true}`), script.Do("Spawn", `{"agent":"other","prompt":"b"}`, "Spawn", `{"agent":"other","prompt":"c"}`), script.Do("Collect", `{"id":"main.1","wait":true}`), script.Say("done")},
		"helper": {script.Do("Wait", `{}`), script.Say("the answer")},
		"other":  {script.Do("Wait", `{}`), script.Do("Wait", `{}`)},
	})
	o := options(t, sc, withTools("Tools", wait), spawner(agents))
	o.ID = "main"
	s := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range 3 {
			<-began
		}
		cancel()
	}()
	var last error
	for _, err := range s.Prompt(ctx, session.Text("go")) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	paired(t, s.Messages())
	require.Equal(t, int32(2), cancelled.Load())
	close(release)
	turn(t, s, "go on")
	require.Equal(t, "the answer\n[agent run main.1]", results(s)[0])
}

func TestAWorktreeThatCannotBeIsRefusedWithTheReason(t *testing.T) {
	agents := map[string]toolview.Spawn{"apart": {Agent: "apart", Isolation: "worktree"}, "odd": {Agent: "odd", Isolation: "moon"}, "here": {Agent: "here"}}
	s := open(t, options(t, script.New(), spawner(agents)))
	_, err := s.Agent(t.Context(), "here")
	require.NoError(t, err, "presence first")
	_, err = s.Agent(t.Context(), "apart")
	require.ErrorContains(t, err, "it was not started, since it is to work in a git worktree of its own")
	_, err = s.Agent(t.Context(), "odd")
	require.ErrorContains(t, err, `isolation "moon" is not known`)
}

func TestSpawnsThatAreJournalledReadBack(t *testing.T) {
	was := narrow()["helper"]
	raw, err := json.Marshal(session.Entry{Kind: session.Created, Spawn: &was, From: 3})
	require.NoError(t, err)
	var is session.Entry
	require.NoError(t, json.Unmarshal(raw, &is))
	require.Equal(t, was, *is.Spawn)
}
