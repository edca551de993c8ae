package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// skillRule is the rule that selects one skill and no other.
func skillRule(id string) string { return "Skill(" + toolview.Escape(id) + ")" }

// spelled are the ways to write a rule that is for one skill alone.
func spelled(id string) []string {
	out := []string{skillRule(id), id}
	if escaped := toolview.Escape(id); escaped != id {
		out = append(out, escaped)
	}
	return out
}

// exact are the places in which such a rule can stand.
func exact(id string) []target {
	var out []target
	for _, path := range [][]string{{"permissions", "deny"}, {"permissions", "ask"}, {"tools", "deny"}, {"skills", "deny"}} {
		for _, text := range spelled(id) {
			out = append(out, target{path: path, name: text, list: true})
		}
	}
	return out
}

// exactIn lists where the exact rules of a skill stand, over all layers.
func exactIn(l *Loaded, id string) []meta.Origin {
	s := &l.Settings
	var out []meta.Origin
	for _, list := range [][]Item{s.Permissions.Deny, s.Permissions.Ask, s.Tools.Deny, s.Skills.Deny} {
		for _, i := range list {
			if slices.Contains(spelled(id), i.Text) {
				out = append(out, i.Origin)
			}
		}
	}
	return out
}

// ruled is the layer whose exact rule an enabling takes away: the user's own first.
func (p *plan) ruled() string {
	at := exactIn(p.fresh.Loaded, p.id)
	for _, layer := range []string{Global, Project, Local} {
		if slices.ContainsFunc(at, func(o meta.Origin) bool { return o.Layer == layer }) {
			return layer
		}
	}
	return Global
}

// planSkill adds the exact rule of a skill, or takes every exact rule of it away.
func (p *plan) planSkill() error {
	now, _ := p.skill.of(p.in.Agent)
	if now.Rule != "" {
		p.done.Before.Rule = ruleOf(now.Rule, now.Origin)
	}
	list := "deny"
	if p.effect == "ask" {
		list = "ask"
	}
	if at := p.doc.container([]string{"permissions", list}); at != nil {
		p.done.Before.Index = slices.IndexFunc(at.items, func(v *value) bool { return v.scalar == any(skillRule(p.id)) })
	}
	if p.effect == "allow" {
		return p.allow(now)
	}
	return p.restrict(now, list)
}

func (p *plan) restrict(now SkillEffect, list string) error {
	t := target{path: []string{"permissions", list}, name: skillRule(p.id), list: true}
	_, there := p.doc.find(t)
	if there {
		p.countThere, p.countAfter = 1, 1
	}
	if now.Effect == "deny" || now.Effect == p.effect || there {
		p.done.Reason, p.done.Message = "already_disabled", p.id+" is disabled already"
		if !slices.Contains(spelled(p.id), now.Rule) {
			p.done.Reason = "covered_by_broader_rule"
			p.done.Message += fmt.Sprintf(": %s at %s covers it", now.Rule, now.Origin)
		}
		if now.Effect == "deny" && p.effect == "ask" {
			p.done.Message += "; a deny is never lowered to ask: enable it first"
		}
		return nil
	}
	out, wrote, err := p.doc.add(t)
	if err != nil {
		return p.byHand(err, quoted(t.name)+" in permissions."+list)
	}
	p.records = append(p.records, record{
		Key: t.name, List: strings.Join(t.path, "."), Effect: p.effect, File: p.real, Time: time.Now().UTC(), Made: !p.there, insertion: wrote,
	})
	p.countAfter = 1
	p.done.Message = p.id + " is disabled"
	if p.effect == "ask" {
		p.done.Message = p.id + " is loaded only after somebody has said so"
	}
	return p.use(out)
}

func (p *plan) allow(now SkillEffect) error {
	for _, t := range exact(p.id) {
		for {
			if _, there := p.doc.find(t); !there {
				break
			}
			p.countThere++
			rec := record{Key: t.name, List: strings.Join(t.path, "."), File: p.real}
			var wrote insertion
			if own := p.books.find(p.real, rec.Key, rec.List); own != nil {
				wrote, rec.Made = own.insertion, own.Made
			}
			out, err := p.doc.remove(t, wrote)
			if err != nil {
				return &EditError{Code: WriteFailed, Message: fmt.Sprintf("%s: %v; remove %s from %s yourself", p.layer.File, err, t.name, rec.List)}
			}
			p.gone = append(p.gone, rec)
			if err := p.use(out); err != nil {
				return err
			}
		}
	}
	switch {
	case p.countThere > 0:
		p.done.Message = p.id + " is enabled: every rule for it alone is gone"
	case now.Effect == "allow":
		p.done.Reason, p.done.Message = "already_enabled", p.id+" is enabled already"
	default:
		p.done.Reason = "covered_by_broader_rule"
		p.done.Message = fmt.Sprintf("%s stays disabled: %s at %s decides, which is not in %s or is for more than this skill", p.id, now.Rule, now.Origin, p.layer.File)
	}
	return nil
}
