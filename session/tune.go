package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tune changes settings that are marked live, by their key ("workspace.sandbox"), from the next call on, for children
// too. Values are what the settings file would hold. It is one change: an unknown key, one that is not live or whose
// owner is closed, or a value that does not fit leaves everything as it was. It is journalled and holds after a resume.
func (s *Session) Tune(values map[string]any) error {
	raw := make(map[string]json.RawMessage, len(values))
	for key, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("session: tune %s: %w", key, err)
		}
		raw[key] = b
	}
	s.tuning.Lock()
	defer s.tuning.Unlock()
	apply, err := s.tuners(raw)
	if err != nil {
		return err
	}
	if err := s.switched(func(h *Switches) error {
		h.Tuned = maps.Clone(h.Tuned)
		if h.Tuned == nil {
			h.Tuned = map[string]json.RawMessage{}
		}
		maps.Copy(h.Tuned, raw)
		return nil
	}); err != nil {
		return err
	}
	apply()
	return nil
}

// tuners checks every value with its owner and returns what puts all of them in force.
func (s *Session) tuners(values map[string]json.RawMessage) (apply func(), err error) {
	var all []func()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		takers := s.takers(key)
		if len(takers) == 0 {
			errs = append(errs, fmt.Errorf("session: tune %s: no live middleware takes it; these can be tuned: %s", key, strings.Join(s.tunable(), ", ")))
			continue
		}
		for _, take := range takers {
			one, err := take(values[key])
			if err != nil {
				errs = append(errs, fmt.Errorf("session: tune %s: %w", key, err))
				break
			}
			all = append(all, one)
		}
	}
	return func() {
		for _, one := range all {
			one()
		}
	}, errors.Join(errs...)
}

// takers are the live middlewares' entries for a key: more than one may go by the same limit.
func (s *Session) takers(key string) (out []func(json.RawMessage) (func(), error)) {
	links := s.chain.Links()
	for i := range links {
		if in := links[i].Instance; in != nil && in.Tune[key] != nil {
			out = append(out, in.Tune[key])
		}
	}
	return out
}

// tunable are the keys that the session's middlewares take.
func (s *Session) tunable() []string {
	var out []string
	for _, l := range s.chain.Links() {
		if l.Instance != nil {
			out = slices.AppendSeq(out, maps.Keys(l.Instance.Tune))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
