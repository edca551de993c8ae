package main

import (
	"fmt"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/report"
)

// setting explains a key of the settings: what holds, who wrote it, and what may be written.
func setting(l *config.Loaded, name string) []report.Finding {
	k, ok := l.Lookup(name)
	if !ok {
		return nil
	}
	f := report.Finding{Kind: "setting", Name: k.Key, There: true, Because: k.Doc}
	switch {
	case k.Value != "":
		f.Because += " It is " + k.Value
		if n := len(k.At); n > 0 {
			f.Origin = k.At[n-1]
			var more []string
			for _, at := range k.At[:n-1] {
				more = append(more, at.String())
			}
			if more != nil {
				f.Because += ", also from " + strings.Join(more, ", ")
			}
		}
	case k.Default != "":
		f.Because += " Nobody wrote it: it is " + k.Default
	default:
		f.Because += " Nobody wrote it."
	}
	f.Change = fmt.Sprintf("write %s: %s, in .peri/settings.yaml or the user's own, or --set %s=…", k.Key, k.Allowed, k.Key)
	return []report.Finding{f}
}

// absentSkill explains a skill that a rule denies or whose owner is closed: the session knows nothing of it.
func absentSkill(setup *builtin.Setup, s *session.Session, found []report.Finding, name string) []report.Finding {
	for _, f := range found {
		if f.Kind == "skill" {
			return nil
		}
	}
	var out []report.Finding
	for i := range setup.Skills {
		e := &setup.Skills[i]
		if e.ID != name && e.Name != name {
			continue
		}
		f := report.Finding{Kind: "skill", Name: e.ID, Owner: skills.Name}
		switch why := s.State().Why(skills.Name); {
		case e.Denied():
			f.Because, f.Origin, f.Change = "a rule denies it: "+e.By.Text, e.By.Origin, "peri skill enable "+e.ID
		case !s.State().Enabled(skills.Name):
			f.Because, f.Origin = "its owner is closed", why.Origin
			f.Change = instead(skills.Name+": true", why.Origin)
		default:
			continue // what takes it away is told of its owner
		}
		out = append(out, f)
	}
	return out
}

// narrower says what changes the one thing, where closing its middleware would take all of them.
func narrower(f *report.Finding) {
	switch {
	case f.Kind == "skill" && f.There:
		f.Change = "peri skill disable " + f.Name
	case f.Kind == "server" && f.There:
		f.Change = "write enabled: false under mcp.servers." + f.Name
	case f.Kind == "middleware" && f.There:
		f.Change += ", or run peri disable " + f.Name
	case f.Kind == "middleware" && f.Origin.File != "":
		f.Change += ", or run peri enable " + f.Name
	}
}
