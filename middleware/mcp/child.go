package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// extra is a server that an agent's definition, or another middleware, brings.
type extra struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Origin  meta.Origin       `json:"origin"`
}

// brought reads the servers that others bring into a session.
func brought(env middleware.Env) ([]Server, error) {
	var out []Server
	for _, x := range env.Extras(toolview.ExtraServers) {
		var list []extra
		if err := json.Unmarshal(x.Value, &list); err != nil {
			return nil, fmt.Errorf("mcp: servers that are brought along: %w", err)
		}
		for _, e := range list {
			out = append(out, Server{
				Name: e.Name, Command: e.Command, Args: e.Args, Env: e.Env, URL: e.URL, Headers: e.Headers, Origin: e.Origin,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return out, Options{Servers: out}.Check()
}

// child makes the instance of a child session: the servers of the session, over the same connections, and beside them those
// that the agent's definition brings, which belong to it alone and end with it. A fork has all that its parent has.
func (h *hub) child(parent *middleware.Instance) func(context.Context, middleware.Env) (*middleware.Instance, error) {
	return func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		shared := h.instance()
		if env.Agent.Fork {
			shared = *parent
		}
		shared.Close, shared.Child = nil, h.child(&shared)
		own, err := brought(env)
		if err != nil || len(own) == 0 {
			return &shared, err
		}
		own = slices.DeleteFunc(own, func(s Server) bool {
			_, taken := h.named(s.Name)
			if taken {
				env.Notice(fmt.Sprintf("agent %s: its server %s is not started, since the session has one of this name, which it uses", env.Agent.Name, s.Name))
			}
			return taken
		})
		opt := h.opt
		opt.Servers = own
		k, err := newHub(env, opt, nil)
		if err != nil {
			return nil, err
		}
		k.start()
		if err := k.wait(ctx); err != nil {
			return nil, errors.Join(err, k.close(ctx))
		}
		inst := shared
		inst.Unsupported = ""
		inst.BroughtTools, inst.Brought = &k.direct, &k.deferred
		inst.LiveRoutes = func() []middleware.Route { return slices.Concat(h.commands(), k.commands()) }
		inst.Facts = func() []middleware.Fact { return slices.Concat(h.facts(), k.facts()) }
		inst.Diagnostics = func() []meta.Diagnostic { return slices.Concat(h.diagnostics(), k.diagnostics()) }
		inst.Close = k.close
		inst.Child = h.child(&inst)
		return &inst, nil
	}
}
