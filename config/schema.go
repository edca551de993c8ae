package config

import (
	"encoding/json"

	"github.com/metaharness/peri/meta"
)

// Schema publishes the settings file as JSON Schema (draft 2020-12) for editors. With zero keys the meta map takes any
// name. The bytes are the same for the same keys.
func Schema(keys meta.Keys) ([]byte, error) {
	s := schema(&tree)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "peri settings"
	properties := s["properties"].(map[string]any)
	if keys.Len() > 0 {
		names := map[string]any{}
		for _, name := range keys.Names() {
			k, _ := keys.Lookup(name)
			names[name] = map[string]any{"type": "boolean", "description": k.Kind.String()}
			for _, alias := range k.Aliases {
				names[alias] = map[string]any{"type": "boolean", "description": "the same as " + name}
			}
		}
		m := properties["meta"].(map[string]any)
		m["properties"], m["additionalProperties"] = names, false
	}
	upstream := map[string]any{"description": "The Rust program's name of meta.", "deprecated": true}
	for k, v := range properties["meta"].(map[string]any) {
		if k != "description" {
			upstream[k] = v
		}
	}
	properties["meta_harness"] = upstream
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func schema(n *node) map[string]any {
	s := map[string]any{}
	var types []string
	for _, k := range []struct {
		kind kind
		name string
	}{{boolean, "boolean"}, {text, "string"}, {number, "number"}, {list, "array"}, {mapping, "object"}} {
		if n.kinds&k.kind == 0 {
			continue
		}
		if k.kind == number && n.whole {
			k.name = "integer"
		}
		types = append(types, k.name)
	}
	if s["type"] = any(types); len(types) == 1 {
		s["type"] = types[0]
	}
	if n.doc != "" {
		s["description"] = n.doc
	}
	if n.enum != nil {
		s["enum"] = n.enum
	}
	if n.def != nil {
		s["default"] = n.def
	}
	if n.filled {
		s["pattern"] = `\S`
	}
	if n.kinds&number != 0 {
		s["minimum"] = n.min
		if n.max != 0 {
			s["maximum"] = n.max
		}
	}
	if n.kinds&list != 0 && n.elem != nil {
		s["items"] = schema(n.elem)
	}
	if n.kinds&mapping != 0 && !n.open() {
		properties := map[string]any{}
		for i := range n.fields {
			properties[n.fields[i].name] = schema(&n.fields[i].node)
		}
		s["properties"], s["additionalProperties"] = properties, false
		if n.elem != nil {
			s["additionalProperties"] = schema(n.elem)
		}
	}
	return s
}
