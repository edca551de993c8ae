package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Owner and ToolName are whose tool loads skills, and its name: what rules about skills are about.
const (
	Owner    = "SkillsMiddleware"
	ToolName = "Skill"
)

// Decl is how selectors know the tool that loads skills.
func Decl() toolview.Decl {
	return toolview.Decl{Name: ToolName, Aliases: []string{"load_skill", "use_skill"}, Family: "skill", Category: "skills"}
}

// Rules say which skills there are.
type Rules struct {
	// Allow holds every list of skills that applies: a skill must be on each. None = all.
	Allow [][]toolview.Selector
	// Deny always wins.
	Deny []toolview.Selector
	// ToolAllow and ToolDeny are lists of tools. Of these an allow list counts where it lists some skills alone, as
	// Skill(review-*) does.
	ToolAllow [][]toolview.Selector
	ToolDeny  []toolview.Selector
}

type rules struct {
	allow, tools [][]toolview.Rule
	deny         []toolview.Rule
}

func (r Rules) compile() (*rules, error) {
	out := &rules{}
	var errs []error
	parse := func(list []toolview.Selector, key string) []toolview.Rule {
		parsed := make([]toolview.Rule, 0, len(list))
		for _, s := range list {
			text := s.Text
			if key != "" {
				text = named(text)
			}
			rule, err := toolview.ParseRule(text, s.Origin)
			var e *meta.Error
			if errors.As(err, &e) && key != "" {
				err = &meta.Error{Origin: s.Origin, Key: key, Message: fmt.Sprintf("%q is no skill: %s", s.Text, e.Message), Suggestion: "write a skill's name, its id @mount/path, or a pattern of these"}
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			rule.Selector = s
			parsed = append(parsed, rule)
		}
		return parsed
	}
	for _, l := range r.Allow {
		out.allow = append(out.allow, parse(l, "skills.allow"))
	}
	for _, l := range r.ToolAllow {
		out.tools = append(out.tools, parse(l, ""))
	}
	out.deny = append(parse(r.Deny, "skills.deny"), parse(r.ToolDeny, "")...)
	return out, errors.Join(errs...)
}

// named is a selector of skills as one of calls.
func named(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.Contains(text, "(") {
		return text
	}
	return ToolName + "(" + text + ")"
}

// Subject is a skill as rules see it: by its id and by its name.
func (s *Skill) Subject() toolview.Subject {
	return toolview.Subject{Kind: toolview.Name, Value: s.ID, Same: []string{s.Name}}
}

// denies is the one decision of whether sessions have a skill, and by what they do not.
func (r *rules) denies(s *Skill) (toolview.Selector, bool) {
	decl, subject := Decl(), s.Subject()
	for i := range r.deny {
		if r.deny[i].Restricts(Owner, &decl, subject, toolview.Place{}) == toolview.Meets {
			return r.deny[i].Selector, true
		}
	}
	listed := func(list []toolview.Rule) bool {
		for i := range list {
			if list[i].Matches(Owner, &decl, subject, toolview.Place{}) {
				return true
			}
		}
		return false
	}
	for _, list := range r.allow {
		if !listed(list) {
			return unlisted("skills.allow", list), true
		}
	}
	for _, list := range r.tools {
		about := false
		for i := range list {
			about = about || list[i].Selects(Owner, &decl)
		}
		if about && !listed(list) {
			return unlisted("tools.allow", list), true
		}
	}
	return toolview.Selector{}, false
}

func unlisted(key string, list []toolview.Rule) toolview.Selector {
	s := toolview.Selector{Text: "not on " + key}
	if len(list) > 0 {
		s.Origin = list[0].Origin
	}
	return s
}

// unmatched reports rules about some skills alone that meet none.
func (l *loader) unmatched(r *rules) {
	decl := Decl()
	var names []string
	for i := range l.skills {
		names = append(names, l.skills[i].Name, l.skills[i].ID)
	}
	for _, list := range append(append(append([][]toolview.Rule{}, r.allow...), r.tools...), r.deny) {
		for i := range list {
			rule := &list[i]
			if !rule.Scoped() || !rule.Selects(Owner, &decl) || l.any(rule) {
				continue
			}
			word := strings.TrimSuffix(strings.TrimPrefix(rule.Text, ToolName+"("), ")")
			suggestion := ""
			if near := meta.Nearest(word, names); len(near) > 0 {
				suggestion = "did you mean " + strings.Join(near, ", ") + "?"
			}
			l.report(meta.SeverityWarning, "skill_unmatched", rule.Origin, fmt.Sprintf("%q selects no skill that is there", rule.Text), suggestion)
		}
	}
}

func (l *loader) any(rule *toolview.Rule) bool {
	decl := Decl()
	for i := range l.skills {
		if rule.Matches(Owner, &decl, l.skills[i].Subject(), toolview.Place{}) {
			return true
		}
	}
	return false
}
