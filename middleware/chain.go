package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Link is one middleware of the suite as a session has it. Instance is nil unless it is live or unsupported.
type Link struct {
	*Middleware
	Fate     Fate
	Instance *Instance

	own bool // this chain opened the instance and closes it
}

// on reports whether what the link brings, besides its gates, is there.
func (l *Link) on() bool { return l.Instance != nil && l.Fate.Status == Live }

// Opening is what a session lends its chain.
type Opening struct {
	State *meta.State
	// Env is the template; Owner, Policy and Store are set for each middleware.
	Env Env
	// Only names the middlewares that a resumed session had, and Policies their frozen policies: one that is not in it
	// had none. Only nil = whatever the state lets live, with the suite's policies.
	Only     map[string]bool
	Policies map[string]json.RawMessage
	// Store gives a middleware its own part of the session's store.
	Store func(owner string) Store
	// Notice and Report take notices and contained failures; both may be called from any goroutine.
	Notice func(owner, text string)
	Report func(Fault)
}

// Chain is the live middlewares of one session, in suite order. What it holds is fixed when it is opened; its methods
// are safe for concurrent use.
type Chain struct {
	suite *Suite
	links []Link
	open  Opening
	hooks hooks

	closing sync.Once
	closed  error
}

// Open starts every middleware that the state lets live, in order. When one fails, those that had started are closed in
// reverse and the error names the one.
func (s *Suite) Open(ctx context.Context, o Opening) (*Chain, error) {
	c := &Chain{suite: s, open: o, links: make([]Link, len(s.all))}
	for i, fate := range s.Plan(o.State) {
		m := &s.all[i]
		if o.Only != nil && !o.Only[m.Name] && fate.Status == Live {
			fate.Status, fate.Cause = Closed, "not part of this session when it was created"
		}
		for _, r := range m.Requires {
			if need := &c.links[s.index[r]].Fate; fate.Status == Live && (need.Status == Closed || need.Status == Cascaded) {
				fate = cascaded(m.Name, *need)
			}
		}
		c.links[i] = Link{Middleware: m, Fate: fate}
		if fate.Status != Live {
			continue
		}
		err := c.start(ctx, &c.links[i], m.Open)
		if err == nil {
			err = c.bring(&c.links[i])
		}
		if err != nil {
			return nil, errors.Join(err, c.abandon(ctx))
		}
	}
	if err := c.compile(nil); err != nil {
		return nil, errors.Join(err, c.abandon(ctx))
	}
	return c, nil
}

// Child makes the chain of a child session: RootOnly middlewares stay behind unless it is a fork, an instance is the
// parent's or comes from its Child, and every gate of the parent stays. An agent that brings
// what nobody runs and what could stop a call is an error.
func (c *Chain) Child(ctx context.Context, env Env, store func(owner string) Store) (*Chain, error) {
	o := c.open
	var taken []string
	env.taken = &taken
	o.Env, o.Store = env, store
	k := &Chain{suite: c.suite, open: o, links: make([]Link, len(c.links))}
	for i := range c.links {
		k.links[i] = c.links[i]
		l := &k.links[i]
		l.own = false
		switch {
		case l.Instance == nil:
		case l.RootOnly && !env.Agent.Fork:
			l.Instance, l.Fate = nil, Fate{Name: l.Name, Status: Closed, Cause: "not in named children"}
		case l.Fate.Status == Unsupported && l.Instance.Child != nil && len(env.Agent.Extras) > 0:
			// What the parent's lacks, the child's must not have, but for what its definition brings.
			lacking := l.Fate
			if err := k.start(ctx, l, l.Instance.Child); err != nil {
				return nil, errors.Join(err, k.abandon(ctx))
			}
			if l.Instance.BroughtTools == nil && l.Instance.Brought == nil {
				l.Fate, l.Instance.Unsupported = lacking, lacking.Cause
			}
		case l.Fate.Status == Unsupported:
			// What the parent's lacks, the child's must not have.
		case l.Instance.Child != nil:
			if err := k.start(ctx, l, l.Instance.Child); err != nil {
				return nil, errors.Join(err, k.abandon(ctx))
			}
		}
	}
	if err := untaken(env.Agent.Extras, taken); err != nil {
		return nil, errors.Join(err, k.abandon(ctx))
	}
	if err := k.compile(c); err != nil {
		return nil, errors.Join(err, k.abandon(ctx))
	}
	return k, nil
}

// Holds reports whether the chain of a child has something running that its own definition brought.
func (c *Chain) Holds() bool {
	for i := range c.links {
		if l := &c.links[i]; l.own && l.Instance != nil && (l.Instance.BroughtTools != nil || l.Instance.Brought != nil) {
			return true
		}
	}
	return false
}

// policy is what was frozen for a middleware when the session was created.
func (c *Chain) policy(l *Link) json.RawMessage {
	if p, frozen := c.open.Policies[l.Name]; frozen || c.open.Only != nil {
		return p
	}
	return l.Middleware.Policy
}

// start opens one instance, contained.
func (c *Chain) start(ctx context.Context, l *Link, open func(context.Context, Env) (*Instance, error)) error {
	child := l.Instance != nil
	l.Instance, l.own = &Instance{}, true
	if open == nil {
		return nil
	}
	env := c.open.Env
	env.Owner, env.Policy = l.Name, c.policy(l)
	if c.open.Store != nil {
		env.Store = c.open.Store(l.Name)
	}
	if note := c.open.Notice; note != nil {
		owner := l.Name
		env.Notice = func(text string) { note(owner, text) }
	} else {
		env.Notice = func(string) {}
	}
	err := contain(l.Name, "open", func() error {
		in, err := open(ctx, env)
		if in != nil {
			l.Instance = in
		} else if err == nil {
			err = errors.New("returned no instance")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("middleware: %w", err)
	}
	if err := l.honours(child); err != nil {
		return fmt.Errorf("middleware: %s: %w", l.Name, err)
	}
	l.Fate.Status, l.Fate.Cause = Live, ""
	if l.Instance.Unsupported != "" {
		l.Fate.Status, l.Fate.Cause = Unsupported, l.Instance.Unsupported
	}
	return nil
}

// honours reports where an instance brings something else than its middleware declares. A child's may leave its gate
// out, since it keeps its parent's.
func (l *Link) honours(child bool) error {
	gate := l.Instance.Hooks.Gate != nil
	if gate != l.Gates && (gate || !child) {
		return fmt.Errorf("declares Gates: %v and its instance has a gate: %v", l.Gates, gate)
	}
	if l.RootOnly && l.Instance.Hooks.Rewrite != nil {
		return errors.New("is RootOnly and brings a rewriter, which may deny: children would lose it")
	}
	for _, r := range l.Instance.Routes {
		if r.Run == nil {
			return fmt.Errorf("brings the route %q without a Run", r.Name)
		}
	}
	return nil
}

// abandon closes a chain that did not come to be, also when ctx has ended.
func (c *Chain) abandon(ctx context.Context) error { return c.Close(context.WithoutCancel(ctx)) }

// Close closes, in reverse, the instances that this chain opened. It keeps going, joins the errors and does its work
// once.
func (c *Chain) Close(ctx context.Context) error {
	c.closing.Do(func() {
		var errs []error
		for i := len(c.links) - 1; i >= 0; i-- {
			l := &c.links[i]
			if !l.own || l.Instance == nil || l.Instance.Close == nil {
				continue
			}
			if err := contain(l.Name, "close", func() error { return l.Instance.Close(ctx) }); err != nil {
				errs = append(errs, fmt.Errorf("middleware: %w", err))
			}
		}
		c.closed = errors.Join(errs...)
	})
	return c.closed
}

// Links returns every middleware of the suite with its fate. The slice is not to be changed.
func (c *Chain) Links() []Link { return c.links }

// Suite is what the chain was opened from.
func (c *Chain) Suite() *Suite { return c.suite }

// Link finds a middleware by name.
func (c *Chain) Link(name string) (*Link, bool) {
	i, ok := c.suite.index[name]
	if !ok {
		return nil, false
	}
	return &c.links[i], true
}

// Bands are the chain's tools, live and closed, for a view to be derived from.
func (c *Chain) Bands() (live, closed []toolview.Band) {
	live = make([]toolview.Band, 0, len(c.links))
	for i := range c.links {
		l := &c.links[i]
		if l.Instance == nil {
			for _, set := range []*toolview.Set{l.Tools, l.Deferred} {
				if set.Len() > 0 {
					closed = append(closed, toolview.Band{Owner: l.Name, Set: set, Closed: l.Fate.Cause})
				}
			}
			continue
		}
		in := l.Instance
		add := func(set *toolview.Set, src toolview.Source, deferred, brought bool) {
			if set.Len() > 0 || src != nil {
				live = append(live, toolview.Band{
					Owner: l.Name, Set: set, Source: src, Deferred: deferred, State: in.State,
					Prefix: l.Dynamic, Unsupported: in.Unsupported, Brought: brought,
				})
			}
		}
		add(l.Tools, in.Tools, false, false)
		add(l.Middleware.Deferred, in.Deferred, true, false)
		add(nil, in.BroughtTools, false, true)
		add(nil, in.Brought, true, true)
	}
	return live, closed
}

// Base renders the segments of the live middlewares.
func (c *Chain) Base() *prompt.Base {
	var out []prompt.Rendered
	for i := range c.links {
		l := &c.links[i]
		if !l.on() {
			continue
		}
		for _, s := range l.Segments {
			if r, ok := prompt.Render(l.Name, s, c.open.State, l.Instance.Vars); ok {
				out = append(out, r)
			}
		}
	}
	return prompt.NewBase(out)
}

// Agent finds who may be spawned by that name, and whose it is.
func (c *Chain) Agent(name string, paused map[string]bool) (toolview.Spawn, bool) {
	for i := range c.links {
		if l := &c.links[i]; l.on() && !paused[l.Name] && l.Instance.Agents != nil {
			if s, ok := l.Instance.Agents.Agent(name); ok {
				return s, true
			}
		}
	}
	return toolview.Spawn{}, false
}

// Starter is who starts agents for others: the first in the chain.
func (c *Chain) Starter(paused map[string]bool) (Starter, bool) {
	for i := range c.links {
		if l := &c.links[i]; l.on() && !paused[l.Name] && l.Instance.Agents != nil {
			if s, ok := l.Instance.Agents.(Starter); ok {
				return s, true
			}
		}
	}
	return nil, false
}

// Commands are the routes that the link has now, whether it is paused or not.
func (l *Link) Commands() []Route {
	if !l.on() {
		return nil
	}
	out := l.Instance.Routes
	if l.Instance.LiveRoutes == nil {
		return out
	}
	for _, r := range l.Instance.LiveRoutes() {
		if r.Run != nil {
			out = append(out[:len(out):len(out)], r)
		}
	}
	return out
}

// Diagnostics are what the live middlewares find wrong with themselves at the moment, in chain order.
func (c *Chain) Diagnostics() []meta.Diagnostic {
	var out []meta.Diagnostic
	for i := range c.links {
		if l := &c.links[i]; l.on() && l.Instance.Diagnostics != nil {
			out = append(out, l.Instance.Diagnostics()...)
		}
	}
	return out
}
