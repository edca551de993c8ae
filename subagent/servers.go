package subagent

import (
	"encoding/json"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// serverEntry is one server of an agent's own, as whoever connects servers reads it.
type serverEntry struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Origin  meta.Origin       `json:"origin,omitzero"`
}

// servers reads mcpServers: a list of names and {name: definition}, or one map of definitions. A name reuses the session's
// connection, so that nothing is to be done for it; a definition is a server of this agent alone.
func (r *reader) servers(key, value *yaml.Node) {
	r.def.bring(toolview.Extra{Kind: toolview.ExtraServers})
	var entries []*yaml.Node
	switch value.Kind {
	case yaml.MappingNode:
		entries = []*yaml.Node{value}
	case yaml.SequenceNode:
		entries = value.Content
	default:
		r.refuse(value, "list the servers", "%s: found %s", key.Value, found(value))
	}
	var own []serverEntry
	before := len(r.bad)
	for _, e := range entries {
		switch {
		case e.Kind == yaml.MappingNode:
			r.members(key.Value, e, func(name, def *yaml.Node) {
				if def.Kind == yaml.ScalarNode && (def.Tag == "!!null" || def.Value == name.Value) {
					return // a name with nothing behind it is one of the session's
				}
				own = append(own, r.server(name, def))
			})
		case e.Kind != yaml.ScalarNode || e.Tag != "!!str":
			r.refuse(e, "name a server", "%s: found %s", key.Value, found(e))
		}
	}
	switch {
	case len(own) == 0 || len(r.bad) > before:
		return
	case !r.trusted:
		r.note(key, "trust the project to start them", "mcpServers: the project is not trusted: its servers are not started")
		return
	}
	raw, err := json.Marshal(own)
	if err != nil {
		r.refuse(key, "write plain texts", "%s: %v", key.Value, err)
		return
	}
	r.def.bring(toolview.Extra{Kind: toolview.ExtraServers, Value: raw})
}

func (r *reader) server(name, def *yaml.Node) serverEntry {
	what := "mcpServers." + name.Value
	s := serverEntry{Name: name.Value, Origin: r.origin(name)}
	r.members(what, def, func(k, v *yaml.Node) {
		switch k.Value {
		case "command":
			r.text(k, v, &s.Command)
		case "url":
			r.text(k, v, &s.URL)
		case "args":
			for _, a := range r.sequence(what+".args", v) {
				var text string
				if r.text(k, a, &text) {
					s.Args = append(s.Args, text)
				}
			}
		case "env":
			s.Env = r.texts(what+".env", v)
		case "headers":
			s.Headers = r.texts(what+".headers", v)
		case "type":
			var kind string
			if r.text(k, v, &kind) && kind != "stdio" && kind != "http" && kind != "streamable-http" {
				r.refuse(v, "write stdio or http", "%s: servers of the type %q cannot be reached", what, kind)
			}
		default:
			r.refuse(k, "the fields are type, command, args, env, url, headers", "%s: %s is no field", what, k.Value)
		}
	})
	if (s.Command == "") == (s.URL == "") {
		r.refuse(def, "write one of command and url", "%s: it has to have either a command or a url", what)
	}
	return s
}

func (r *reader) texts(what string, value *yaml.Node) map[string]string {
	out := map[string]string{}
	r.members(what, value, func(k, v *yaml.Node) {
		var text string
		if r.text(k, v, &text) {
			out[k.Value] = text
		}
	})
	return out
}
