// Package workflow runs agents by a script: who does what, in which order, and what becomes of the reports is fixed and
// not a model's to decide. What finished is kept with the session, so that a run that was stopped goes on where it was.
package workflow

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "WorkflowMiddleware"

// Tool is its tool.
const Tool = "Workflow"

//go:embed Workflow.md
var doc string

// Options are the limits of delegation, as its owner has them. They are the session's policy: frozen and stored with it.
type Options struct {
	// Depth is how many agents may stand above one another, 0 = 1; below 0 nothing can be delegated.
	Depth int `json:"depth"`
	// Multitask is how many agents of a script work at a time, 0 = 5.
	Multitask int `json:"multitask"`
}

var route = middleware.RouteDecl{Name: "workflows", Doc: "Lists the project's workflows, and the runs that were stopped."}

// New makes the middleware.
func New(o Options) middleware.Middleware {
	o = Options{Depth: cmp.Or(o.Depth, 1), Multitask: cmp.Or(o.Multitask, 5)}
	policy, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("workflow: %v", err)) // two numbers always marshal
	}
	open, barred := tool(""), tool("the depth limit of delegation is reached")
	f := factory{open: toolview.MustSet(open), barred: toolview.MustSet(barred)}
	return middleware.Middleware{
		Name:        Name,
		Doc:         "Runs agents by a script, and goes on with one that was stopped.",
		Deferred:    f.open,
		Routes:      []middleware.RouteDecl{route},
		RouteFamily: true,
		Requires:    []string{"SubAgentMiddleware"},
		Policy:      policy,
		Open:        f.start,
	}
}

func tool(unsupported string) toolview.Tool {
	return toolview.NewFlow(toolview.Tool{
		Decl:  toolview.Decl{Name: Tool, Aliases: []string{"workflow", "run_workflow"}, Family: "workflow", Private: true},
		Title: "Run a workflow", Doc: strings.TrimSpace(doc), Effects: toolview.Internal, Unsupported: unsupported,
		Subjects: toolview.Subjects(func(in args) []toolview.Subject {
			return []toolview.Subject{{Kind: toolview.Name, Value: cmp.Or(in.Name, inline)}}
		}),
	}, run)
}

// factory opens the middleware. It is immutable.
type factory struct{ open, barred *toolview.Set }

func (f factory) start(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
	var o Options
	if err := json.Unmarshal(env.Policy, &o); err != nil {
		return nil, fmt.Errorf("workflow: the session's policy: %w", err)
	}
	list, fresh, err := stored(ctx, env)
	if err != nil {
		return nil, err
	}
	now := &limits{}
	now.Store(&o)
	in, err := f.instance(ctx, env, now, list)
	if err != nil {
		return nil, err
	}
	// What was read is fixed for the session from its first turn on. Before that there is no journal to keep it in.
	in.Hooks.Start = func(ctx context.Context) error {
		if !fresh || env.Store == nil {
			return nil
		}
		return keep(ctx, env.Store, list)
	}
	return in, nil
}

// instance serves one session. A child has runs of its own and the parent's workflows.
func (f factory) instance(ctx context.Context, env middleware.Env, now *limits, list []Stored) (*middleware.Instance, error) {
	s := &state{stored: list, limits: now, journal: journal{store: env.Store}}
	if err := s.journal.load(ctx); err != nil {
		return nil, err
	}
	in := &middleware.Instance{State: s, Routes: s.routes(), Tune: now.tune()}
	in.Deferred = toolview.SourceFunc(func() *toolview.Set {
		if env.Agent.Depth >= now.Load().Depth {
			return f.barred
		}
		return f.open
	})
	in.Child = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		return f.instance(ctx, env, now, list)
	}
	return in, nil
}

// routes are /workflows and one for each stored workflow. A route makes a prompt: who runs the workflow is the model, so
// that the call is judged like any other.
func (s *state) routes() []middleware.Route {
	out := []middleware.Route{{RouteDecl: route, Run: func(context.Context, string) (middleware.RouteReply, error) {
		return middleware.RouteReply{Text: s.describe()}, nil
	}}}
	for _, w := range s.stored {
		out = append(out, middleware.Route{
			RouteDecl: middleware.RouteDecl{Name: w.Name, Doc: w.Doc, Args: "what the workflow is to be told"},
			Run: func(_ context.Context, text string) (middleware.RouteReply, error) {
				call, err := prompt(w.Name, text)
				return middleware.RouteReply{Prompt: call}, err
			},
		})
	}
	return out
}

func prompt(name, text string) (string, error) {
	in := map[string]any{"name": name}
	if text = strings.TrimSpace(text); text != "" {
		in["args"] = text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in); err != nil {
		return "", fmt.Errorf("workflow: %w", err)
	}
	return fmt.Sprintf("Run the stored workflow `%s`: call `%s` with %s and tell me what it returns.", name, Tool, strings.TrimSpace(b.String())), nil
}
