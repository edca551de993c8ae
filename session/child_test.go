package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// spawner owns a flow that spawns what it is told.
func spawner(agents map[string]toolview.Spawn) middleware.Middleware {
	type in struct {
		Agent      string `json:"agent,omitempty" doc:"who; nobody = a fork"`
		Prompt     string `json:"prompt" doc:"what"`
		Background bool   `json:"background,omitempty" doc:"do not wait"`
	}
	type of struct {
		ID   string `json:"id" doc:"which run"`
		Wait bool   `json:"wait,omitempty" doc:"wait for it"`
	}
	spawn := toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Spawn"}, Doc: "Delegates.", Effects: toolview.Internal},
		func(_ context.Context, _ any, _ *toolview.Call, in in, h toolview.Host) (*message.Result, error) {
			sp, ok := agents[in.Agent]
			if !ok {
				sp = toolview.Spawn{Fork: true}
			}
			sp.Prompt, sp.Background = in.Prompt, in.Background
			return h.Spawn(sp)
		})
	collect := toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Collect"}, Doc: "Gets a result.", Effects: toolview.Internal},
		func(_ context.Context, _ any, _ *toolview.Call, in of, h toolview.Host) (*message.Result, error) {
			return h.Spawn(toolview.Spawn{Collect: in.ID, Wait: in.Wait})
		})
	return middleware.Middleware{
		Name: "Spawner", Doc: "delegates", Tools: toolview.MustSet(spawn, collect),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Agents: listed(agents)}, nil
		},
	}
}

type listed map[string]toolview.Spawn

func (l listed) Agent(name string) (toolview.Spawn, bool) { s, ok := l[name]; return s, ok }

func (l listed) List() []middleware.AgentInfo {
	var out []middleware.AgentInfo
	for n := range l {
		out = append(out, middleware.AgentInfo{Name: n, Origin: "test"})
	}
	return out
}

var helper = map[string]toolview.Spawn{"helper": {Agent: "helper", Body: "You help."}}

// inChild plays a parent that delegates one call in the given way, and returns the texts of the child's results.
func inChild(t *testing.T, how, call string, o func(session.Options) session.Options, list ...middleware.Middleware) (string, *script.Script) {
	t.Helper()
	agent := map[string]string{"named": `"agent":"helper",`, "named, in the background": `"agent":"helper","background":true,`, "fork": ""}[how]
	parent := []script.Step{script.Do("Spawn", `{`+agent+`"prompt":"go"}`)}
	child := []script.Step{script.Do(call, `{"text":"x"}`), script.Say("child done")}
	steps := map[string][]script.Step{"": parent, "helper": child}
	switch how {
	case "fork":
		steps[""] = append(append(steps[""], child...), script.Say("done"))
	case "named":
		steps[""] = append(steps[""], script.Say("done"))
	default:
		steps[""] = append(steps[""], script.Step{Calls: []script.Call{{Tool: "Collect", Args: map[string]any{"id": "main.1", "wait": true}}}}, script.Say("done"))
	}
	sc := script.For(steps)
	opt := options(t, sc, append(list, spawner(helper))...)
	opt.ID = "main"
	if o != nil {
		opt = o(opt)
	}
	s := open(t, opt)
	turn(t, s, "go")
	paired(t, s.Messages())
	for _, sent := range sc.Sent() {
		last := sent.Messages[len(sent.Messages)-1]
		if last.Role == message.Tool && (how == "fork" || sent.Agent == "helper") {
			return last.Results()[0].Text(), sc
		}
	}
	t.Fatal("no child took a step")
	return "", nil
}

var kinds = []string{"named", "named, in the background", "fork"}

func TestDenyHoldsInEveryKindOfChild(t *testing.T) {
	for _, how := range kinds {
		t.Run(how, func(t *testing.T) {
			got, _ := inChild(t, how, "One", nil, withTools("Tools", echo("One", 0)))
			require.Equal(t, "One:x", got, "presence first")
			got, _ = inChild(t, how, "One", func(o session.Options) session.Options {
				o.Lists.Deny = []toolview.Selector{{Text: "One"}}
				return o
			}, withTools("Tools", echo("One", 0)))
			require.Equal(t, "There is no tool `One`.", got)
		})
	}
}

func TestClosedIsClosedInEveryKindOfChild(t *testing.T) {
	for _, how := range kinds {
		t.Run(how, func(t *testing.T) {
			got, sc := inChild(t, how, "One", func(o session.Options) session.Options {
				o.Layers = closing("Tools")
				return o
			}, withTools("Tools", echo("One", 0)))
			require.Equal(t, "There is no tool `One`.", got)
			for _, sent := range sc.Sent() {
				require.NotContains(t, sent.Tools, "One")
			}
		})
	}
}

func TestApprovalHoldsInEveryKindOfChildAndNamesTheChild(t *testing.T) {
	ask := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		if c.Name() == "One" {
			return middleware.Verdict{Decision: middleware.Ask, Reason: "look"}
		}
		return middleware.Verdict{Decision: middleware.Pass}
	})
	for _, how := range kinds {
		for _, allow := range []bool{true, false} {
			t.Run(how, func(t *testing.T) {
				person := &approver{allow: allow}
				got, _ := inChild(t, how, "One", func(o session.Options) session.Options {
					o.Approver = person
					return o
				}, withTools("Tools", echo("One", 0)), ask)
				require.Len(t, person.requests, 1)
				require.Equal(t, how != "fork", person.requests[0][0].Agent == "helper")
				if allow {
					require.Equal(t, "One:x", got)
				} else {
					require.Equal(t, "Not run: the user rejected it.", got)
				}
			})
		}
	}
}

func TestGateOfTheParentJudgesEveryKindOfChild(t *testing.T) {
	deny := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		if c.Name() == "One" {
			return middleware.Verdict{Decision: middleware.Deny, Reason: "no, " + c.Agent()}
		}
		return middleware.Verdict{Decision: middleware.Pass}
	})
	for _, how := range kinds {
		t.Run(how, func(t *testing.T) {
			got, _ := inChild(t, how, "One", nil, withTools("Tools", echo("One", 0)), deny)
			require.Contains(t, got, "Not run: no, ")
		})
	}
}

func TestAgentsOwnListsOnlyNarrow(t *testing.T) {
	s := open(t, options(t, script.New(), withTools("Tools", echo("One", 0), echo("Two", 0), echo("Three", 0)), spawner(map[string]toolview.Spawn{
		"all":     {Agent: "all"},
		"some":    {Agent: "some", Tools: []string{"one", "two"}, Deny: []string{"two"}},
		"none":    {Agent: "none", Tools: []string{}},
		"greedy":  {Agent: "greedy", Tools: []string{"*", "Four"}},
		"pattern": {Agent: "pattern", Deny: []string{"Two("}, Origin: "agents/pattern.md"},
	})))
	require.NoError(t, s.SetTools(nil, []string{"Three"}))
	for name, want := range map[string][]string{
		"all": {"One", "Two", "Collect", "Spawn"}, "some": {"One"}, "none": nil, "greedy": {"One", "Two", "Collect", "Spawn"},
	} {
		k, err := s.Agent(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, names(k), name)
	}
	_, err := s.Agent(t.Context(), "pattern")
	require.ErrorContains(t, err, "agents/pattern.md")
	require.ErrorContains(t, err, "Two(")
	_, err = s.Agent(t.Context(), "nobody")
	require.ErrorIs(t, err, session.ErrNotFound)
}

func TestHostsChangeReachesAChildOnItsNextStep(t *testing.T) {
	s := open(t, options(t, script.New(), withTools("Tools", echo("One", 0)), withTools("More", echo("Two", 0))))
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"One", "Two"}, names(fork))
	require.NoError(t, s.Pause("More"))
	require.Equal(t, []string{"One"}, names(fork))
	require.NoError(t, s.Unpause("More"))
	require.Equal(t, []string{"One", "Two"}, names(fork))
}

func TestForkHasTheWholeChainAndTheParentsPrefixBytes(t *testing.T) {
	rooted := withTools("Rooted", echo("Root", 0))
	rooted.RootOnly = true
	sc := script.New(script.Say("first"), script.Say("second"))
	s := open(t, options(t, sc, dated(), rooted, withTools("Tools", echo("One", 0)), spawner(helper)))
	turn(t, s, "go")
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	turn(t, fork, "another way")
	sent := sc.Sent()
	require.Equal(t, sent[0].System, sent[1].System)
	require.Equal(t, sent[0].Tools, sent[1].Tools)
	require.Equal(t, sent[0].Messages, sent[1].Messages[:len(sent[0].Messages)])
	require.Len(t, s.Messages(), 2, "the fork goes its own way")

	named, err := s.Agent(t.Context(), "helper")
	require.NoError(t, err)
	require.NotContains(t, names(named), "Root")
	require.Contains(t, names(fork), "Root")
}

func TestNamedChildSpeaksItsOwnBodyAndKeepsTheLiveTexts(t *testing.T) {
	needs := withTools("Tools", echo("One", 0))
	needs.Segments = []prompt.Segment{{ID: "about_one", Zone: prompt.Live, Text: "Use `One` well.", Needs: []string{"One"}}}
	s := open(t, options(t, script.New(), dated(), needs, spawner(map[string]toolview.Spawn{
		"helper": {Agent: "helper", Body: "You help."},
		"bare":   {Agent: "bare", Body: "You help.", Tools: []string{}},
	})))
	require.Contains(t, blocks(s), "You work.")
	k, err := s.Agent(t.Context(), "helper")
	require.NoError(t, err)
	require.Contains(t, blocks(k), "You help.")
	require.NotContains(t, blocks(k), "You work.")
	require.Contains(t, blocks(k), "Today is ")
	require.Contains(t, blocks(k), "Use `One` well.")
	bare, err := s.Agent(t.Context(), "bare")
	require.NoError(t, err)
	require.NotContains(t, blocks(bare), "`One`")
}

func blocks(s *session.Session) string {
	var out []string
	for _, b := range s.System() {
		out = append(out, b.Text)
	}
	return joined(out)
}

func TestClosingASessionEndsItsBackgroundChildren(t *testing.T) {
	began, ended := make(chan struct{}), false
	slow := broken("Slow", func(ctx context.Context) (*message.Result, error) {
		close(began)
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	})
	sc := script.For(map[string][]script.Step{
		"":       {script.Do("Spawn", `{"agent":"helper","prompt":"go","background":true}`), script.Say("done")},
		"helper": {script.Do("Slow", `{}`), script.Say("never")},
	})
	s := open(t, options(t, sc, withTools("Tools", slow), spawner(helper)))
	turn(t, s, "go")
	<-began
	require.NoError(t, s.Close(context.Background()))
	require.True(t, ended)
	for _, err := range s.Prompt(t.Context(), session.Text("more")) {
		require.ErrorIs(t, err, session.ErrClosed)
	}
}

func TestChildsInstancesCloseWithItAndTheParentsStayOpen(t *testing.T) {
	var closed []string
	m := middleware.Middleware{Name: "Own", Doc: "has instances", Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
		return &middleware.Instance{
			Close: func(context.Context) error { closed = append(closed, "parent"); return nil },
			Child: func(context.Context, middleware.Env) (*middleware.Instance, error) {
				return &middleware.Instance{Close: func(context.Context) error { closed = append(closed, "child"); return errors.New("stuck") }}, nil
			},
		}, nil
	}}
	s, err := session.New(t.Context(), options(t, script.New(), m))
	require.NoError(t, err)
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, fork.Close(t.Context()), "stuck")
	require.Equal(t, []string{"child"}, closed)
	require.ErrorContains(t, s.Close(t.Context()), "stuck")
	require.Equal(t, []string{"child", "parent"}, closed)
}
