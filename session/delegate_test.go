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

// starting is agents whose owner starts them for others.
type starting struct{ listed }

func (starting) Start(t toolview.Task) (toolview.Inner, error) {
	args, err := json.Marshal(t)
	return toolview.Inner{Name: "Start", Args: args}, err
}

// starter owns the tool that starts agents, delegator a flow that has two started.
func starter(agents listed) middleware.Middleware {
	start := toolview.NewFlow(toolview.Tool{
		Decl: toolview.Decl{Name: "Start"}, Doc: "Starts an agent.", Effects: toolview.Internal,
		Subjects: toolview.Subjects(func(t toolview.Task) []toolview.Subject {
			return []toolview.Subject{{Kind: toolview.Name, Value: t.Agent}}
		}),
	}, func(_ context.Context, _ any, _ *toolview.Call, in toolview.Task, h toolview.Host) (*message.Result, error) {
		sp, ok := agents[in.Agent]
		if !ok {
			return message.Fail("There is no agent " + in.Agent + "."), nil
		}
		sp.Prompt = in.Prompt
		return h.Spawn(sp)
	})
	return middleware.Middleware{
		Name: "Starter", Doc: "starts agents", Tools: toolview.MustSet(start),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Agents: starting{agents}}, nil
		},
	}
}

func delegator() middleware.Middleware {
	return withTools("Delegator", toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Two"}, Doc: "Has two started."},
		func(_ context.Context, _ any, _ *toolview.Call, _ empty, h toolview.Host) (*message.Result, error) {
			out := message.Say("")
			for _, r := range h.Delegate([]toolview.Task{{Agent: "helper", Prompt: "go"}, {Agent: "other", Prompt: "go"}}) {
				out.Parts = append(out.Parts, message.Part{Kind: message.Text, Text: "[" + r.Text() + "]"})
			}
			return out, nil
		}))
}

func TestWhoHasAgentsStartedIsHeldToTheRulesOfTheToolThatStartsThem(t *testing.T) {
	agents := listed{"helper": {Agent: "helper", Body: "You help."}}
	steps := func() *script.Script {
		return script.For(map[string][]script.Step{
			"": {script.Do("Two", `{}`), script.Say("done")}, "helper": {script.Say("helped")},
		})
	}
	run := func(change func(*session.Options), list ...middleware.Middleware) (string, []message.Event) {
		o := options(t, steps(), append(list, delegator())...)
		o.ID = "main"
		if change != nil {
			change(&o)
		}
		s := open(t, o)
		events := turn(t, s, "go")
		return results(s)[0], events
	}
	got, events := run(nil, starter(agents))
	require.Equal(t, "[helped\n[agent run main.1]][There is no agent other.]", got)
	began := map[string]string{}
	for _, e := range events {
		if e.Kind == message.CallStart && e.Use.Name == "Start" {
			began[e.Use.ID] = e.Parent
		}
	}
	require.Equal(t, map[string]string{"call_1_1.1": "call_1_1", "call_1_1.2": "call_1_1"}, began, "each start is a call")

	got, _ = run(func(o *session.Options) { o.Lists.Deny = []toolview.Selector{{Text: "Start"}} }, starter(agents))
	require.Equal(t, "[There is no tool `Start`.][There is no tool `Start`.]", got)
	got, _ = run(func(o *session.Options) { o.Lists.Deny = []toolview.Selector{{Text: "Start(helper)"}} }, starter(agents))
	require.NotContains(t, got, "helped")
	require.Contains(t, got, "There is no agent other.", "the rest runs")
	judge := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		if c.Name() == "Start" {
			return middleware.Verdict{Decision: middleware.Deny, Reason: "no " + c.Name()}
		}
		return middleware.Verdict{Decision: middleware.Pass}
	})
	got, _ = run(nil, starter(agents), judge)
	require.Equal(t, "[Not run: no Start.][Not run: no Start.]", got)
	got, _ = run(nil)
	require.Equal(t, "[Not started: nothing in this session starts agents.][Not started: nothing in this session starts agents.]", got)
}
