// Package gitattribution says how commits with a session's work name it: by a trailer of the message. It asks for it once
// the session has edited files in a git repository, and runs no git itself.
package gitattribution

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "GitAttributionMiddleware"

// Trailer is the default: it names the program and claims no authorship.
const Trailer = "Assisted-by: peri"

// Options say how commits name the session.
type Options struct {
	// Trailer is one line in git's form, `Key: value`; "" = the default.
	Trailer string
}

var form = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*: [^\s][^\n\r\x00]{0,199}$`)

// Check says what is wrong with the options.
func (o Options) Check() error {
	if o.Trailer != "" && !form.MatchString(o.Trailer) {
		return fmt.Errorf("gitattribution: trailer %q: write one line of the form Key: value, such as %s", o.Trailer, Trailer)
	}
	return nil
}

// New makes the middleware. Options that Check refuses make Open fail.
func New(o Options) middleware.Middleware {
	if o.Trailer == "" {
		o.Trailer = Trailer
	}
	return middleware.Middleware{
		Name: Name,
		Doc:  "Asks that commits with this session's edits carry a trailer that names it.",
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			if err := o.Check(); err != nil {
				return nil, err
			}
			if env.Project.FS == nil {
				return &middleware.Instance{}, nil
			}
			if _, err := fs.Stat(env.Project.FS, ".git"); err != nil {
				return &middleware.Instance{}, nil // no repository: there is nothing to say
			}
			w, err := load(ctx, env)
			if err != nil {
				return nil, err
			}
			return instance(w, o.Trailer), nil
		},
	}
}

// instance serves the session's children too: what they edit is its work.
func instance(w *watch, trailer string) *middleware.Instance {
	return &middleware.Instance{
		State: w,
		Hooks: middleware.Hooks{
			Result: func(ctx context.Context, c *toolview.Call, r *message.Result) {
				if r != nil && !r.Error && c.Tool().Effects.Has(toolview.Edits) {
					w.edited(ctx)
				}
			},
		},
		Contribute: func(_ context.Context, _ *middleware.Step, t *prompt.Tail) error {
			if w.any() {
				t.Add(fmt.Sprintf("This session has edited files. If the user has you commit them, end the message of the commit with a blank line and this trailer, "+
					"unless the user or the project asks for another form:\n\n%s\n\nThis is no request to commit.", trailer))
			}
			return nil
		},
	}
}
