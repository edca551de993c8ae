// Package code tells a model what the project is made of: the languages, and the commands that build and test it, as its
// own files name them. It reads them once, when a session opens, and runs and writes nothing.
package code

import (
	"context"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
)

// Name is the meta key.
const Name = "CodeMiddleware"

// Options are none.
type Options struct{}

// New makes the middleware. It brings no tool: in allow and deny lists the word code stands for its text.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name: Name,
		Doc:  "What the project is made of, and the commands that build and test it, from its own files.",
		Segments: []prompt.Segment{{
			ID: "14_code", Zone: prompt.Live, Order: 140, Text: prompt.Text("14_code"), Word: "code", Vars: []string{"project"},
		}},
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			in := &middleware.Instance{}
			if env.Project.FS != nil {
				// As with guidance, what was read is told by the segment alone, which is frozen.
				in.Vars = map[string]string{"project": describe(env.Project.FS)}
			}
			return in, nil
		},
	}
}
