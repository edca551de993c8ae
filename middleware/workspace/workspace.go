// Package workspace lets a model work in the project's folder: read, write, edit, find and search files, and run
// commands.
//
// File tools stay inside the project's root, and the user's home unless Options.NoHome is set. A path is resolved
// through every symbolic link first and then opened below the folder that allowed it, so that neither `..`, an
// absolute path, a link, a dangling link nor a race leads out. The sandbox is the file tools' and that of a command's
// starting folder alone: what a command does, the gates judge.
//
// Subjects of the file tools are the paths as the model wrote them, cleaned: relative ones are relative to the
// project's root.
package workspace

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key in the meta map.
const Name = "WorkspaceMiddleware"

// preset is the selector word for the tools that work on a project: files to read and change, and commands.
const preset = "pi"

//go:embed *.md
var texts embed.FS

// text is an embedded text; one that is missing is a mistake of the wiring.
func text(name string) string {
	b, err := texts.ReadFile(name + ".md")
	if err != nil {
		panic(fmt.Sprintf("workspace: %v", err))
	}
	return strings.TrimSpace(string(b))
}

// New returns the middleware. Its tools are Read, Write, Edit, Glob, Grep, LS and Bash, and with Options.BashAsync
// the deferred BashStart, BashWait, BashStdin and BashStop; without it those are declared and unsupported.
func New(o Options) middleware.Middleware {
	policy := o.policy()
	background := backgroundTools("")
	refused := backgroundTools("set workspace.bash_async: true")
	open := func(env middleware.Env, above *state) (*middleware.Instance, error) {
		s, err := newState(env, above)
		if err != nil {
			return nil, err
		}
		return &middleware.Instance{
			State: s, Close: s.close, Tune: s.shared.live.tune(),
			Deferred: toolview.SourceFunc(func() *toolview.Set {
				if s.shared.live.Load().BashAsync {
					return background
				}
				return refused
			}),
		}, nil
	}
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Read, write, edit, find and search files of the project, and run commands.",
		Upstream: []string{"FilesystemMiddleware", "TerminalMiddleware"},
		Tools:    toolview.MustSet(readTool(), writeTool(), editTool(), globTool(), grepTool(), lsTool(), bashTool()),
		Deferred: background,
		Policy:   policy,
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return family(open, env, nil)
		},
	}
}

// family opens an instance whose children are opened the same way, below it.
func family(open func(middleware.Env, *state) (*middleware.Instance, error), env middleware.Env, above *state) (*middleware.Instance, error) {
	i, err := open(env, above)
	if err != nil {
		return nil, err
	}
	own := i.State.(*state)
	i.Child = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		return family(open, env, own)
	}
	return i, nil
}

// fail turns what a model can act on into its result.
func fail(err error) (*message.Result, error) { return message.Fail(err.Error()), nil }

// paths is the subject of a tool that touches one path.
func paths(path string, edit bool) []toolview.Subject {
	return []toolview.Subject{{Kind: toolview.Path, Value: cleaned(path), Edit: edit}}
}
