package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Known is what one key of the settings means here.
type Known struct {
	Key, Doc string
	// Allowed says what may be written, Default what holds where nobody writes it; "" = nothing.
	Allowed, Default string
	// Value is what holds, all layers merged; "" = nobody wrote it. What may hold a secret is told of and not shown.
	Value string
	// At are the places that it comes from.
	At []meta.Origin
}

// Lookup explains a key, names joined by dots: workspace.sandbox, mcp.servers.files. It knows every key that a file may
// have, written or not.
func (l *Loaded) Lookup(key string) (Known, bool) {
	names, bad := splitPath(key)
	if bad != "" || len(names) == 0 {
		return Known{}, false
	}
	n, v, secret := &tree, l.merged, false
	for _, name := range names {
		// A program's arguments may hold a key as well as its environment.
		secret = secret || n.confidential() || n.at(name) != nil && name == "args"
		if n = n.at(name); n == nil {
			return Known{}, false
		}
		m, _ := v.member(name)
		v = m.value
	}
	if v == nil && len(names) > 1 && tree.named(names) == nil {
		return Known{}, false // an entry with a free name that nobody wrote
	}
	k := Known{Key: key, Doc: n.doc, Allowed: n.kinds.words()}
	if len(n.enum) > 0 {
		k.Allowed = strings.Join(n.enum, ", ")
	}
	if n.def != nil {
		k.Default = fmt.Sprint(n.def)
	}
	if v != nil {
		k.Value, k.At = v.shown(secret || n.confidential()), v.places()
	}
	return k, true
}

// named is the node of a path of known names, nil where a name is free.
func (n *node) named(names []string) *node {
	for _, name := range names {
		if n = n.field(name); n == nil {
			return nil
		}
	}
	return n
}

// confidential says that what stands below may be a secret: an environment, headers, what another package decodes.
func (n *node) confidential() bool {
	return n.open() || n.kinds&mapping != 0 && n.elem == texts
}

// shown is a value in a line.
func (v *value) shown(secret bool) string {
	switch {
	case secret:
		return "written, and not shown"
	case v.kind == list:
		out := make([]string, len(v.items))
		for i, item := range v.items {
			out[i] = item.shown(false)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case v.kind == mapping:
		out := make([]string, len(v.members))
		for i, m := range v.members {
			out[i] = m.name
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	text := fmt.Sprint(v.scalar)
	if u, err := url.Parse(text); err == nil && u.Host != "" && (u.User != nil || u.RawQuery != "") {
		u.User, u.RawQuery = nil, ""
		return u.String() + " (the rest is not shown)"
	}
	return text
}

// places are where a value, or what it is made of, stands.
func (v *value) places() []meta.Origin {
	var out []meta.Origin
	add := func(at meta.Origin) {
		if at != (meta.Origin{}) && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	switch v.kind {
	case list:
		for _, item := range v.items {
			add(item.at)
		}
	case mapping:
		for _, m := range v.members {
			add(m.at)
		}
	}
	if out == nil {
		add(v.at)
	}
	return out
}

// Keys are the names of all settings without free names in them, for near misses.
func (l *Loaded) Keys() []string {
	var out []string
	var walk func(prefix string, n *node)
	walk = func(prefix string, n *node) {
		for i := range n.fields {
			f := &n.fields[i]
			out = append(out, prefix+f.name)
			walk(prefix+f.name+".", &f.node)
		}
	}
	walk("", &tree)
	return out
}

// words says what may be written.
func (k kind) words() string {
	var out []string
	for _, w := range []struct {
		kind
		text string
	}{{boolean, "true or false"}, {number, "a number"}, {text, "a text"}, {list, "a list"}, {mapping, "a map"}} {
		if k&w.kind != 0 {
			out = append(out, w.text)
		}
	}
	return strings.Join(out, ", ")
}
