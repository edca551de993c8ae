// Package agentsmd brings what a project has written down for agents: its AGENTS.md or CLAUDE.md, and the user's own
// AGENTS.md. The files are read once, when a session opens.
package agentsmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
)

// Name is the meta key.
const Name = "AgentsMdMiddleware"

// Options say where guidance is, apart from the project.
type Options struct {
	// Home is the folder whose AGENTS.md holds for every project of the user; "" = none. It is no part of the
	// session's policy: what the file says is kept with the session, and the place is another on every machine.
	Home string
}

// New makes the middleware.
func New(o Options) middleware.Middleware {
	return middleware.Middleware{
		Name: Name,
		Doc:  "Project guidance from AGENTS.md or CLAUDE.md and the user's own AGENTS.md, read once.",
		Segments: []prompt.Segment{{
			ID: "08_project", Zone: prompt.Live, Order: 80, Text: prompt.Text("08_project"), Vars: []string{"guidance"},
		}},
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return open(env, o), nil
		},
	}
}

func open(env middleware.Env, o Options) *middleware.Instance {
	notice := func(format string, args ...any) {
		if env.Notice != nil {
			env.Notice(fmt.Sprintf(format, args...))
		}
	}
	var found []document
	var written []string
	if o.Home != "" {
		if d, ok := own(o.Home, notice); ok {
			found = append(found, d)
			written = append(written, filepath.Join(o.Home, d.name))
		}
	}
	if env.Project.FS != nil {
		if d, ok := project(env.Project.FS, notice); ok {
			found = append(found, d)
			written = append(written, d.name)
		}
	}
	var parts []string
	for _, d := range found {
		parts = append(parts, d.head+"\n\n"+d.text)
	}
	// What was read is told by the segment alone, which is frozen: a fact would change when the files do.
	return &middleware.Instance{Vars: map[string]string{"guidance": strings.Join(parts, "\n\n")}, Written: written}
}
