package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Finding is what one name means in a session. A name may mean several things.
type Finding struct {
	// Kind is middleware, segment, policy, tool, route, agent, selector, setting, or the surface of another fact: skill, server.
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"`
	There bool   `json:"there"`
	// Because says what decided, in words; Origin is where somebody wrote it, if anybody did.
	Because string      `json:"because"`
	Origin  meta.Origin `json:"-"`
	// Change is what to write to have it otherwise.
	Change string `json:"change"`
	// Closing says what closing its middleware takes along; "" = nothing to close.
	Closing string `json:"closing,omitempty"`
}

// MarshalJSON writes the origin flat, as diagnostics do.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	return json.Marshal(struct {
		plain
		Layer  string `json:"layer,omitempty"`
		File   string `json:"file,omitempty"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}{plain(f), f.Origin.Layer, f.Origin.File, f.Origin.Line, f.Origin.Column})
}

// Explain says of every thing of that name whether the session has it, what decided, and what to write to change it.
// Nothing of that name gives none; near then has the nearest names that the suite knows.
func Explain(s *session.Session, name string) (found []Finding, near []string) {
	x := explainer{s: s, suite: s.Chain().Suite()}
	x.key(name)
	x.tool(name)
	x.route(strings.TrimPrefix(name, "/"))
	x.agent(name)
	x.facts(name)
	if len(x.found) == 0 {
		x.selector(name)
	}
	if len(x.found) > 0 {
		for i := range x.found {
			x.found[i].Closing = x.closing(&x.found[i])
		}
		return x.found, nil
	}
	return nil, unique(meta.Nearest(strings.TrimPrefix(name, "/"), x.names()))
}

// unique drops what is named twice, keeping the order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

type explainer struct {
	s     *session.Session
	suite *middleware.Suite
	found []Finding
}

func (x *explainer) add(f Finding) { x.found = append(x.found, f) }

func (x *explainer) key(name string) {
	k, ok := x.suite.Keys().Lookup(name)
	if !ok {
		return
	}
	switch k.Kind {
	case meta.Middleware:
		x.add(x.middleware(k.Name))
	case meta.Segment:
		x.segment(k.Name)
	default:
		f := Finding{Kind: k.Kind.String(), Name: k.Name, There: x.s.State().Enabled(k.Name)}
		f.Because, f.Origin = x.decided(k.Name, f.There)
		f.Change = write(k.Name, !f.There, f.Origin)
		x.add(f)
	}
}

// decided says who set a key of the meta map.
func (x *explainer) decided(key string, value bool) (string, meta.Origin) {
	e := x.s.State().Why(key)
	if _, set := x.s.State().Explicit(key); !set {
		return "by default: no layer of the meta map names it", meta.Origin{}
	}
	return fmt.Sprintf("meta.%s: %t", key, value), e.Origin
}

func (x *explainer) middleware(name string) Finding {
	f := Finding{Kind: "middleware", Name: name}
	l, _ := x.s.Chain().Link(name)
	switch l.Fate.Status {
	case middleware.Live:
		f.There = true
		f.Because, f.Origin = x.decided(name, true)
		f.Change = write(name, false, f.Origin)
	case middleware.Cascaded:
		f.Because, f.Origin = l.Fate.Cause, l.Fate.Origin
		f.Change = "open what it requires: " + strings.Join(l.Requires, ", ")
	case middleware.Unsupported:
		f.Because = "its precondition does not hold: " + l.Fate.Cause
		f.Change = precondition(l.Fate.Cause)
	default:
		f.Because, f.Origin = l.Fate.Cause, l.Fate.Origin
		f.Change = write(name, true, f.Origin)
	}
	return f
}

func (x *explainer) segment(id string) {
	f := Finding{Kind: "segment", Name: id, Owner: x.ownerOf(id)}
	for _, b := range x.s.Surface() {
		f.There = f.There || b.Surface == session.OnSegment && b.Name == id
	}
	owner := x.middleware(f.Owner)
	switch {
	case !owner.There:
		f.Because, f.Origin, f.Change = fmt.Sprintf("its owner is not there: %s", owner.Because), owner.Origin, owner.Change
	case !f.There:
		f.Because, f.Change = x.mute(f.Owner, id)
	default:
		o, is := x.s.State().Override(id)
		if is {
			f.Because, f.Origin = "the override of its text", o.Origin
			f.Change = write(id, false, x.s.State().Why(id).Origin) + " for the built-in text"
			break
		}
		f.Because = "the built-in text of its owner"
		f.Change = fmt.Sprintf("for another text write .peri/meta/%s.md and, under meta, %s: true; to be rid of it close %s", id, id, f.Owner)
	}
	x.add(f)
}

// mute says why a segment of a live owner is not in the prompt.
func (x *explainer) mute(owner, id string) (because, change string) {
	m, _ := x.suite.Lookup(owner)
	for _, s := range m.Segments {
		if s.ID == id && len(s.Needs) > 0 {
			needs := strings.Join(s.Needs, ", ")
			return "none of the tools that it is about is there: " + needs, "peri explain says it of each: " + needs
		}
		if s.ID == id && s.Word != "" && !x.s.View().Admits(owner, s.Word) {
			return fmt.Sprintf("a list leaves %q out", s.Word), fmt.Sprintf("take %s off tools.deny, or put it on tools.allow", s.Word)
		}
		if s.ID == id && len(s.Vars) > 0 {
			return "nothing fills it: {{" + strings.Join(s.Vars, "}}, {{") + "}}", "provide what fills it"
		}
	}
	return "it has nothing to say", "write a text for it"
}

func (x *explainer) ownerOf(id string) string {
	for _, m := range x.suite.All() {
		for _, s := range m.Segments {
			if s.ID == id {
				return m.Name
			}
		}
	}
	return ""
}

func (x *explainer) tool(name string) {
	e := x.s.View().Explain(name)
	if e.Owner == "" {
		return
	}
	f := Finding{Kind: "tool", Name: e.Name, Owner: e.Owner, There: e.Visible, Origin: e.Origin}
	defer func() {
		if !strings.EqualFold(name, e.Name) {
			f.Because = fmt.Sprintf("%q is another name of it; %s", name, f.Because)
		}
		x.add(f)
	}()
	switch e.Gate {
	case "":
		f.Because = "its owner is live, and no list or switch stops it"
		if e.Deferred {
			f.Because += "; it is deferred, so the model finds it by search"
		}
		for _, l := range e.Limits {
			f.Because += fmt.Sprintf("; not every call of it runs, by %s%s", l.Text, at(l.Origin))
			f.Origin = l.Origin
		}
		f.Change = fmt.Sprintf("write %s under tools.deny, or %s: false under meta", e.Name, e.Owner)
	case toolview.GateExists:
		owner := x.middleware(e.Owner)
		f.Because, f.Change = "gate exists: "+e.Rule, owner.Change
		if f.Origin == (meta.Origin{}) {
			f.Origin = owner.Origin
		}
	case toolview.GateListed:
		f.Because, f.Change = "gate listed: "+e.Rule, fmt.Sprintf("add %s to every tools.allow that there is", e.Name)
		if e.Origin.Layer == hostLayer {
			f.Change = "the host can list it: its own allow list lacks it"
		}
	case toolview.GateDenied:
		f.Because, f.Change = "gate denied: tools.deny has "+e.Rule, fmt.Sprintf("remove %s from tools.deny%s", e.Rule, at(e.Origin))
		if e.Origin.Layer == hostLayer {
			f.Because, f.Change = "gate denied: the host's own list has "+e.Rule, "the host can take it back"
		}
	case toolview.GateActive:
		f.Because, f.Change = "gate active: "+e.Rule, "the host can unpause "+e.Owner
	case toolview.GateSupported:
		f.Because, f.Change = "gate supported: "+e.Rule, precondition(e.Rule)
	}
}

// hostLayer is the origin of what the host set on the session.
const hostLayer = "host"

func (x *explainer) route(name string) {
	for _, l := range x.s.Chain().Links() {
		declared := false
		for _, d := range l.Routes {
			declared = declared || d.Name == name
		}
		there := false
		if l.Instance != nil && l.Fate.Status == middleware.Live {
			for _, o := range x.s.Chain().Offers(nil) {
				there = there || o.Owner == l.Name && o.Name == name
			}
		}
		if !declared && !there {
			continue
		}
		owner := x.middleware(l.Name)
		f := Finding{Kind: "route", Name: "/" + name, Owner: l.Name, There: there, Origin: owner.Origin, Change: owner.Change}
		f.Because = "its owner is live"
		if !there {
			f.Because = "its owner is not there: " + owner.Because
		}
		x.add(f)
	}
}

func (x *explainer) agent(name string) {
	for _, l := range x.s.Chain().Links() {
		if l.Instance == nil || l.Fate.Status != middleware.Live || l.Instance.Agents == nil {
			continue
		}
		for _, a := range l.Instance.Agents.List() {
			if a.Name != name {
				continue
			}
			f := Finding{Kind: "agent", Name: name, Owner: l.Name, There: true, Origin: meta.Origin{File: a.File}}
			f.Because = "the " + a.Origin + " definition"
			f.Change = fmt.Sprintf("write enabled: false under agents.%s", name)
			x.add(f)
		}
	}
}

// names are all that a misspelt one could have meant.
func (x *explainer) names() []string {
	out := x.suite.Keys().Names()
	for _, b := range x.suite.Bands() {
		for _, t := range b.Set.All() {
			out = append(out, t.Name)
		}
	}
	for _, l := range x.s.Chain().Links() {
		for _, d := range l.Routes {
			out = append(out, d.Name)
		}
	}
	for _, f := range x.s.Surface() {
		if f.Surface == session.OnAgent {
			out = append(out, f.Name)
		}
	}
	return out
}

// write says how a key of the meta map gets a value when it now stands at a place, if it does.
func write(key string, value bool, now meta.Origin) string {
	switch {
	case now.Layer == "managed":
		return "the administrator's file decides; nothing here can change it"
	case now.File != "":
		return fmt.Sprintf("write %s: %t%s", key, value, at(now))
	case now.Layer != "":
		return fmt.Sprintf("the %s layer sets it to %t: leave that out, or set %s: %t there", now.Layer, !value, key, value)
	}
	return fmt.Sprintf("write %s: %t under meta in .peri/settings.yaml", key, value)
}

// precondition is what to do about a reason: some say it themselves.
func precondition(reason string) string {
	if strings.HasPrefix(reason, "set ") {
		return reason
	}
	return "nothing to write: it is there when that changes"
}

func at(o meta.Origin) string {
	if o == (meta.Origin{}) {
		return ""
	}
	return " at " + o.String()
}
