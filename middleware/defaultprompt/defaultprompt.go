// Package defaultprompt is the system prompt that every session starts with. Closing it leaves the texts of the other
// capabilities and nothing of its own.
package defaultprompt

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
)

// Name is the meta key.
const Name = "DefaultSystemPromptMiddleware"

// Options are what settings say about the prompt.
type Options struct {
	// Persona is the manner that the user wants; "" = none.
	Persona string `json:"persona,omitempty"`
}

// New makes the middleware. The texts are prompt/segments/*.md.
func New(o Options) middleware.Middleware {
	m := middleware.Middleware{
		Name: Name,
		Doc:  "The default system prompt: who the agent is, how it works, writes and takes care, and where it runs.",
		Open: open,
	}
	for i, id := range []string{"01_intro", "02_system", "03_doing_tasks", "04_actions", "05_using_tools", "06_tone_style"} {
		m.Segments = append(m.Segments, prompt.Segment{ID: id, Zone: prompt.Cached, Order: 10 * (i + 1), Text: prompt.Text(id)})
	}
	m.Segments = append(m.Segments,
		prompt.Segment{
			ID: "07_runtime", Zone: prompt.Live, Order: 70, Text: prompt.Text("07_runtime"),
			Vars: []string{"date", "platform", "root", "model"},
		},
		prompt.Segment{ID: "persona", Zone: prompt.Live, Order: 72, Text: prompt.Text("persona"), Vars: []string{"persona"}},
	)
	// Also no persona is a policy: a resumed session must not get one.
	o.Persona = strings.TrimSpace(o.Persona)
	m.Policy, _ = json.Marshal(o) // a struct of text always marshals
	return m
}

func open(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	var o Options
	if len(env.Policy) > 0 {
		if err := json.Unmarshal(env.Policy, &o); err != nil {
			return nil, fmt.Errorf("defaultprompt: stored policy: %w", err)
		}
	}
	known := func(v string) string {
		if v == "" {
			return "not known"
		}
		return v
	}
	return &middleware.Instance{Vars: map[string]string{
		"date":     env.Now().Format("2006-01-02, Monday"),
		"platform": runtime.GOOS + "/" + runtime.GOARCH,
		"root":     known(env.Project.Root),
		"model":    known(env.Model),
		"persona":  o.Persona,
	}}, nil
}
