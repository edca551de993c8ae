package session_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func offlineModels(string) (middleware.ModelFunc, error) { return offline.Model, nil }

func TestSessionsThatShareASuiteNeverSeeEachOthersTools(t *testing.T) {
	o := options(t, script.New(), withTools("Tools", echo("One", 0)), withTools("More", echo("Two", 0)))
	o.Models = offlineModels
	strict := o
	strict.Layers = closing("More")
	a, b := open(t, fresh(o)), open(t, fresh(strict))
	var wg sync.WaitGroup
	for s, want := range map[*session.Session]string{a: "Two:x", b: "There is no tool `Two`."} {
		wg.Go(func() {
			for range 100 {
				for _, err := range s.Prompt(context.Background(), session.Text(`call Two {"text":"x"}`)) {
					if err != nil {
						t.Error(err)
					}
				}
				if got := joined(results(s)); !strings.HasPrefix(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestChangeOfOneSessionLeavesTheOthersAlone(t *testing.T) {
	o := options(t, script.New(), dated(), withTools("Tools", echo("One", 0)), withTools("More", echo("Two", 0)))
	a, b := open(t, fresh(o)), open(t, fresh(o))
	before, text := a.View(), blocks(a)
	require.NoError(t, b.Pause("Tools"))
	require.NoError(t, b.SetTools([]string{}, nil))
	require.Empty(t, names(b))
	require.Same(t, before, a.View())
	require.Equal(t, text, blocks(a))
}

func TestContributionIsInTheTailOfEveryRequestAndNowhereElse(t *testing.T) {
	n := 0
	c := with("Reminder", middleware.Instance{Contribute: func(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error {
		n++
		tail.Add("reminder " + strconv.Itoa(n))
		return nil
	}})
	bad := with("Broken", middleware.Instance{Contribute: func(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error {
		tail.Add("half a")
		panic("thought")
	}})
	sc := script.New(script.Do("One", `{}`), script.Say("done"), script.Say("more"))
	o := options(t, sc, dated(), bad, c, withTools("Tools", echo("One", 0)))
	s := open(t, o)
	turn(t, s, "go")
	require.Equal(t, []string{"reminder 1"}, sc.Sent()[0].Tail)
	require.Equal(t, []string{"reminder 2"}, sc.Sent()[1].Tail)
	entries, err := o.Store.Load(t.Context(), s.ID())
	require.NoError(t, err)
	require.NotContains(t, plain(t, entries)+plain(t, s.Messages())+blocks(s), "reminder")
	require.NoError(t, s.Pause("Reminder"))
	turn(t, s, "more")
	require.Empty(t, sc.Sent()[2].Tail)
}

func TestHostSwitchesCannotTouchWhatIsClosedOrBringsAGate(t *testing.T) {
	g := gate("Gate", func(*toolview.Call) middleware.Verdict { return middleware.Verdict{Decision: middleware.Pass} })
	o := options(t, script.New(), withTools("Shut", echo("One", 0)), withTools("Tools", echo("Two", 0)), g)
	o.Layers = closing("Shut")
	s := open(t, o)
	require.ErrorContains(t, s.Pause("Shut"), "not live")
	require.ErrorContains(t, s.Pause("Gate"), "change the mode")
	require.ErrorContains(t, s.Pause("Nobody"), "not live")
	require.NoError(t, s.Unpause("Shut"))
	require.NoError(t, s.SetTools([]string{"One", "Two"}, nil))
	require.Equal(t, []string{"Two"}, names(s))
	require.ErrorContains(t, s.SetTools(nil, []string{"B(rm"}), "B(rm")
	require.Equal(t, []string{"Two"}, names(s), "a refused change changes nothing")
}

func TestLateDirectToolIsDeferredAndAnnouncedAsNothingInThePrefix(t *testing.T) {
	live := &toolview.Live{}
	live.Publish(toolview.MustSet(echo("x__first", 0)))
	m := middleware.Middleware{
		Name: "Server", Doc: "publishes tools", Dynamic: "x__",
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Tools: live}, nil
		},
	}
	sc := script.New(script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d"))
	o := options(t, sc, m, withDeferred("More", echo("Two", 0)), finder())
	s := open(t, o)
	turn(t, s, "go")
	live.Publish(toolview.MustSet(echo("x__first", 0), echo("x__early", 0), echo("smuggled", 0)))
	events := turn(t, s, "go")
	require.Equal(t, sc.Sent()[0].Tools, sc.Sent()[1].Tools)
	require.Contains(t, sc.Sent()[1].Deferred, "x__early")
	require.NotContains(t, append(sc.Sent()[1].Tools, sc.Sent()[1].Deferred...), "smuggled")
	require.Contains(t, noted(events), "smuggled", "and somebody is told")
	live.Publish(toolview.MustSet(echo("x__early", 0)))
	events = turn(t, s, "go")
	require.NotContains(t, sc.Sent()[2].Tools, "x__first")
	require.Contains(t, noted(events), "rewrites the prompt cache")
	live.Publish(toolview.MustSet(echo("x__early", 0), echo("x__first", 0)))
	again := resume(t, o, s.ID())
	turn(t, again, "go")
	require.Equal(t, sc.Sent()[0].Tools, sc.Sent()[3].Tools, "what returns keeps its place, also after a resume")
}

func noted(events []message.Event) string {
	var out []string
	for _, e := range events {
		if e.Kind == message.Note {
			out = append(out, e.Text)
		}
	}
	return joined(out)
}

func TestDeferredToolsWithoutSearchAreDirectHiddenOrAnError(t *testing.T) {
	make := func(as toolview.Fallback) session.Options {
		o := options(t, script.New(), withDeferred("More", echo("Two", 0), echo("Three", 0)), finder())
		o.Layers, o.WithoutSearch = closing("Finder"), as
		return o
	}
	s := open(t, make(""))
	require.Equal(t, []string{"Three", "Two"}, names(s))
	require.Contains(t, s.Diagnostics()[0].Message, "2 deferred tools are direct")
	s = open(t, make(toolview.Hide))
	require.Empty(t, names(s))
	require.Contains(t, s.Diagnostics()[0].Message, "2 deferred tools are hidden")
	require.Contains(t, s.View().Explain("Two").Rule, "tools.without_search")
	_, err := session.New(t.Context(), make(toolview.Refuse))
	require.ErrorContains(t, err, "2 deferred tools cannot be reached")
}

func TestSearchPairLeavesWithTheLastDeferredTool(t *testing.T) {
	o := options(t, script.New(), withDeferred("More", echo("Two", 0)), withTools("Tools", echo("One", 0)), finder())
	s := open(t, o)
	require.Equal(t, []string{"One", "Exec", "Find"}, names(s))
	require.NoError(t, s.Pause("More"))
	require.Equal(t, []string{"One"}, names(s))
}

func TestRouteAnswersAndAClosedOneIsAnsweredLikeAMisspeltOne(t *testing.T) {
	r := middleware.Middleware{
		Name: "Routed", Doc: "has a command", Routes: []middleware.RouteDecl{{Name: "hello", Doc: "greets"}},
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Routes: []middleware.Route{{
				RouteDecl: middleware.RouteDecl{Name: "hello", Doc: "greets"},
				Run: func(_ context.Context, args string) (middleware.RouteReply, error) {
					if args == "model" {
						return middleware.RouteReply{Prompt: "greet"}, nil
					}
					return middleware.RouteReply{Text: "hello " + args}, nil
				},
			}}}, nil
		},
	}
	o := options(t, script.New(script.Say("asked"), script.Say("path")), r)
	s := open(t, o)
	turn(t, s, "/hello you")
	require.Equal(t, "hello you", s.Messages()[1].Text())
	turn(t, s, "/hello model")
	require.Equal(t, "greet", s.Messages()[2].Text())
	turn(t, s, "/usr/bin is a path")
	require.Equal(t, "path", s.Messages()[5].Text())
	require.NoError(t, s.Pause("Routed"))
	turn(t, s, "/hello you")
	require.Equal(t, "There is no command /hello.", s.Messages()[7].Text())
	o.Layers = closing("Routed")
	s = open(t, fresh(o))
	turn(t, s, "/hello you")
	turn(t, s, "/helo you")
	require.Equal(t, "There is no command /hello.", s.Messages()[1].Text())
	require.Equal(t, "There is no command /helo.", s.Messages()[3].Text())
}

func TestAllowAndDenyEditTheHostsOwnListsAlone(t *testing.T) {
	o := options(t, script.New(), withTools("Tools", echo("One", 0), echo("Two", 0), echo("Three", 0)))
	o.Lists.Deny = selectorsOf([]string{"Three"})
	s := open(t, o)
	require.Equal(t, []string{"One", "Two"}, names(s))
	require.NoError(t, s.Deny("one", "Two"))
	require.Empty(t, names(s))
	require.NoError(t, s.Allow(" ONE ", "Three"))
	require.Equal(t, []string{"One"}, names(s), "what the settings deny is not the host's to allow")
	require.NoError(t, s.SetTools([]string{}, nil))
	require.Empty(t, names(s), "an empty list is nothing")
	require.NoError(t, s.Allow("Two"))
	require.Equal(t, []string{"Two"}, names(s), "it is added where there is a list")
	require.ErrorContains(t, s.Deny("B(rm *"), "not closed")
	require.ErrorContains(t, s.Deny("hitl"), "PermissionMiddleware")
	require.Equal(t, []string{"Two"}, names(s), "a refused change changes nothing")
	require.NoError(t, s.SetTools(nil, nil))
	require.Equal(t, []string{"One", "Two"}, names(s))
	require.NoError(t, s.Deny("Two"))
	again, err := session.Resume(t.Context(), fresh(o), s.ID())
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close(t.Context())) }()
	require.Equal(t, []string{"One"}, names(again), "the host's word is journalled")
}
