package closuretest

import (
	"context"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// The kit's own middleware, its tool, and the agents by which it makes children.
const (
	probeName   = "ClosuretestProbe"
	probeTool   = "closuretest_probe"
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
	listed := make([]string, 0, len(l.owners)+1)
	for name := range l.owners {
		listed = append(listed, name)
	}
	slices.Sort(listed)
	agents := crew{listed: append(listed, probeTool)}
	return middleware.Middleware{
		Name: probeName, Doc: "The contract kit's own.", Tools: toolview.MustSet(tool),
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
