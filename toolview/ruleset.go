package toolview

import (
	"errors"
	"fmt"
)

// Ruling is one line of a ruleset: what becomes of the calls that a selector means.
type Ruling struct {
	Selector
	Action Action `json:"action"`
}

// Action is what a ruling does.
type Action string

const (
	ActionDeny  Action = "deny"
	ActionAsk   Action = "ask"
	ActionAllow Action = "allow"
)

// strictness orders actions; no ruling at all is the widest.
func (a Action) strictness() int {
	switch a {
	case ActionDeny:
		return 0
	case ActionAsk:
		return 1
	case ActionAllow:
		return 2
	}
	return 3
}

// Ruleset is rulings in order, of which the last that matches holds. It is immutable; a nil Ruleset rules nothing.
type Ruleset struct {
	rules   []Rule
	actions []Action
	scoped  bool
}

// NewRuleset compiles rulings. All that is wrong is reported at once, with its place.
func NewRuleset(rulings []Ruling) (*Ruleset, error) {
	if len(rulings) == 0 {
		return nil, nil
	}
	s := &Ruleset{}
	var errs []error
	for _, x := range rulings {
		r, err := compileRule(x.Selector)
		if err == nil && x.Action.strictness() > 2 {
			err = badSelector(x.Selector, fmt.Sprintf("action %q", x.Action), "write allow, ask or deny")
		}
		if err == nil {
			err = r.deniable() // a star means every tool here, whatever the action
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.rules, s.actions = append(s.rules, r), append(s.actions, x.Action)
		s.scoped = s.scoped || r.Scoped()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// hides finds the ruling by which no call of a tool could run.
func (s *Ruleset) hides(owner string, d *Decl) (Selector, bool) {
	if s == nil {
		return Selector{}, false
	}
	for i := len(s.rules) - 1; i >= 0; i-- {
		r := &s.rules[i]
		if !r.Covers(owner, d) {
			continue
		}
		if s.actions[i] != ActionDeny {
			return Selector{}, false
		}
		if r.Whole(owner, d) {
			return r.Selector, true
		}
	}
	return Selector{}, false
}

// Judge says what the ruleset makes of a call: the strictest of what its last matching rulings make of each of its
// subjects. "" = no ruling is about it. at is where relative paths begin.
func (s *Ruleset) Judge(c *Call, at Place) (Action, Selector) {
	if s == nil {
		return "", Selector{}
	}
	return s.judge(newTouch(c, at))
}

func (s *Ruleset) judge(t *touch) (Action, Selector) {
	subjects, err := t.judged()
	if err != nil {
		return s.unknown(t)
	}
	if len(subjects) == 0 {
		return s.last(t, nil)
	}
	var strictest Action
	var by Selector
	for i := range subjects {
		if a, r := s.last(t, &subjects[i]); a.strictness() < strictest.strictness() {
			strictest, by = a, r
		}
	}
	return strictest, by
}

// unknown is the strictest ruling about a tool whose call cannot be told.
func (s *Ruleset) unknown(t *touch) (strictest Action, by Selector) {
	for i := range s.rules {
		if r := &s.rules[i]; r.Covers(t.owner, t.decl) && s.actions[i].strictness() < strictest.strictness() {
			strictest, by = s.actions[i], r.Selector
		}
	}
	return strictest, by
}

// last is the last ruling that meets a subject; of a call without one, the last about every call.
func (s *Ruleset) last(t *touch, sub *Subject) (Action, Selector) {
	for i := len(s.rules) - 1; i >= 0; i-- {
		r := &s.rules[i]
		if r.Whole(t.owner, t.decl) || sub != nil && meets(r, s.actions[i], t, *sub) {
			return s.actions[i], r.Selector
		}
	}
	return "", Selector{}
}

// meets reports whether a scoped ruling is about a subject: one that allows must be sure of it.
func meets(r *Rule, a Action, t *touch, sub Subject) bool {
	if a == ActionAllow {
		return !sub.Opaque && r.Matches(t.owner, t.decl, sub, t.at)
	}
	return r.Restricts(t.owner, t.decl, sub, t.at) != Misses
}
