package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Entries reads the hooks of an agent's definition, a JSON list of Entry. What could not run is an error that names its
// place; all are reported together.
func Entries(raw json.RawMessage) ([]Entry, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var out []Entry
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("hook: an agent's hooks: %w", err)
	}
	_, err := compile(out)
	return out, err
}

// brought are the hooks that others bring into a session.
func brought(env middleware.Env) ([]Entry, error) {
	var out []Entry
	for _, x := range env.Extras(toolview.ExtraHooks) {
		list, err := Entries(x.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// adopt adds the child's own hooks behind those that it inherits. They are in its state and in those below it alone, and
// what they left running ends with it.
func (s *state) adopt(env middleware.Env) error {
	own, err := brought(env)
	if err != nil || len(own) == 0 {
		return err
	}
	for i := range own {
		if own[i].Event == Stop {
			// An agent's end is that of a sub-agent; its own, and not that of one that it starts.
			own[i].Event, own[i].Matcher = SubagentStop, "^"+regexp.QuoteMeta(env.Agent.Name)+"$"
		}
	}
	list, err := compile(own)
	if err != nil {
		return err
	}
	first := s.shared.number(len(list))
	s.hooks = maps.Clone(s.hooks)
	for i, h := range list {
		h.index = first + i
		s.hooks[h.Event] = append(slices.Clip(s.hooks[h.Event]), h)
	}
	s.running, s.owns = within(s.running.ctx), true
	return nil
}
