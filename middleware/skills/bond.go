package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

// bornKey is where a child keeps the skills that bind it for life.
const bornKey = "bound"

// bond is a skill at work with what it lets be called.
type bond struct {
	id    string
	frame *toolview.Frame
}

// inherit binds a child by what binds its parent now.
func (s *session) inherit(ctx context.Context, store middleware.Store, bonds []bond) error {
	s.born = bonds
	if len(bonds) == 0 || store == nil {
		return nil
	}
	ids := make([]string, len(bonds))
	for i, b := range bonds {
		ids[i] = b.id
	}
	raw, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return store.Save(ctx, bornKey, raw)
}

// restore binds a child of an earlier process as it was bound there.
func (s *session) restore(ctx context.Context, store middleware.Store) error {
	if store == nil {
		return nil
	}
	raw, ok, err := store.Load(ctx, bornKey)
	if err != nil || !ok {
		return err
	}
	var ids []string
	if err := json.Unmarshal(raw, &ids); err != nil {
		return fmt.Errorf("what binds the agent: %w", err)
	}
	for _, id := range ids {
		skill, ok := s.roster.catalog.Lookup(id)
		if !ok {
			return fmt.Errorf("the agent is bound by the skill %s, which is not there", id)
		}
		frame, err := limits(skill)
		if err != nil {
			return err
		}
		s.born = append(s.born, bond{id, frame})
	}
	return nil
}

// narrow puts a skill's limits in force until the next prompt.
func (s *session) narrow(skill *catalog.Skill) error {
	frame, err := limits(skill)
	if err != nil || frame == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.active, func(b bond) bool { return b.id == skill.ID }) {
		s.active = append(s.active, bond{skill.ID, frame})
	}
	return nil
}

// limits compiles a skill's lists; nil = it has none. Further skills can always be loaded, since that only narrows.
func limits(skill *catalog.Skill) (*toolview.Frame, error) {
	if skill.Allow == nil && len(skill.Deny) == 0 {
		return nil, nil
	}
	list := func(texts []string) []toolview.Selector {
		out := make([]toolview.Selector, 0, len(texts)+1)
		for _, t := range texts {
			out = append(out, toolview.Selector{Text: t, Origin: skill.Origin})
		}
		return out
	}
	l := toolview.Lists{Deny: list(skill.Deny)}
	if skill.Allow != nil {
		own := toolview.Selector{Text: "@" + Name, Origin: meta.Origin{Layer: "skill"}}
		l.Allow = [][]toolview.Selector{append(list(skill.Allow), own)}
	}
	f, err := toolview.NewFrame(l)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	return f, nil
}

// bonds are all that bind the session now, its parent's included.
func (s *session) bonds() []bond {
	if s == nil {
		return nil
	}
	out := append(slices.Clone(s.born), s.parent.bonds()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return out
	}
	return append(out, s.active...)
}

// stop marks the turn as over. A stop hook of somebody else's may let it go on; then the next call takes the mark away.
func (s *session) stop(context.Context, *middleware.Step) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return "", nil
}

// input begins a turn: what earlier skills forbade is over, and the skill that made this prompt is at work.
func (s *session) input(_ context.Context, in *middleware.Input) error {
	s.mu.Lock()
	next := s.next
	s.active, s.next, s.over = nil, nil, false
	s.mu.Unlock()
	if next == nil || len(in.Parts) == 0 || in.Parts[0].Text != next.prompt {
		return nil
	}
	return s.narrow(next.skill)
}

// rewrite refuses what a skill at work does not let be called, and leaves all other calls as they are.
func (s *session) rewrite(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	s.mu.Lock()
	s.over = false
	s.mu.Unlock()
	bonds := s.bonds()
	for i, c := range calls {
		out[i] = middleware.Verdict{Decision: middleware.Pass}
		for _, b := range bonds {
			if why := b.frame.Refusal(c); why != "" {
				out[i] = middleware.Verdict{
					Reason: fmt.Sprintf("the skill `%s` is at work until the user's next message and does not let `%s` be called like this: %s", b.id, c.Name(), why),
				}
				break
			}
		}
	}
}
