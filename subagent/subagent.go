package subagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "SubAgentMiddleware"

// The tools of the middleware.
const (
	AgentTool    = "Agent"
	ResultTool   = "AgentResult"
	GenerateTool = "GenerateAgent"
)

// Options are a catalog and the limits of delegation. All of it is the session's policy: frozen and stored with it.
type Options struct {
	// Catalog is who can be delegated to; nil = nobody but forks.
	Catalog *Catalog
	// Depth is how many agents may stand above one another, 0 = 1; below 0 nothing can be delegated.
	Depth int
	// Multitask is how many entries `tasks` may have, 0 = 5.
	Multitask int
	// MaxTurns bounds the steps of every agent, 0 = 50.
	MaxTurns int
}

var route = middleware.RouteDecl{Name: "agents", Doc: "Lists the agents that work can be handed to, and where they come from."}

// New is the middleware. The tools of a session are built here, once with and once without the built-in definitions,
// and shared by every session.
func New(o Options) middleware.Middleware {
	limits := policy{Depth: cmp.Or(o.Depth, 1), Multitask: cmp.Or(o.Multitask, 5), MaxTurns: cmp.Or(o.MaxTurns, 50)}
	frozen := limits
	frozen.Agents = o.Catalog.All()
	raw, err := json.Marshal(frozen)
	if err != nil {
		panic(fmt.Sprintf("subagent: %v", err))
	}
	f := factory{policy: raw, full: newRoster(o.Catalog, limits), bare: newRoster(o.Catalog.Without(BuiltIn), limits)}
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Lets the model hand work to agents with contexts of their own.",
		Upstream: []string{"AgentDefineMiddleware"},
		Segments: []prompt.Segment{{
			ID: "11_subagent", Zone: prompt.Live, Order: 110, Text: prompt.Text("11_subagent"),
			Needs: []string{AgentTool},
		}},
		Tools:  toolview.MustSet(agentTool(), resultTool(), generateTool()),
		Routes: []middleware.RouteDecl{route},
		Policy: raw,
		Open:   f.open,
	}
}

// factory opens the middleware. It is immutable.
type factory struct {
	policy     []byte
	full, bare *roster
}

// open serves the policy that the session was created with, which after a resume may be another than the program's.
func (f *factory) open(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
	r := f.full
	if !env.BuiltInSubagents {
		r = f.bare
	}
	if !bytes.Equal(env.Policy, f.policy) {
		var stored policy
		if err := json.Unmarshal(env.Policy, &stored); err != nil {
			return nil, fmt.Errorf("subagent: the session's policy: %w", err)
		}
		c := NewCatalog(stored.Agents...)
		if !env.BuiltInSubagents {
			c = c.Without(BuiltIn)
		}
		r = newRoster(c, stored)
	}
	r, err := r.with(env.Extras(toolview.ExtraAgents))
	if err != nil {
		return nil, err
	}
	now := &limits{}
	now.Store(&r.limits)
	return instance(ctx, env, r, now)
}

// instance serves one session; a child has another, with agents of its own making and the same limits.
func instance(ctx context.Context, env middleware.Env, r *roster, now *limits) (*middleware.Instance, error) {
	s := &state{roster: r, limits: now, store: env.Store, root: env.Project.Root}
	if err := s.restore(ctx); err != nil {
		return nil, err
	}
	return &middleware.Instance{
		State: s,
		Tools: toolview.SourceFunc(func() *toolview.Set {
			if env.Agent.Depth >= now.Load().Depth {
				return r.barred
			}
			return r.tools
		}),
		Tune: now.tune(),
		Routes: []middleware.Route{{RouteDecl: route, Run: func(context.Context, string) (middleware.RouteReply, error) {
			return middleware.RouteReply{Text: r.describe(s.made())}, nil
		}}},
		Agents: s,
		Child: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return instance(ctx, env, r, now)
		},
	}, nil
}
