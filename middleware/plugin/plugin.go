// Package plugin is the middleware of plugins: folders with a manifest that bring commands, and for other middlewares to
// run, skills, agents, hooks and MCP servers. All of it is in the frozen policy of this one, so that it leaves with it.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "PluginMiddleware"

// Options are the plugins that apply, in order of precedence. They are the session's policy: frozen and stored with it.
type Options struct {
	Plugins []Plugin `json:"plugins,omitempty"`
}

// Plugin is one plugin as a session has it.
type Plugin struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Origin is whose it is, a project's or a user's, and its manifest.
	Origin   meta.Origin `json:"origin"`
	Commands []Command   `json:"commands,omitempty"`
	Brings   []Brought   `json:"brings,omitempty"`
}

// Brought is what a plugin brings of one kind for another middleware to run.
type Brought struct {
	// Kind is one of toolview's Extra… constants, and says what Value is.
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
	Items []Item          `json:"items"`
}

// Item is one thing in a Brought, as people know it.
type Item struct {
	Name   string      `json:"name"`
	Doc    string      `json:"doc,omitempty"`
	Origin meta.Origin `json:"origin"`
}

// New is the middleware.
func New(o Options) (middleware.Middleware, error) {
	policy, err := json.Marshal(o)
	if err != nil {
		return middleware.Middleware{}, fmt.Errorf("plugin: %w", err)
	}
	return middleware.Middleware{
		Name:        Name,
		Doc:         "Brings what plugins hold: commands, and skills, agents, hooks and servers for others to run.",
		RouteFamily: true,
		Policy:      policy,
		Extras:      extras,
		Open:        open,
	}, nil
}

func frozen(policy json.RawMessage) (Options, error) {
	var o Options
	if len(policy) == 0 {
		return o, errors.New("plugin: the session has no policy for it")
	}
	if err := json.Unmarshal(policy, &o); err != nil {
		return o, fmt.Errorf("plugin: the session's policy: %w", err)
	}
	return o, nil
}

func extras(policy json.RawMessage) ([]toolview.Extra, error) {
	o, err := frozen(policy)
	if err != nil {
		return nil, err
	}
	var out []toolview.Extra
	for _, p := range o.Plugins {
		for _, b := range p.Brings {
			out = append(out, toolview.Extra{Kind: b.Kind, Value: b.Value})
		}
	}
	return out, nil
}

func open(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	o, err := frozen(env.Policy)
	if err != nil {
		return nil, err
	}
	if len(o.Plugins) == 0 {
		return &middleware.Instance{Unsupported: "there are no plugins"}, nil
	}
	return (&session{o: &o}).instance(o.facts())
}
