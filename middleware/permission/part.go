package permission

import (
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Part is one thing that a call does, with what was decided about it and by which rule.
type Part struct {
	// Text is a command, a path, a host or a name; "" = the call as one.
	Text string
	middleware.Verdict
}

// Explain says what the gate decides about a call, and about each part of it.
func (g *gate) Explain(c *toolview.Call) (middleware.Verdict, []Part) { return g.weigh(c, true) }

// parts judges the subjects of a call one by one.
func (g *gate) parts(c *toolview.Call, subjects []toolview.Subject, explain bool) []Part {
	if !explain {
		return nil
	}
	commands := runs(subjects)
	var out []Part
	for _, s := range subjects {
		one := []toolview.Subject{s}
		v, sure := g.restricted(c, one, nil)
		switch {
		case sure || v.Decision < middleware.Pass:
		case commands && judged(s):
			v = g.part(c, s)
		case commands:
			v.Decision = middleware.Pass
		default:
			v = g.whole(c, one)
		}
		if at, ok := g.guards(one); ok && v.Decision > g.strictest(Mode.guarded) {
			v = middleware.Verdict{Decision: g.strictest(Mode.guarded), Reason: at + " decides what sessions here may do, or what runs in them"}
		}
		if v.Decision == middleware.Pass {
			continue // what a command does is the command's to say
		}
		if v.Decision == middleware.Allow && v.Reason == "" {
			v.Reason = "it changes nothing"
			if !s.ReadOnly {
				v.Reason = "the permission mode is " + g.modeText()
			}
		}
		out = append(out, Part{Text: s.Value, Verdict: v})
	}
	return out
}
