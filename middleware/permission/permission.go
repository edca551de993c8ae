// Package permission is the middleware that decides which visible calls run at once, which wait for a person and
// which do not run.
//
// A path rule is about names. It holds through symbolic links, `..`, the project's own absolute path, and another case
// where the file system ignores case. A hard link is another name of a file that no look at the name can tell from the
// first: making one is judged as an edit of both, and one that was there before is not covered. Likewise a rule about a
// command is about its name: a copy of the program under another is another command.
package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "PermissionMiddleware"

// Options are a mode and the rules of all layers. They are the session's policy: frozen and stored with it.
type Options struct {
	// Mode is one of Modes; "" = Default.
	Mode  string `json:"mode"`
	Allow []Rule `json:"allow,omitempty"`
	Ask   []Rule `json:"ask,omitempty"`
	Deny  []Rule `json:"deny,omitempty"`
	// Home is the folder in which answers that hold for ever are kept; "" = they hold for the session. It is the
	// machine's and no policy.
	Home string `json:"-"`
}

type namedRules struct {
	name  string
	rules []Rule
}

// lists are the rules, the strictest first.
func (o Options) lists() []namedRules {
	return []namedRules{{"deny", o.Deny}, {"ask", o.Ask}, {"allow", o.Allow}}
}

var route = middleware.RouteDecl{Name: "permissions", Doc: "Shows the permission mode and the rules."}

// New is the middleware. A mode or rule that it cannot enforce is an error that names its place; all of them are
// reported together.
func New(o Options) (middleware.Middleware, error) {
	if o.Mode == "" {
		o.Mode = string(Default)
	}
	if _, err := newGate(o); err != nil {
		return middleware.Middleware{}, err
	}
	policy, err := json.Marshal(o)
	if err != nil {
		return middleware.Middleware{}, fmt.Errorf("permission: %w", err)
	}
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Decides whether a visible call runs, waits for approval or is denied.",
		Segments: []prompt.Segment{{ID: "10_hitl", Zone: prompt.Live, Order: 100, Text: prompt.Text("10_hitl")}},
		Routes:   []middleware.RouteDecl{route},
		Gates:    true,
		Policy:   policy,
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return open(ctx, env, o.Home)
		},
	}, nil
}

// open builds the gate from the stored policy, so that a resumed session is judged as on its first day.
func open(ctx context.Context, env middleware.Env, home string) (*middleware.Instance, error) {
	if len(env.Policy) == 0 {
		return nil, errors.New("permission: the session has no policy for it")
	}
	var o Options
	if err := json.Unmarshal(env.Policy, &o); err != nil {
		return nil, fmt.Errorf("permission: the session's policy: %w", err)
	}
	g, err := newGate(o)
	if err != nil {
		return nil, err
	}
	if g.answers, err = openAnswers(ctx, env, home); err != nil {
		return nil, err
	}
	userHome, _ := os.UserHomeDir() // without one, rules about it match nothing
	g.at = toolview.PlaceOf(env.Project.Root, userHome)
	return g.instance(env)
}

func newGate(o Options) (*gate, error) {
	g := &gate{options: o, modes: []Mode{Mode(o.Mode)}}
	var errs []error
	if !known(Mode(o.Mode)) {
		errs = append(errs, fmt.Errorf("permission: permissions.mode: %q is no mode: write one of %s", o.Mode, modeNames()))
	}
	compiled := map[string][]rule{}
	for _, l := range o.lists() {
		m, err := compile(l.name, l.rules)
		compiled[l.name] = m
		errs = append(errs, err)
	}
	g.deny, g.ask, g.allow = compiled["deny"], compiled["ask"], compiled["allow"]
	return g, errors.Join(errs...)
}

// instance is a gate at work in a session. A child's is the same under the stricter, cell by cell, of the modes above
// it and its own.
func (g *gate) instance(env middleware.Env) (*middleware.Instance, error) {
	own := *g
	if !env.Agent.Fork {
		own.agent = env.Agent.Name
	}
	if m := Mode(env.Agent.Mode); m != "" {
		if !known(m) {
			return nil, fmt.Errorf("permission: agent %s: permissionMode: %q is no mode: write one of %s", env.Agent.Name, m, modeNames())
		}
		own.modes = append(own.modes[:len(own.modes):len(own.modes)], m)
	}
	rules, err := toolview.NewRuleset(env.Agent.Rules)
	if err != nil {
		return nil, fmt.Errorf("permission: agent %s: %w", env.Agent.Name, err)
	}
	if rules != nil {
		own.rulesets = append(own.rulesets[:len(own.rulesets):len(own.rulesets)], rules)
	}
	return &middleware.Instance{
		State: &own,
		Hooks: middleware.Hooks{Gate: own.judge, Approved: own.approved},
		Routes: []middleware.Route{{RouteDecl: route, Run: func(context.Context, string) (middleware.RouteReply, error) {
			return middleware.RouteReply{Text: own.describe()}, nil
		}}},
		Child: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) { return own.instance(env) },
	}, nil
}

// describe is the answer to /permissions.
func (g *gate) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Mode: %s\n", g.modeText())
	none := true
	for _, l := range g.options.lists() {
		for _, r := range l.rules {
			none = false
			fmt.Fprintf(&b, "%s %s (%s)\n", l.name, r.Text, r.Origin)
		}
	}
	if none {
		b.WriteString("No rules.\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (g *gate) modeText() string {
	var words []string
	for i, m := range g.modes {
		if i == 0 || m != g.modes[i-1] {
			words = append(words, string(m))
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words, " + ") + ", the strictest of which holds"
}
