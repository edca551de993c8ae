package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Switches are what the host has set on a session. They are journalled beside what is frozen.
type Switches struct {
	// Paused names the middlewares that are switched off.
	Paused map[string]bool `json:"paused,omitempty"`
	// Allow and Deny are the host's own lists; Allow nil = no list.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
	// Tuned are the settings that Tune changed, by key.
	Tuned map[string]json.RawMessage `json:"tuned,omitempty"`
}

// system memoises the system prompt by what it derives from.
type system struct {
	view   *toolview.View
	prompt prompt.Prompt
}

// View is what the session may see, find and call from the next step on.
func (s *Session) View() *toolview.View {
	v, _, _ := s.snapshot()
	return v
}

// System is the system prompt as the next step sends it.
func (s *Session) System() []prompt.Block {
	_, p, _ := s.snapshot()
	return p.System()
}

// snapshot returns the view and system prompt that hold now, and the policy they came from. While nothing changed it
// returns the same values and allocates nothing.
func (s *Session) snapshot() (*toolview.View, prompt.Prompt, *toolview.Policy) {
	above, policy := s.bound()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.policy == nil || s.above != policy {
		s.above, s.policy = policy, s.newPolicy(s.frame, policy)
	}
	v := s.deriver.View(s.policy, above)
	if s.system.view != v {
		s.system = system{v, s.base.Prompt(func(r *prompt.Rendered) bool {
			return !s.policy.Paused[r.Owner] && v.HasAny(r.Needs) && v.Admits(r.Owner, r.Word)
		})}
	}
	return v, s.system.prompt, s.policy
}

// newPolicy builds a policy from the session's own lists, the host's switches and the policy above.
func (s *Session) newPolicy(own *toolview.Frame, above *toolview.Policy) *toolview.Policy {
	p := &toolview.Policy{
		Agent: s.agent.Name, Frames: []*toolview.Frame{own}, Paused: s.host.Paused, Place: s.place,
		WithoutSearch: s.frozen.WithoutSearch, LateDirect: s.frozen.LateDirect,
	}
	if host := s.hostFrame(); host != nil {
		p.Frames = append(p.Frames, host)
	}
	if above != nil {
		p.Ancestors = append(append(p.Ancestors, above.Frames...), above.Ancestors...)
		if len(above.Paused) > 0 {
			p.Paused = maps.Clone(above.Paused)
			maps.Copy(p.Paused, s.host.Paused)
		}
	}
	return p
}

// hostFrame compiles the host's lists, which SetTools has checked.
func (s *Session) hostFrame() *toolview.Frame {
	if s.host.Allow == nil && len(s.host.Deny) == 0 {
		return nil
	}
	f, err := toolview.NewFrame(s.host.lists())
	if err != nil {
		// Only a journal that was changed by hand comes here: nothing opens.
		f, _ = toolview.NewFrame(toolview.Lists{Allow: [][]toolview.Selector{{}}})
	}
	return f
}

func (h *Switches) lists() toolview.Lists {
	var l toolview.Lists
	if h.Allow != nil {
		l.Allow = [][]toolview.Selector{selectors(h.Allow, "host")}
	}
	l.Deny = selectors(h.Deny, "host")
	return l
}

func selectors(texts []string, layer string) []toolview.Selector {
	out := make([]toolview.Selector, len(texts))
	for i, t := range texts {
		out[i] = toolview.Selector{Text: t, Origin: meta.Origin{Layer: layer}}
	}
	return out
}

// Pause switches live middlewares off from the next step on: their tools, live segments, routes and contributions leave,
// for children too. One that is closed, unknown or brings a gate cannot be paused.
func (s *Session) Pause(names ...string) error {
	return s.switched(func(h *Switches) error {
		for _, n := range names {
			l, ok := s.chain.Link(n)
			switch {
			case !ok || l.Instance == nil:
				return fmt.Errorf("session: pause %s: it is not live in this session", n)
			case l.Gates:
				return fmt.Errorf("session: pause %s: it brings a gate: change the mode instead", n)
			}
			h.Paused[n] = true
		}
		return nil
	})
}

// Unpause brings paused middlewares back. It opens nothing that is closed.
func (s *Session) Unpause(names ...string) error {
	return s.switched(func(h *Switches) error {
		for _, n := range names {
			if _, ok := s.chain.Link(n); !ok {
				return fmt.Errorf("session: unpause %s: the suite has no such middleware", n)
			}
			delete(h.Paused, n)
		}
		return nil
	})
}

// SetTools replaces the host's own allow and deny lists from the next step on. allow nil = no list, empty = nothing. It
// can undo only what the host did.
func (s *Session) SetTools(allow, deny []string) error {
	return s.switched(func(h *Switches) error {
		next := Switches{Allow: allow, Deny: deny}
		if _, err := toolview.NewFrame(next.lists()); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		h.Allow, h.Deny = slices.Clone(allow), slices.Clone(deny)
		return nil
	})
}

// Deny adds to the host's own deny list from the next step on.
func (s *Session) Deny(selectors ...string) error { return s.edit(nil, selectors) }

// Allow takes entries off the host's own deny list from the next step on and, where the host has an allow list, adds them
// to it. It undoes only what the host did: what settings or an agent's definition deny stays denied.
func (s *Session) Allow(selectors ...string) error { return s.edit(selectors, nil) }

// edit changes the host's own lists by single entries, which are the same when their canonical forms are.
func (s *Session) edit(allow, deny []string) error {
	return s.switched(func(h *Switches) error {
		forms, err := canonical(append(slices.Clone(allow), deny...))
		if err != nil {
			return err
		}
		mine, err := canonical(h.Deny)
		if err != nil {
			return err
		}
		var kept []string
		for i, text := range h.Deny {
			if !slices.Contains(forms, mine[i]) {
				kept = append(kept, text)
			}
		}
		next := Switches{Allow: slices.Clone(h.Allow), Deny: append(kept, deny...)}
		if h.Allow != nil {
			next.Allow = append(next.Allow, allow...)
		}
		if _, err := toolview.NewFrame(next.lists()); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		h.Allow, h.Deny = next.Allow, next.Deny
		return nil
	})
}

func canonical(selectors []string) ([]string, error) {
	out := make([]string, len(selectors))
	for i, text := range selectors {
		r, err := toolview.ParseRule(text, meta.Origin{Layer: "host"})
		if err != nil {
			return nil, fmt.Errorf("session: %w", err)
		}
		out[i] = r.String()
	}
	return out, nil
}

// switched makes one change of the host's switches, whole or not at all, and journals it.
func (s *Session) switched(change func(*Switches) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.host
	next.Paused = make(map[string]bool, len(s.host.Paused)+1)
	maps.Copy(next.Paused, s.host.Paused)
	if err := change(&next); err != nil {
		return err
	}
	if err := s.journal.add(s.ctx, Entry{Kind: Switched, Host: &next}); err != nil {
		return err
	}
	s.host, s.policy, s.reach.policy = next, nil, nil
	s.waking.wake()
	return nil
}
