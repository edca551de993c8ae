package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// owned is one hook with the name of its owner.
type owned[F any] struct {
	owner string
	f     F
}

// hooks are a chain's hooks by kind, in chain order, gathered once.
type hooks struct {
	gates      []owned[func(context.Context, []*toolview.Call, []Verdict)]
	rewrites   []owned[func(context.Context, []*toolview.Call, []Verdict)]
	asked      []owned[func(context.Context, *toolview.Call, Verdict) Verdict]
	batches    []owned[func(context.Context, *Step, []*message.Use, []*message.Result)]
	approved   []owned[func(context.Context, *toolview.Call, Verdict, string) error]
	models     []owned[func(ModelFunc) ModelFunc]
	starts     []owned[func(context.Context) error]
	ends       []owned[func(context.Context)]
	inputs     []owned[func(context.Context, *Input) error]
	replies    []owned[func(context.Context, *Step, *message.Message)]
	results    []owned[func(context.Context, *toolview.Call, *message.Result)]
	stops      []owned[func(context.Context, *Step) (string, error)]
	contribute []owned[func(context.Context, *Step, *prompt.Tail) error]
	history    owned[func(context.Context, *Step, []*message.Message) ([]*message.Message, error)]
	tool       ToolFunc
}

// compile gathers the hooks and composes the onion of tools. A child keeps its parent's gates before its own.
func (c *Chain) compile(parent *Chain) error {
	h := &c.hooks
	if parent != nil {
		h.gates = append(h.gates, parent.hooks.gates...)
	}
	var tools []owned[func(ToolFunc) ToolFunc]
	var errs []error
	for i := range c.links {
		l := &c.links[i]
		if l.Instance == nil {
			continue
		}
		k := &l.Instance.Hooks
		if l.own || parent == nil {
			h.gates = with(h.gates, l.Name, k.Gate != nil, k.Gate)
		}
		rewrite := k.Rewrite
		if !l.on() {
			rewrite = nil
		}
		if rewrite == nil && parent != nil {
			// A rewriter may deny, so a child whose own instance lacks it keeps its parent's.
			rewrite = parent.hooks.rewriteOf(l.Name)
		}
		h.rewrites = with(h.rewrites, l.Name, rewrite != nil, rewrite)
		if !l.on() {
			continue
		}
		h.asked = with(h.asked, l.Name, k.Asked != nil, k.Asked)
		h.batches = with(h.batches, l.Name, k.Batch != nil, k.Batch)
		h.approved = with(h.approved, l.Name, k.Approved != nil, k.Approved)
		h.models = with(h.models, l.Name, k.WrapModel != nil, k.WrapModel)
		tools = with(tools, l.Name, k.WrapTool != nil, k.WrapTool)
		// A shared instance began with the parent and ends with it.
		h.starts = with(h.starts, l.Name, l.own && k.Start != nil, k.Start)
		h.ends = with(h.ends, l.Name, l.own && k.End != nil, k.End)
		h.inputs = with(h.inputs, l.Name, k.Input != nil, k.Input)
		h.replies = with(h.replies, l.Name, k.Reply != nil, k.Reply)
		h.results = with(h.results, l.Name, k.Result != nil, k.Result)
		h.stops = with(h.stops, l.Name, k.Stop != nil, k.Stop)
		h.contribute = with(h.contribute, l.Name, l.Instance.Contribute != nil, l.Instance.Contribute)
		if k.History != nil {
			if h.history.f != nil {
				errs = append(errs, fmt.Errorf("middleware: %s rewrites the history, which %s does already", l.Name, h.history.owner))
			}
			h.history.owner, h.history.f = l.Name, k.History
		}
	}
	var err error
	if h.tool, err = onionOfTools(tools); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (h *hooks) rewriteOf(owner string) func(context.Context, []*toolview.Call, []Verdict) {
	for i := range h.rewrites {
		if h.rewrites[i].owner == owner {
			return h.rewrites[i].f
		}
	}
	return nil
}

func with[F any](list []owned[F], owner string, set bool, f F) []owned[F] {
	if !set {
		return list
	}
	return append(list, owned[F]{owner, f})
}

func (c *Chain) report(err error) {
	var f Fault
	if err != nil && c.open.Report != nil && errors.As(err, &f) {
		c.open.Report(f)
	}
}

// Start runs the start hooks. A failing one is reported and stops no other.
func (c *Chain) Start(ctx context.Context) {
	for i := range c.hooks.starts {
		h := &c.hooks.starts[i]
		c.report(contain(h.owner, "start", func() error { return h.f(ctx) }))
	}
}

// End runs the end hooks.
func (c *Chain) End(ctx context.Context) {
	for i := range c.hooks.ends {
		h := &c.hooks.ends[i]
		c.report(contain(h.owner, "end", func() error { h.f(ctx); return nil }))
	}
}

// Input lets the prompt hooks see and extend a prompt, in order. The first error refuses it.
func (c *Chain) Input(ctx context.Context, in *Input) error {
	for i := range c.hooks.inputs {
		h := &c.hooks.inputs[i]
		if err := contain(h.owner, "input", func() error { return h.f(ctx, in) }); err != nil {
			return err
		}
	}
	return nil
}

// Reply tells the observers of a model's message.
func (c *Chain) Reply(ctx context.Context, s *Step, m *message.Message) {
	for i := range c.hooks.replies {
		c.reply(ctx, &c.hooks.replies[i], s, m)
	}
}

func (c *Chain) reply(ctx context.Context, h *owned[func(context.Context, *Step, *message.Message)], s *Step, m *message.Message) {
	defer c.recovered(h.owner, "reply")
	h.f(ctx, s, m)
}

// Approved tells who keeps answers that a person approved a call for longer than once.
func (c *Chain) Approved(ctx context.Context, call *toolview.Call, v Verdict, scope string) {
	for i := range c.hooks.approved {
		h := &c.hooks.approved[i]
		c.report(contain(h.owner, "approved", func() error { return h.f(ctx, call, v, scope) }))
	}
}

// Result tells the observers of a call's result.
func (c *Chain) Result(ctx context.Context, call *toolview.Call, r *message.Result) {
	for i := range c.hooks.results {
		c.result(ctx, &c.hooks.results[i], call, r)
	}
}

func (c *Chain) result(ctx context.Context, h *owned[func(context.Context, *toolview.Call, *message.Result)], call *toolview.Call, r *message.Result) {
	defer c.recovered(h.owner, "result")
	h.f(ctx, call, r)
}

// recovered contains an observer's panic; it is deferred.
func (c *Chain) recovered(owner, hook string) {
	if p := recover(); p != nil {
		c.report(Fault{owner, hook, fmt.Errorf("panic: %v", p)})
	}
}

// Batch tells the observers that every call of a step has its result.
func (c *Chain) Batch(ctx context.Context, s *Step, uses []*message.Use, results []*message.Result) {
	for i := range c.hooks.batches {
		h := &c.hooks.batches[i]
		c.report(contain(h.owner, "batch", func() error { h.f(ctx, s, uses, results); return nil }))
	}
}

// Stop asks the stop hooks, in order, whether the turn goes on; the first text does.
func (c *Chain) Stop(ctx context.Context, s *Step) string {
	for i := range c.hooks.stops {
		h := &c.hooks.stops[i]
		var more string
		c.report(contain(h.owner, "stop", func() (err error) { more, err = h.f(ctx, s); return err }))
		if more != "" {
			return more
		}
	}
	return ""
}

// History is what the model is sent of the conversation. A rewriter that fails, or leaves nothing, leaves it as it is.
func (c *Chain) History(ctx context.Context, s *Step) []*message.Message {
	h := &c.hooks.history
	if h.f == nil {
		return s.Messages
	}
	out := s.Messages
	err := contain(h.owner, "history", func() error {
		m, err := h.f(ctx, s, s.Messages)
		switch {
		case err != nil:
			return err
		case len(m) == 0 && len(s.Messages) > 0:
			return errors.New("left nothing of the conversation")
		}
		out = m
		return nil
	})
	c.report(err)
	return out
}

// Contribute collects the contributions of a request; one that fails drops its own part alone.
func (c *Chain) Contribute(ctx context.Context, s *Step, paused map[string]bool) []prompt.Contribution {
	if len(c.hooks.contribute) == 0 {
		return nil
	}
	var tail prompt.Tail
	for i := range c.hooks.contribute {
		h := &c.hooks.contribute[i]
		if paused[h.owner] {
			continue
		}
		c.report(tail.Collect(h.owner, func(t *prompt.Tail) error {
			return contain(h.owner, "contribute", func() error { return h.f(ctx, s, t) })
		}))
	}
	return tail.Parts()
}

// Tool runs one judged call through the wrappers of the chain.
func (c *Chain) Tool(ctx context.Context, call *toolview.Call) (*message.Result, error) {
	return c.hooks.tool(judged(ctx, call), call)
}

// Model composes the chain's wrappers around a model, once for a session.
func (c *Chain) Model(base ModelFunc) (ModelFunc, error) { return onionOfModels(c.hooks.models, base) }
