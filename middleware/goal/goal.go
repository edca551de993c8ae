// Package goal keeps a session at its goal: while one is open, a turn that would end goes on, within bounds, until the
// model says that the goal is met.
package goal

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "GoalMiddleware"

const goalTool = "Goal"

//go:embed Goal.md
var goalDoc string

// Options bound the work on a goal. The zero value of a field is its default.
type Options struct {
	// Rounds is how often one prompt of the user is continued at most; 0 = 25. The session's own limit of steps holds
	// besides.
	Rounds int
}

const defaultRounds = 25

// New makes the middleware.
func New(o Options) middleware.Middleware {
	if o.Rounds <= 0 {
		o.Rounds = defaultRounds
	}
	return middleware.Middleware{
		Name: Name,
		Doc:  "Keeps going until the session's goal is met, within bounds.",
		Deferred: toolview.MustSet(toolview.New(toolview.Tool{
			Decl:  toolview.Decl{Name: goalTool, Aliases: []string{"set_goal", "goal_done"}, Family: "goal", Category: "planning", Private: true},
			Title: "Set or close the goal", Doc: strings.TrimSpace(goalDoc), Effects: toolview.Internal,
		}, run)),
		Routes: []middleware.RouteDecl{route()},
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			p, err := load(ctx, env)
			if err != nil {
				return nil, err
			}
			p.rounds = o.Rounds
			return instance(p), nil
		},
	}
}

func route() middleware.RouteDecl {
	return middleware.RouteDecl{Name: "goal", Doc: "Shows the goal of this session; clear gives it up, anything else sets it and starts.", Args: "[clear | GOAL]"}
}

func instance(p *pursuit) *middleware.Instance {
	return &middleware.Instance{
		State: p,
		Hooks: middleware.Hooks{
			Input:  func(context.Context, *middleware.Input) error { p.begin(); return nil },
			Result: func(_ context.Context, c *toolview.Call, r *message.Result) { p.saw(c, r) },
			Stop:   func(_ context.Context, s *middleware.Step) (string, error) { return p.more(s.View), nil },
		},
		Routes: []middleware.Route{{RouteDecl: route(), Run: p.command}},
		Contribute: func(_ context.Context, s *middleware.Step, t *prompt.Tail) error {
			t.Add(p.reminder(s.View))
			return nil
		},
		// A child answers its parent and is not kept at the parent's goal. It may have one of its own, in memory.
		Child: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return instance(&pursuit{rounds: p.rounds, notice: env.Notice}), nil
		},
	}
}

type goalArgs struct {
	Goal string `json:"goal,omitempty" doc:"what is to be reached, so that it can be checked" max:"4000"`
	Done bool   `json:"done,omitempty" doc:"the open goal is met, or given up by the user"`
}

func run(ctx context.Context, p *pursuit, _ *toolview.Call, in goalArgs) (*message.Result, error) {
	text := strings.TrimSpace(in.Goal)
	open := p.get()
	switch {
	case in.Done && open == "":
		return message.Fail("Nothing was closed: no goal is open."), nil
	case in.Done:
		return message.Say("The goal is closed: " + open), p.set(ctx, "")
	case text != "":
		if err := p.set(ctx, text); err != nil {
			return nil, err
		}
		return message.Say("The goal is open: " + text), nil
	case open == "":
		return message.Say("No goal is open."), nil
	}
	return message.Say("The goal is open: " + open), nil
}

// command is the route.
func (p *pursuit) command(ctx context.Context, args string) (middleware.RouteReply, error) {
	open := p.get()
	switch {
	case args == "" && open == "":
		return middleware.RouteReply{Text: "No goal is open."}, nil
	case args == "":
		return middleware.RouteReply{Text: "The goal is open: " + open}, nil
	case args == "clear" && open == "":
		return middleware.RouteReply{Text: "No goal was open."}, nil
	case args == "clear":
		return middleware.RouteReply{Text: "The goal is given up: " + open}, p.set(ctx, "")
	}
	if err := p.set(ctx, args); err != nil {
		return middleware.RouteReply{}, err
	}
	return middleware.RouteReply{Prompt: "Work on this until it is reached: " + args}, nil
}

// reminder is what a request says of an open goal, which a shortened conversation may have lost.
func (p *pursuit) reminder(view *toolview.View) string {
	open := p.get()
	if open == "" || !view.HasAny([]string{goalTool}) {
		return ""
	}
	return fmt.Sprintf("The goal of this session is open: %s\nClose it with `%s` and `done: true` once you have checked that it is met.", open, goalTool)
}
