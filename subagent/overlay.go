package subagent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Fields are what settings say of one agent, layers already merged. A nil field leaves the definition's own.
type Fields struct {
	Description, Model, Mode, Prompt *string
	// Tools and Deny replace the whole list; an empty one is an empty list.
	Tools, Deny *[]string
	// More are the other fields, each replacing the definition's own.
	More     []Setting
	MaxTurns *int
	// Enabled removes the agent when it is false.
	Enabled *bool
	// Origin is where the entry stands, and ModeOrigin where its mode does when that is another place.
	Origin, ModeOrigin meta.Origin
}

// overlay lays settings over what the files gave.
func (l *loader) overlay() {
	var names []string
	for name, s := range l.by {
		if s.def != nil {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.o.Overlay)) {
		f := l.o.Overlay[name]
		s, there := l.by[name]
		switch {
		case there && s.def == nil:
			continue // left out, and reported there
		case !there:
			suggestion := "write its file, or remove the entry"
			if near := meta.Nearest(name, names); len(near) > 0 {
				suggestion = "did you mean " + near[0] + "?"
			}
			l.about(name, meta.SeverityError, "agent_unknown", f.Origin, "there is no such agent", suggestion)
			continue
		case f.Enabled != nil && !*f.Enabled:
			delete(l.by, name)
			continue
		}
		d := *s.def
		ok := l.lay(&d, f)
		ok = l.settings(&d, f.More) && ok && l.sound(&d)
		if ok {
			l.by[name] = source{&d, s.real}
		} else {
			delete(l.by, name)
		}
	}
}

// lay reports whether the agent can be had with these fields.
func (l *loader) lay(d *Definition, f Fields) bool {
	for _, c := range []struct {
		from *string
		to   *string
	}{{f.Description, &d.Description}, {f.Model, &d.Model}, {f.Prompt, &d.Body}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	if d.Model == "inherit" {
		d.Model = ""
	}
	if f.Tools != nil {
		d.Tools, d.ToolsAt, d.Brings = append([]string{}, *f.Tools...), f.Origin, true
		d.Kinds = without(d.Kinds, toolview.Plain)
	}
	if f.Deny != nil {
		d.Deny, d.DenyAt = append([]string{}, *f.Deny...), f.Origin
	}
	if f.MaxTurns != nil {
		if *f.MaxTurns < 1 {
			l.about(d.Name, meta.SeverityError, "agent_broken", f.Origin, fmt.Sprintf("maxTurns: found %d; the agent is left out", *f.MaxTurns), "write a whole number from 1 on")
			return false
		}
		d.MaxTurns = *f.MaxTurns
	}
	if f.Mode == nil {
		return true
	}
	origin := f.ModeOrigin
	if origin == (meta.Origin{}) {
		origin = f.Origin
	}
	mode, ok := modes[*f.Mode]
	switch {
	case !ok:
		l.about(d.Name, meta.SeverityError, "agent_broken", origin, fmt.Sprintf("permissionMode: %q is no mode; the agent is left out", *f.Mode), "write "+modeNames)
		return false
	case wide(mode) && !l.o.Trusted && (origin.Layer == Project || origin.Layer == "local"):
		l.about(d.Name, meta.SeverityWarning, "agent_field", origin, fmt.Sprintf("permissionMode: %s is wider than default and the project is not trusted: ignored", mode), "trust the project to apply it")
	default:
		d.Mode = mode
	}
	return true
}

// sound reports whether the lists of the whole can be compiled.
func (l *loader) sound(d *Definition) bool {
	_, err := d.Frame()
	for _, e := range findings(err) {
		l.about(d.Name, meta.SeverityError, "agent_broken", e.Origin, e.Message+"; the agent is left out", e.Suggestion)
	}
	return err == nil
}

func (l *loader) about(name string, severity meta.Severity, code string, origin meta.Origin, message, suggestion string) {
	l.report(severity, code, origin, message, suggestion)
	l.diags[len(l.diags)-1].Key = "agents." + name
}
