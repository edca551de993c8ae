package closuretest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// look is what was seen of a session with some middlewares closed. The session is closed; its values stay readable.
type look struct {
	closed []string
	// gone are the closed and what closed with them.
	gone     map[string]bool
	links    []middleware.Link
	surface  session.Surface // with the fork's, under session.ChildPrefix
	view     *toolview.View  // the first view
	last     *toolview.View
	segments []prompt.Rendered
	system   []prompt.Block
	requests []request
	fork     []prompt.Block
	agents   map[string]agentText
	facts    map[string][]session.Fact // what Facts told, by owner
	led      *ledger
	journal  []session.Entry
	messages []*message.Message
	digest   string
}

// agentText is what a middleware itself says of an agent that it brings.
type agentText struct {
	owner string
	spawn toolview.Spawn
	info  middleware.AgentInfo
	found bool
}

// look opens a session, takes turns, forks it and closes it.
func (l *lab) look(ctx context.Context, turns int, closed ...string) (*look, error) {
	s, err := l.open(ctx, setup{closed: closed})
	if err != nil {
		return nil, err
	}
	seen, err := s.observe(turns)
	if err = s.end(err); err != nil {
		return nil, err
	}
	seen.closed = closed
	return seen, nil
}

func (s *subject) observe(turns int) (*look, error) {
	v := &look{
		gone: map[string]bool{}, agents: map[string]agentText{}, facts: map[string][]session.Fact{},
		led: s.led, links: s.Chain().Links(), view: s.View(),
	}
	for _, l := range v.links {
		if l.Instance == nil {
			v.gone[l.Name] = true
		}
	}
	var err error
	if v.surface, err = s.SurfaceWithFork(s.ctx); err != nil {
		return nil, err
	}
	v.system, v.digest = s.System(), s.Digest()
	v.segments = slices.Clone(s.Base().Segments())
	for i := range turns {
		if err := s.turn(fmt.Sprintf("%s %d", prompted, i)); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	v.last, v.requests, v.messages = s.View(), s.sent.requests(), s.Messages()
	fork, err := s.Fork(s.ctx)
	if err != nil {
		return nil, err
	}
	v.fork = fork.System()
	if err := fork.Close(s.ctx); err != nil {
		return nil, err
	}
	v.roster()
	v.journal, err = s.store.Load(s.ctx, s.ID())
	return v, err
}

// roster gathers the agents that each owner lists and the facts that it tells.
func (v *look) roster() {
	for i := range v.links {
		l := &v.links[i]
		if l.Instance == nil || l.Fate.Status != middleware.Live {
			continue
		}
		if l.Instance.Facts != nil {
			v.facts[l.Name] = l.Instance.Facts()
		}
		if l.Instance.Agents == nil {
			continue
		}
		for _, info := range l.Instance.Agents.List() {
			sp, ok := l.Instance.Agents.Agent(info.Name)
			v.agents[info.Name] = agentText{owner: l.Name, spawn: sp, info: info, found: ok}
		}
	}
}

// shown are the segments that the system prompt held, in order.
func (v *look) shown() []prompt.Rendered {
	var ids []string
	for _, b := range v.system {
		ids = append(ids, b.Segments...)
	}
	var out []prompt.Rendered
	for _, r := range v.segments {
		if slices.Contains(ids, r.ID) {
			out = append(out, r)
		}
	}
	return out
}

// names are the visible tools in chain order.
func names(v *toolview.View) []string {
	var out []string
	for e := range v.All() {
		out = append(out, e.Tool.Name)
	}
	return out
}

// direct are the names of the tool array in wire order.
func direct(v *toolview.View) []string {
	var out []string
	for _, t := range v.Direct() {
		out = append(out, t.Name)
	}
	return out
}

// of returns the names of the facts of a surface.
func of(s session.Surface, surface string) map[string]string {
	out := map[string]string{}
	for _, f := range s {
		if f.Surface == surface {
			out[f.Name] = f.Owner
		}
	}
	return out
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
