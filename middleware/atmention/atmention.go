// Package atmention attaches the files that a user names with @ in a prompt: `@path`, `@path:10-20`,
// `@"path with spaces"`, a folder's entries, an image or a PDF. Nothing outside the project is reached.
package atmention

import (
	"context"
	"fmt"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// Name is the meta key.
const Name = "AtMentionMiddleware"

// maxMentions bounds what one prompt may look up: a pasted text can hold any number of @.
const maxMentions = 50

// Options are none.
type Options struct{}

// New makes the middleware.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Attaches files, folders and images named with @ in a prompt.",
		Upstream: []string{"ImageMiddleware"},
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{
				Hooks: middleware.Hooks{Input: input(env)},
				// A model writes a child's prompt. An @ in it must not read what the rules on reading would refuse.
				Child: func(context.Context, middleware.Env) (*middleware.Instance, error) {
					return &middleware.Instance{}, nil
				},
			}, nil
		},
	}
}

func input(env middleware.Env) func(context.Context, *middleware.Input) error {
	return func(ctx context.Context, in *middleware.Input) error {
		// A model wrote what a schedule prompts, and its @ must not reach past the rules on reading either.
		if env.Project.FS == nil || in.Owner != "" {
			return nil
		}
		var found []mention
		for _, p := range in.Parts {
			if p.Kind == message.Text {
				found = append(found, mentions(p.Text)...)
			}
		}
		a := attaching{files: env.Project.FS, root: env.Project.Root, seen: map[string]bool{}, notice: env.Notice}
		for i, m := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if i == maxMentions {
				a.tell(fmt.Sprintf("only the first %d of %d mentions were looked up", maxMentions, len(found)))
				break
			}
			a.add(m)
		}
		in.Parts = append(in.Parts, a.parts...)
		return nil
	}
}
