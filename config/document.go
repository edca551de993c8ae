package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Fields reads a document that is no settings file in the syntax of one, and gives its fields in the order of their
// writing. at names the file; its extension says which syntax. An error is an *Error with its place.
func Fields(raw []byte, at meta.Origin) ([]Field, error) {
	tree, bad := parse(raw, at)
	if bad != nil {
		return nil, bad
	}
	var out []Field
	if tree != nil {
		for _, m := range tree.members {
			out = append(out, field(m))
		}
	}
	return out, nil
}

// HooksIn reads the hooks under a key of such a document, in Claude Code's shape. One that could not run is left out
// alone, and reported; what a matcher says holds for all its hooks.
func HooksIn(raw []byte, at meta.Origin, key string) ([]Hook, []meta.Diagnostic) {
	var r reading
	all := r.under(raw, at, key)
	if all == nil && r.diags == nil {
		r.fail(&Error{Origin: at, Message: "there is no " + key, Suggestion: "write {" + key + ": {…}}"})
	}
	var out []Hook
	for _, event := range membersOf(all) {
		under := hooksNode.at(event.name)
		if under == nil {
			r.tell(func(found *problems) { hooksNode.unknown(event, key, found) })
			continue
		}
		if event.kind != list {
			r.tell(func(found *problems) { checkValue(under, event.value, join(key, event.name), found) })
			continue
		}
		for _, matcher := range event.items {
			out = append(out, r.matcher(key, event, matcher)...)
		}
	}
	return out, r.diags
}

// matcher takes one matcher apart, so that each of its hooks is good or bad alone.
func (r *reading) matcher(key string, event member, m *value) []Hook {
	given, _ := m.member("hooks")
	single := func(items ...*value) *value {
		whole := &value{kind: m.kind, at: m.at, scalar: m.scalar, items: m.items, members: slices.Clone(m.members)}
		if given.value != nil && given.kind == list {
			whole.set(member{"hooks", given.at, &value{kind: list, at: given.value.at, items: items}})
		}
		events := &value{kind: mapping, at: m.at}
		events.set(member{event.name, event.at, &value{kind: list, at: m.at, items: []*value{whole}}})
		return events
	}
	read := func(v *value) []Hook {
		var out []Hook
		r.tell(func(found *problems) {
			checked := checkValue(&hooksNode, v, key, found)
			if len(found.errs) == 0 {
				validateHooks(&value{kind: mapping, members: []member{{"hooks", v.at, checked}}}, found)
			}
			if len(found.errs) == 0 {
				out = hooks(place{&hooksNode, checked, v.at})
			}
		})
		return out
	}
	if given.value == nil || given.kind != list {
		return read(single())
	}
	var out []Hook
	for _, h := range given.items {
		out = append(out, read(single(h))...)
	}
	return out
}

// ServersIn reads the MCP servers under a key of such a document, or the whole of one that lacks it. The fields of
// settings are understood, and the type of transport that others write: stdio, http, or sse. A server that could not be
// connected is left out alone, and reported.
func ServersIn(raw []byte, at meta.Origin, key string) ([]Server, []meta.Diagnostic) {
	var r reading
	all := r.under(raw, at, key)
	if all == nil && r.diags == nil {
		all = r.under(raw, at, "")
	}
	var out []Server
	for _, m := range membersOf(all) {
		r.tell(func(found *problems) {
			path := join(key, m.name)
			v := transport(m, path, found)
			checked := checkValue(&serverNode, v, path, found)
			if len(found.errs) > 0 {
				return
			}
			switch e := (member{m.name, m.at, checked}); present(e, []string{"command", "url"}) {
			case 1:
				merged := merge(&serverNode, []*value{checked})
				out = append(out, server(m.name, place{&serverNode, merged, m.at}))
			case 0:
				found.fail(m.at, path, "has neither a command nor a url", "write one of the two")
			default:
				found.fail(m.at, path, "has both a command and a url", "keep one of the two")
			}
		})
	}
	slices.SortStableFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return out, r.diags
}

// transport takes out the field that says how a server is reached, which its other fields say too.
func transport(m member, path string, found *problems) *value {
	kind, ok := m.member("type")
	if !ok {
		return m.value
	}
	needs := map[any]string{"stdio": "command", "http": "url", "streamable-http": "url", "sse": "url"}[kind.scalar]
	if needs == "" {
		found.fail(kind.at, join(path, "type"), kind.found(), "write stdio or http, or remove it")
	} else if _, ok := m.member(needs); !ok {
		found.fail(kind.at, join(path, "type"), "needs a "+needs, "write it, or another type")
	}
	out := &value{kind: mapping, at: m.value.at}
	for _, f := range m.members {
		if f.name != "type" {
			out.members = append(out.members, f)
		}
	}
	return out
}

// reading collects what is wrong with a document whose parts stand alone.
type reading struct{ diags []meta.Diagnostic }

// under parses a document and finds the map under a key, nil for none.
func (r *reading) under(raw []byte, at meta.Origin, key string) *value {
	tree, bad := parse(raw, at)
	if bad != nil {
		r.fail(bad)
		return nil
	}
	if key == "" || tree == nil {
		return tree
	}
	m, ok := tree.member(key)
	switch {
	case !ok:
		return nil
	case m.kind != mapping:
		r.fail(&Error{Origin: m.value.at, Key: key, Message: m.found(), Suggestion: "write a map"})
		return nil
	}
	return m.value
}

// tell turns what a check finds into diagnostics.
func (r *reading) tell(check func(*problems)) {
	var found problems
	check(&found)
	for _, err := range found.errs {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Message: err.Error()}
		}
		r.fail(e)
	}
	r.diags = append(r.diags, found.diags...)
}

func (r *reading) fail(e *Error) {
	r.diags = append(r.diags, meta.Diagnostic{
		Severity: meta.SeverityError, Code: "left_out", Key: e.Key, Origin: e.Origin, Message: e.Message + "; it is left out", Suggestion: e.Suggestion,
	})
}
