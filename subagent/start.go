package subagent

import (
	"encoding/json"
	"fmt"

	"github.com/metaharness/peri/toolview"
)

// Start is the call by which a model would start the task. Who starts agents for others goes through it, so that
// definitions, limits and rules are the same for all.
func (s *state) Start(t toolview.Task) (toolview.Inner, error) {
	args, err := json.Marshal(task{Agent: t.Agent, Prompt: t.Prompt, Description: t.Description})
	if err != nil {
		return toolview.Inner{}, fmt.Errorf("subagent: %w", err)
	}
	return toolview.Inner{Name: AgentTool, Args: args}, nil
}
