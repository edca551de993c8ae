package session

import (
	"fmt"
	"os"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// reach is what the session's named children may have at most, where that is more than its own view.
type reach struct {
	frame   *toolview.Frame // the agent's own lists with what they lift for its children; nil = they lift nothing
	deriver *toolview.Deriver
	policy  *toolview.Policy
	above   *toolview.Policy
}

// ceiling is the view that bounds the session's named children: its own, and what its definition delegates of the
// ceiling above it. A fork's is its parent's, under what narrows the fork.
func (s *Session) ceiling() (*toolview.View, *toolview.Policy) {
	own, _, policy := s.snapshot()
	if s.parent == nil || s.reach.frame == nil && !s.agent.Fork {
		return own, policy
	}
	above, abovePolicy := s.parent.ceiling()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reach.frame == nil && s.above == abovePolicy {
		return own, policy
	}
	r := &s.reach
	if r.deriver == nil {
		live, closed := s.chain.Bands()
		r.deriver = toolview.NewDeriver(live, closed, nil)
	}
	if r.policy == nil || r.above != abovePolicy {
		frame := r.frame
		if frame == nil {
			frame = s.frame
		}
		r.above, r.policy = abovePolicy, s.newPolicy(frame, abovePolicy)
	}
	return r.deriver.View(r.policy, above), r.policy
}

// bound is the view that the session's own is within.
func (s *Session) bound() (*toolview.View, *toolview.Policy) {
	switch {
	case s.parent == nil:
		return nil, nil
	case s.agent.Fork:
		v, _, p := s.parent.snapshot()
		return v, p
	}
	return s.parent.ceiling()
}

// lists compiles what an agent's definition says of tools.
func (s *Session) lists(sp *toolview.Spawn) error {
	l := sp.Lists()
	var err error
	if s.frame, err = toolview.NewFrame(l); err != nil || len(sp.Delegates) == 0 {
		return err
	}
	l.Lift = sp.Lift()
	s.reach.frame, err = toolview.NewFrame(l)
	return err
}

// requires refuses an agent whose servers are not there. What lists hide of them makes no difference.
func (s *Session) requires(sp *toolview.Spawn) error {
	missing, err := s.View().Missing(sp.Servers)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("it was not started, since it needs servers that are not there: %s", strings.Join(missing, ", "))
}

// place is where the paths of scoped entries begin, for the session and its children.
func place(root string) toolview.Place {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then `~/` leads nowhere
	}
	return toolview.PlaceOf(root, home)
}
