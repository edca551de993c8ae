package permission

import (
	"context"
	"fmt"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// gate judges calls. All of it but the answers is immutable.
type gate struct {
	options          Options
	modes            []Mode // the session's and, for a child, those below it: the strictest holds, cell by cell
	deny, ask, allow []rule
	rulesets         []*toolview.Ruleset // of the agents from the session's down to this one
	at               toolview.Place
	agent            string
	answers          *answers
}

// judge is the hook. Whoever owns a tool may look at links to say what a call touches; nothing else reads the disk.
func (g *gate) judge(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	for i, c := range calls {
		out[i] = g.verdict(c)
	}
}

func (g *gate) verdict(c *toolview.Call) middleware.Verdict {
	v, _ := g.weigh(c, false)
	return v
}

// weigh decides about a call; with explain it also says what decided about each part of it.
func (g *gate) weigh(c *toolview.Call, explain bool) (middleware.Verdict, []Part) {
	subjects, err := touches(c)
	bypass := g.strictest(Mode.guarded) == middleware.Allow
	by, sure := g.restricted(c, subjects, err)
	if sure {
		return by, g.parts(c, subjects, explain)
	}
	if err != nil && !bypass {
		return middleware.Verdict{Reason: fmt.Sprintf("what the call touches cannot be told: %v", err)}, nil
	}
	v := g.permitted(c, subjects)
	if at, ok := g.guards(subjects); ok && !bypass {
		if d := g.strictest(Mode.guarded); d < v.Decision || d == middleware.Ask && v.Decision == middleware.Ask {
			v = middleware.Verdict{Decision: d, Reason: at + " decides what sessions here may do, or what runs in them"}
		}
	}
	if by.Decision < v.Decision || by.Decision == middleware.Ask && v.Decision == middleware.Ask {
		v = by
	}
	return v, g.parts(c, subjects, explain)
}

// touches are the subjects of a call. A server's tool that names none is known by its server and its name there.
func touches(c *toolview.Call) ([]toolview.Subject, error) {
	t := c.Tool()
	if t.Subjects == nil && t.Server != "" {
		return []toolview.Subject{{Kind: toolview.Name, Value: t.Server + "/" + t.Leaf}}, nil
	}
	return c.Subjects()
}

// restricted asks the deny and ask rules, and agents' rulesets, in every mode. sure says that the verdict stands: what a
// rule only could cover is asked about unless something else denies it.
func (g *gate) restricted(c *toolview.Call, subjects []toolview.Subject, untold error) (v middleware.Verdict, sure bool) {
	deny, denied := g.first(g.deny, c, subjects, untold)
	if deny == toolview.Meets {
		return ruled(middleware.Deny, denied, "a deny rule covers it"), true
	}
	v, sure = g.byRuleset(c)
	if v.Decision == middleware.Deny {
		return v, true
	}
	ask, asked := g.first(g.ask, c, subjects, untold)
	switch {
	case ask == toolview.Meets:
		return ruled(middleware.Ask, asked, "an ask rule covers it"), true
	case sure:
		return v, true
	case deny == toolview.MayMeet:
		return ruled(middleware.Ask, denied, "what it does is decided only when it runs, and a deny rule could cover it"), false
	case ask == toolview.MayMeet:
		return ruled(middleware.Ask, asked, "what it does is decided only when it runs, and an ask rule could cover it"), false
	}
	return v, false
}

// byRuleset is what agents' own rulesets restrict. What they allow opens nothing.
func (g *gate) byRuleset(c *toolview.Call) (middleware.Verdict, bool) {
	if len(g.rulesets) == 0 {
		return middleware.Verdict{Decision: middleware.Pass}, false
	}
	decided := map[toolview.Action]middleware.Decision{toolview.ActionDeny: middleware.Deny, toolview.ActionAsk: middleware.Ask}
	out := middleware.Verdict{Decision: middleware.Pass}
	for _, rs := range g.rulesets {
		action, by := rs.Judge(c, g.at)
		if d, restricts := decided[action]; restricts && d < out.Decision {
			out = middleware.Verdict{
				Decision: d, Rule: by.Text, Origin: by.Origin,
				Reason: fmt.Sprintf("the agent's ruleset says %s: %s (%s)", action, by.Text, by.Origin),
			}
		}
	}
	return out, out.Decision != middleware.Pass
}

// first is the first rule that surely meets a call, or else the first that may.
func (g *gate) first(rules []rule, c *toolview.Call, subjects []toolview.Subject, untold error) (most toolview.Meeting, by *rule) {
	for i := range rules {
		r := &rules[i]
		if r.covers(c) {
			return toolview.Meets, r
		}
		if !r.scoped && !r.edits || !r.about(c) {
			continue
		}
		if untold != nil {
			return toolview.Meets, r
		}
		if m := g.meets(r, c, subjects); m > most {
			if most, by = m, r; m == toolview.Meets {
				return most, by
			}
		}
	}
	return most, by
}

func (g *gate) meets(r *rule, c *toolview.Call, subjects []toolview.Subject) (most toolview.Meeting) {
	for _, s := range subjects {
		if slices.Contains(s.Also, script) && g.vouched(c, s) {
			s.Also = slices.DeleteFunc(slices.Clone(s.Also), func(a string) bool { return a == script })
		}
		m := r.Restricts(c.Owner(), &c.Tool().Decl, s, g.at)
		if m == toolview.Misses && r.edits && s.Kind == toolview.Path && !s.Edit && !s.ReadOnly && s.Within {
			// A command that may or may not change what it names.
			s.Edit = true
			m = min(r.Restricts(c.Owner(), &c.Tool().Decl, s, g.at), toolview.MayMeet)
		}
		most = max(most, m)
	}
	return most
}

// script is the pattern of a command that runs a file of which nobody knows what is in it.
const script = "?*"

// vouched reports whether a rule allows just such a command: whoever wrote it knows the file.
func (g *gate) vouched(c *toolview.Call, s toolview.Subject) bool {
	for i := range g.allow {
		if g.allow[i].scoped && g.allow[i].allows(c, s, g.at) {
			return true
		}
	}
	return false
}

func ruled(d middleware.Decision, r *rule, reason string) middleware.Verdict {
	return middleware.Verdict{Decision: d, Reason: fmt.Sprintf("%s: %s (%s)", reason, r.Text, r.Origin), Rule: r.Text, Origin: r.Origin}
}

// permitted asks the allow rules and the mode about every part of a call. The strictest part decides.
func (g *gate) permitted(c *toolview.Call, subjects []toolview.Subject) middleware.Verdict {
	if !runs(subjects) {
		return g.whole(c, subjects)
	}
	v := middleware.Verdict{Decision: middleware.Pass}
	var grants []string
	storable, asked := true, false
	for _, s := range subjects {
		if !judged(s) {
			continue
		}
		one := g.part(c, s)
		if one.Decision == middleware.Ask {
			asked = true
			if text, ok := grant(c, s); ok {
				grants = appendOnce(grants, text)
			} else {
				storable = false
			}
		}
		if one.Decision < v.Decision {
			v = one
		}
	}
	if asked && storable {
		v.Grants = grants
	}
	return v
}

// runs reports whether a call runs commands: then its parts are judged, and not the call as one.
func runs(subjects []toolview.Subject) bool {
	for _, s := range subjects {
		if s.Kind == toolview.Command {
			return true
		}
	}
	return false
}

// judged reports whether a subject of a call that runs commands is a part of its own: a command, or a file that the
// shell itself writes.
func judged(s toolview.Subject) bool {
	return s.Kind == toolview.Command || s.Kind == toolview.Path && s.Edit && !s.Within
}

// part decides about one command, or one file that is written.
func (g *gate) part(c *toolview.Call, s toolview.Subject) middleware.Verdict {
	column := otherwise
	switch {
	case s.Opaque:
	case s.Kind == toolview.Command && s.ReadOnly:
		column = readOnly
	case s.Kind == toolview.Path && g.inside(s.Value):
		column = projectEdit
	}
	v := g.byMode(column, s)
	if s.Opaque || v.Decision == middleware.Allow || g.planning() && column != readOnly {
		return v
	}
	if r := allowing(g.allow, c, s, g.at); r != nil {
		return ruled(middleware.Allow, r, "an allow rule covers it")
	}
	if v.Decision == middleware.Ask && g.answers.cover(g.agent, c, s, g.at) {
		return middleware.Verdict{Decision: middleware.Allow, Reason: "it was approved before"}
	}
	return v
}

func allowing(rules []rule, c *toolview.Call, s toolview.Subject, at toolview.Place) *rule {
	for i := range rules {
		if rules[i].allows(c, s, at) {
			return &rules[i]
		}
	}
	return nil
}

// whole decides about a call that runs no command.
func (g *gate) whole(c *toolview.Call, subjects []toolview.Subject) middleware.Verdict {
	effects := c.Tool().Effects
	v := g.byMode(g.column(effects, subjects), toolview.Subject{})
	if g.planning() && !onlyLooks(effects, subjects) {
		return v
	}
	if r := g.opening(g.allow, c, subjects); r != nil {
		return ruled(middleware.Allow, r, "an allow rule covers it")
	}
	if v.Decision != middleware.Ask {
		return v
	}
	if g.answers.open(g, c, subjects) {
		return middleware.Verdict{Decision: middleware.Allow, Reason: "it was approved before"}
	}
	v.Grants = grantsOf(c, subjects)
	return v
}

// opening is the rule, one of them if there are several, by which allow rules cover all of a call. What allows edits
// allows no tool that does more.
func (g *gate) opening(rules []rule, c *toolview.Call, subjects []toolview.Subject) (by *rule) {
	for _, s := range subjects {
		if s.Opaque {
			return nil
		}
	}
	for i := range rules {
		if rules[i].opens(c) {
			return &rules[i]
		}
	}
	for _, s := range subjects {
		by = allowing(rules, c, s, g.at)
		if by == nil || !by.Selects(c.Owner(), &c.Tool().Decl) && !onlyEdits(c.Tool().Effects) {
			return nil
		}
	}
	return by
}

func (g *gate) byMode(c class, s toolview.Subject) middleware.Verdict {
	d := g.strictest(func(m Mode) middleware.Decision { return m.cell(c) })
	v := middleware.Verdict{Decision: d, Mode: d == middleware.Ask}
	switch d {
	case middleware.Ask:
		v.Reason = "it may change something, and no rule allows it"
		if s.Kind != "" {
			v.Reason = "`" + s.Value + "` may change something, and no rule allows it"
		}
		if s.Opaque {
			v.Reason = "what `" + s.Value + "` does cannot be told from how it is written"
		}
	case middleware.Deny:
		v.Reason = fmt.Sprintf("the permission mode is %s and no rule allows it", g.modeText())
		if g.planning() {
			v.Reason = "in plan mode only calls that change nothing run"
		}
	}
	return v
}

func (g *gate) strictest(of func(Mode) middleware.Decision) middleware.Decision {
	d := middleware.Allow
	for _, m := range g.modes {
		d = min(d, of(m))
	}
	return d
}

func (g *gate) planning() bool {
	for _, m := range g.modes {
		if m == Plan {
			return true
		}
	}
	return false
}
