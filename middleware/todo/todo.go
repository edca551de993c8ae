// Package todo keeps the list of what a session still has to do. The main session's list is stored with it; a child's
// own lives in memory.
package todo

import (
	"context"
	_ "embed"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "TodoMiddleware"

const (
	writeTool = "TodoWrite"
	readTool  = "TodoRead"
)

var (
	//go:embed TodoWrite.md
	writeDoc string
	//go:embed TodoRead.md
	readDoc string
)

// Options are none.
type Options struct{}

// New makes the middleware.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name: Name,
		Doc:  "A list of what is to be done, kept with the session, with a reminder of what is open.",
		Tools: toolview.MustSet(
			toolview.New(tool(writeTool, "Update the list", writeDoc,
				"todo_write", "todowrite", "write_todos", "update_plan"), write),
			toolview.New(tool(readTool, "Read the list", readDoc,
				"todo_read", "todoread", "read_todos"), read),
		),
		Routes: []middleware.RouteDecl{route()},
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			l, err := load(ctx, env)
			if err != nil {
				return nil, err
			}
			return instance(l), nil
		},
	}
}

func tool(name, title, doc string, aliases ...string) toolview.Tool {
	return toolview.Tool{
		Decl:  toolview.Decl{Name: name, Aliases: aliases, Family: "todo", Category: "planning"},
		Title: title, Doc: strings.TrimSpace(doc), Effects: toolview.Internal,
	}
}

func route() middleware.RouteDecl {
	return middleware.RouteDecl{Name: "todos", Doc: "Shows what is to be done in this session."}
}

func instance(l *list) *middleware.Instance {
	return &middleware.Instance{
		State: l,
		Routes: []middleware.Route{{
			RouteDecl: route(),
			Run: func(context.Context, string) (middleware.RouteReply, error) {
				return middleware.RouteReply{Text: render(l.get())}, nil
			},
		}},
		Contribute: func(_ context.Context, s *middleware.Step, t *prompt.Tail) error {
			t.Add(reminder(l.get(), s.View))
			return nil
		},
		Child: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			child := &list{}
			if env.Agent.Fork {
				// A fork has read what its parent planned; from here on the two lists are apart.
				child.items = l.get()
			}
			return instance(child), nil
		},
	}
}
