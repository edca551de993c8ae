package closuretest

import (
	"context"
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// The kit's own middleware, its tools, and the agents by which it makes children.
const (
	probeName   = "ClosuretestProbe"
	probeTool   = "closuretest_probe"
	startTool   = "closuretest_start"
	agentFree   = "closuretest_free"
	agentListed = "closuretest_listed"
)

// probe is a middleware of the kit's that stands last: a harmless tool, and agents without and with an allow list.
func (l *lab) probe() middleware.Middleware {
	tool := toolview.New(toolview.Tool{
		Decl: toolview.Decl{Name: probeTool}, Doc: "Does nothing.", Effects: toolview.Internal,
	}, func(context.Context, any, *toolview.Call, struct {
		Text string `json:"text,omitempty" doc:"anything"`
	},
	) (*message.Result, error) {
		return message.Say("ok"), nil
	})
	start := toolview.NewFlow(toolview.Tool{
		Decl: toolview.Decl{Name: startTool}, Doc: "Starts a child and waits for it.", Effects: toolview.Internal,
	}, startChild)
	listed := make([]string, 0, len(l.owners)+1)
	for name := range l.owners {
		listed = append(listed, name)
	}
	slices.Sort(listed)
	agents := crew{listed: append(listed, probeTool)}
	return middleware.Middleware{
		Name: probeName, Doc: "The contract kit's own.", Tools: toolview.MustSet(tool, start),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Agents: agents}, nil
		},
	}
}

type crew struct{ listed []string }

func (c crew) Agent(name string) (toolview.Spawn, bool) {
	switch name {
	case agentFree:
		return toolview.Spawn{Agent: name, Origin: "closuretest"}, true
	case agentListed:
		return toolview.Spawn{Agent: name, Origin: "closuretest", Tools: c.listed}, true
	}
	return toolview.Spawn{}, false
}

// List is empty: rosters are to show what they show without the kit.
func (crew) List() []middleware.AgentInfo { return nil }

// started is one way of starting a child by a call.
type started struct {
	Agent      string `json:"agent,omitempty" doc:"who; nobody = a fork"`
	Background bool   `json:"background,omitempty" doc:"in the background"`
	By         string `json:"by,omitempty" doc:"by an inner call instead"`
	Prompt     string `json:"prompt,omitempty" doc:"by which its requests are known"`
}

// What else starts a child than its caller: an inner call, and the call of the tool by which the session starts agents.
const (
	byProgram  = "program"
	byWorkflow = "workflow"
)

// Start is the call of the kit's own tool, for a suite that has none of its own.
func (crew) Start(t toolview.Task) (toolview.Inner, error) {
	return toolview.Inner{Name: startTool, Args: []byte(jsonOf(started{Agent: t.Agent, Prompt: t.Prompt}))}, nil
}

// startChild returns when the child is done.
func startChild(_ context.Context, _ any, _ *toolview.Call, in started, h toolview.Host) (*message.Result, error) {
	switch in.By {
	case byProgram:
		in.By = ""
		return h.Dispatch([]toolview.Inner{{Name: startTool, Args: []byte(jsonOf(in))}})[0], nil
	case byWorkflow:
		return h.Delegate([]toolview.Task{{Agent: in.Agent, Prompt: in.Prompt}})[0], nil
	}
	sp := toolview.Spawn{Agent: in.Agent, Fork: in.Agent == "", Origin: "closuretest", Background: in.Background, Prompt: in.Prompt}
	res, err := h.Spawn(sp)
	if err != nil || res.Error || !in.Background {
		return res, err
	}
	_, id, _ := strings.Cut(res.Text(), "as agent run ")
	return h.Spawn(toolview.Spawn{Collect: strings.TrimSuffix(id, "."), Wait: true})
}
