package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// explained are the surfaces that have an explanation of their own.
var explained = [...]string{session.OnChain, session.OnSegment, session.OnTool, session.OnSearch, session.OnRoute, session.OnAgent}

// facts explains whatever else a session has of a name: skills, servers, sources, plugins, hooks by their events. A name
// behind a mount or folder (`@project/release`) may be said without it.
func (x *explainer) facts(name string) {
	for _, f := range x.s.Surface() {
		if slices.Contains(explained[:], f.Surface) || strings.HasPrefix(f.Surface, session.ChildPrefix) {
			continue
		}
		_, leaf, _ := strings.Cut(f.Name, "/")
		hook := f.Surface == session.OnHook && (f.Detail == name || f.Owner+" "+f.Name == name)
		if !hook && (f.Surface == session.OnHook || f.Name != name && leaf != name) {
			continue
		}
		owner := x.middleware(f.Owner)
		found := Finding{Kind: f.Surface, Name: f.Name, Owner: f.Owner, There: true, Because: "its owner is live", Change: owner.Change}
		if !owner.There {
			found.Because = "its owner always has it; but " + owner.Because
		}
		if f.Detail != "" {
			found.Because += ": " + f.Detail
		}
		x.add(found)
	}
}

// selector explains what a pattern of a list selects now.
func (x *explainer) selector(text string) {
	r, err := toolview.ParseRule(text, meta.Origin{})
	if err != nil || strings.HasPrefix(text, "@") && strings.Contains(text, "/") { // that is the id of a skill
		return
	}
	var seen, hidden []string
	for e := range x.s.View().All() {
		if r.Selects(e.Owner, &e.Tool.Decl) {
			seen = append(seen, e.Tool.Name)
		}
	}
	for _, b := range x.suite.Bands() {
		for _, t := range b.Set.All() {
			if r.Selects(b.Owner, &t.Decl) && !slices.Contains(seen, t.Name) && !slices.Contains(hidden, t.Name) {
				hidden = append(hidden, t.Name)
			}
		}
	}
	if len(seen)+len(hidden) == 0 {
		return
	}
	f := Finding{Kind: "selector", Name: text, There: len(seen) > 0}
	f.Because = "it selects " + orNothing(seen)
	if len(hidden) > 0 {
		f.Because += "; also " + strings.Join(hidden, ", ") + ", which are not there"
	}
	f.Change = "under tools.deny it takes them away, under tools.allow it leaves nothing else"
	x.add(f)
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing that is there"
	}
	return strings.Join(names, ", ")
}

// closing says what leaves when the middleware of a finding is closed: its own facts, and those of what requires it.
func (x *explainer) closing(f *Finding) string {
	name := f.Owner
	if f.Kind == "middleware" {
		name = f.Name
	}
	if _, ok := x.suite.Lookup(name); !ok || !f.There {
		return ""
	}
	gone := []string{name}
	for _, m := range x.suite.All() { // in order: what is required stands before
		if l, _ := x.s.Chain().Link(m.Name); l.Fate.Status != middleware.Closed && l.Fate.Status != middleware.Cascaded &&
			slices.ContainsFunc(m.Requires, func(r string) bool { return slices.Contains(gone, r) }) {
			gone = append(gone, m.Name)
		}
	}
	var order []string
	count := map[string]int{}
	for _, fact := range x.s.Surface() {
		if fact.Surface == session.OnChain || strings.HasPrefix(fact.Surface, session.ChildPrefix) || !slices.Contains(gone, fact.Owner) {
			continue
		}
		if count[fact.Surface]++; count[fact.Surface] == 1 {
			order = append(order, fact.Surface)
		}
	}
	parts := make([]string, len(order))
	for i, surface := range order {
		parts[i] = fmt.Sprintf("%s %d", surface, count[surface])
	}
	out := name + ": "
	if len(parts) == 0 {
		out += "nothing else leaves"
	} else {
		out += strings.Join(parts, ", ")
	}
	if len(gone) > 1 {
		out += "; closes " + strings.Join(gone[1:], ", ") + " too"
	}
	return out
}
