package subagent

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Setting is one field that settings lay over a definition. It is read like the field of a file.
type Setting struct {
	Name string
	// Value is a string, bool, float64 or []any; of a map, Members are its fields in the order of the file.
	Value   any
	Members []Setting
	Origin  meta.Origin
}

// node is the setting's value as a file would have it.
func (s Setting) node() *yaml.Node {
	if s.Members != nil {
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range s.Members {
			n.Content = append(n.Content, scalar("!!str", m.Name), m.node())
		}
		return n
	}
	return nodeOf(s.Value)
}

func nodeOf(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return scalar("!!str", v)
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case float64:
		if v == math.Trunc(v) {
			return scalar("!!int", strconv.FormatFloat(v, 'f', -1, 64))
		}
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			n.Content = append(n.Content, nodeOf(e))
		}
		return n
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, scalar("!!str", name), nodeOf(v[name]))
		}
		return n
	}
	return scalar("!!null", "")
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// settings reads fields that are laid over a definition. false = the agent cannot be had with them.
func (l *loader) settings(d *Definition, fields []Setting) bool {
	ok := true
	for _, s := range fields {
		r := &reader{def: *d, laid: s.Origin, trusted: l.o.Trusted || s.Origin.Layer != Project && s.Origin.Layer != "local"}
		if s.Name == "mcp" || s.Name == "requiredMcpServers" {
			r.def.Servers = nil // what is laid over replaces
		}
		if s.Name == "tools" {
			r.def.Tools, r.def.Brings = nil, true
			r.def.Kinds = without(r.def.Kinds, toolview.Plain)
		}
		r.field(scalar("!!str", s.Name), s.node())
		l.checkHooks(r)
		for _, n := range r.notes {
			l.about(d.Name, meta.SeverityWarning, "agent_field", s.Origin, n.message, n.suggestion)
		}
		for _, b := range r.bad {
			ok = false
			l.about(d.Name, meta.SeverityError, "agent_broken", s.Origin, b.message+"; the agent is left out", b.suggestion)
		}
		*d = r.def
	}
	return ok
}
