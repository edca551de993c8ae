package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Input looks up a route, runs the prompt hooks and records the prompt.
func (rt *local) Input(in Input) (Input, error) {
	s := rt.s
	if err := rt.Err(); err != nil {
		return in, err
	}
	if !s.started {
		s.started = true
		s.chain.Start(rt.ctx)
	}
	in, err := rt.route(in)
	if err != nil {
		return in, err
	}
	if in.Answer == nil {
		m := middleware.Input{Parts: slices.Clone(in.Parts), Owner: in.Owner, Call: rt.early}
		if err := s.chain.Input(rt.ctx, &m); err != nil {
			return in, refused(err)
		}
		in.Parts = m.Parts
	}
	prompt := &message.Message{Role: message.User, Parts: in.Parts}
	rt.append(prompt)
	rt.Emit(message.Event{Kind: message.TurnStart, Owner: in.Owner, Message: prompt})
	if in.Answer != nil {
		rt.append(in.Answer)
		rt.Emit(message.Event{Kind: message.Reply, Message: in.Answer})
	}
	return in, nil
}

// early runs one call for a prompt hook, before the first step. It is no part of the transcript.
func (rt *local) early(in toolview.Inner) *message.Result {
	s := rt.s
	view, _, _ := s.snapshot()
	rt.step = middleware.Step{Session: s.id, Agent: s.agent.Name, View: view}
	by := &Ready{Use: &message.Use{ID: "prompt"}}
	ready := make([]Ready, 1)
	rt.Judge(nil, by, []*message.Use{{ID: rt.NewID(), Name: in.Name, Args: in.Args}}, ready)
	decide(rt, ready)
	return outcome(rt, &Step{}, &ready[0])
}

// route runs the slash command that a prompt begins with. A name that no live, active owner has is answered alike,
// whether it is closed, paused or misspelt.
func (rt *local) route(in Input) (Input, error) {
	if in.Owner != "" || len(in.Parts) == 0 || in.Parts[0].Kind != message.Text {
		return in, nil
	}
	name, args, ok := slash(in.Parts[0].Text)
	if !ok {
		return in, nil
	}
	_, _, policy := rt.s.snapshot()
	owner, r, ok := rt.s.chain.Route(name, policy.Paused)
	if !ok {
		in.Answer = message.Of(message.Assistant, fmt.Sprintf("There is no command /%s.", name))
		return in, nil
	}
	reply, err := middleware.RunRoute(rt.ctx, owner, r, args)
	switch {
	case err != nil:
		return in, fmt.Errorf("session: /%s: %w", name, err)
	case reply.Prompt != "":
		parts := append([]message.Part{{Kind: message.Text, Text: reply.Prompt}}, reply.Parts...)
		in.Parts = append(parts, in.Parts[1:]...)
	default:
		in.Answer = message.Of(message.Assistant, reply.Text)
	}
	return in, nil
}

// Prepare takes the snapshot of a step.
func (rt *local) Prepare(n int) (*Step, error) {
	s := rt.s
	if n >= s.steps {
		return nil, fmt.Errorf("%w: %d", ErrLimit, s.steps)
	}
	view, system, policy := s.snapshot()
	if view != s.shown {
		rt.viewChanged(view)
	}
	s.mu.Lock()
	h := s.history
	s.mu.Unlock()
	rt.step = middleware.Step{Session: s.id, Agent: s.agent.Name, N: n, View: view, Messages: h[:len(h):len(h)]}
	rt.calls = rt.calls[:0]
	messages := s.chain.History(rt.ctx, &rt.step)
	rt.req = middleware.Request{
		Model: s.modelName, System: system.System(), View: view, Messages: messages,
		Tail: s.chain.Contribute(rt.ctx, &rt.step, policy.Paused),
	}
	return &Step{N: n}, nil
}

// viewChanged journals a new wire order and tells what it costs.
func (rt *local) viewChanged(view *toolview.View) {
	s := rt.s
	for _, x := range view.Smuggled() {
		if said := x.Owner + " " + x.Name; !s.smuggled[said] {
			if s.smuggled == nil {
				s.smuggled = map[string]bool{}
			}
			s.smuggled[said] = true
			s.notice(x.Owner, fmt.Sprintf("the tool %s is dropped: %s", x.Name, x.Rule))
		}
	}
	moved := s.shown != nil && !slices.Equal(s.shown.Direct(), view.Direct())
	if moved {
		s.notice("", "the direct tools changed: the next request rewrites the prompt cache")
	}
	if moved || s.shown == nil && view.Published() {
		if err := s.journal.add(rt.ctx, Entry{Kind: Ordered, Names: view.Order()}); err != nil {
			rt.fail(err)
		}
	}
	s.shown = view
}

// Model sends the step and records the reply.
func (rt *local) Model(*Step) (*message.Message, error) {
	s := rt.s
	reply, err := s.model(rt.ctx, &rt.req, rt.delta)
	if err != nil {
		if over := rt.Err(); over != nil {
			return nil, over
		}
		return nil, fmt.Errorf("session: model %q: %w", s.modelName, err)
	}
	if over := rt.Err(); over != nil {
		return nil, over
	}
	if reply == nil || len(reply.Parts) == 0 {
		return nil, fmt.Errorf("session: model %q gave an empty reply", s.modelName)
	}
	reply = rt.named(reply)
	rt.append(reply)
	rt.spend(reply.Usage)
	rt.pending, rt.only, rt.settled = reply.Uses(), nil, nil
	rt.Emit(message.Event{Kind: message.Reply, Step: rt.step.N, Message: reply, Usage: reply.Usage})
	s.chain.Reply(rt.ctx, &rt.step, reply)
	return reply, nil
}

func (rt *local) delta(e message.Event) {
	e.Step = rt.step.N
	rt.Emit(e)
}

// named returns the reply with every use under an id of its own and with the name of the tool that it really means. The
// model's message is left as it is.
func (rt *local) named(m *message.Message) *message.Message {
	copied := false
	var seen map[string]bool
	if len(m.Parts) > 1 {
		seen = make(map[string]bool, len(m.Parts))
	}
	for i := range m.Parts {
		u := m.Parts[i].Use
		if m.Parts[i].Kind != message.ToolUse || u == nil {
			continue
		}
		id, tool := u.ID, rt.step.View.Means(u.Name, u.Args)
		if id == "" || seen[id] {
			id = rt.NewID()
		}
		if seen != nil {
			seen[id] = true
		}
		args := u.Args
		if len(args) > 0 && !json.Valid(args) {
			// Kept as a string, so that the transcript stays JSON; no schema takes it for arguments.
			args, _ = json.Marshal(string(args))
		}
		if id == u.ID && tool == u.Tool && len(args) == len(u.Args) {
			continue
		}
		if !copied {
			clone := *m
			clone.Parts = slices.Clone(m.Parts)
			m, copied = &clone, true
		}
		m.Parts[i].Use = &message.Use{ID: id, Name: u.Name, Args: args, Tool: tool}
	}
	if m.Role == "" {
		clone := *m
		clone.Role, m = message.Assistant, &clone
	}
	return m
}

// End records the results of a step, or asks the stop hooks whether the turn goes on.
func (rt *local) End(_ int, results []*message.Result) (bool, error) {
	s := rt.s
	if len(results) > 0 {
		rt.complete(results)
		s.chain.Batch(rt.ctx, &rt.step, rt.pending, results)
		rt.append(transcript(results))
		rt.pending = nil
		return true, rt.Err()
	}
	s.mu.Lock()
	rt.step.Messages = s.history[:len(s.history):len(s.history)]
	s.mu.Unlock()
	more := s.chain.Stop(rt.ctx, &rt.step)
	if more == "" || rt.Err() != nil {
		return false, nil
	}
	m := message.Of(message.User, more)
	rt.append(m)
	rt.Emit(message.Event{Kind: message.TurnStart, Step: rt.step.N, Message: m, Reason: "continued"})
	return true, nil
}

// complete gives a use whose worker ended without a word its result.
func (rt *local) complete(results []*message.Result) {
	for i, r := range results {
		if r == nil {
			results[i] = message.Fail("This call ended without a result.")
			results[i].UseID = rt.pending[i].ID
		}
	}
}
