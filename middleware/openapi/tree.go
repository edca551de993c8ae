package openapi

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"
)

// walker makes plain values of nodes: maps with text keys, lists and scalars that JSON can hold.
type walker struct{ left int }

func (w *walker) value(n *yaml.Node, depth int) (any, error) {
	if w.left--; w.left < 0 || depth > 200 {
		return nil, &placed{n.Line, "is too large or nests too deep to be read"}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := w.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case yaml.MappingNode:
		return w.mapping(n, depth)
	}
	return scalar(n), nil
}

func (w *walker) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := w.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			if m, ok := v.(map[string]any); ok {
				for k, x := range m {
					if _, own := out[k]; !own {
						out[k] = x
					}
				}
			}
			continue
		}
		out[key.Value] = v
	}
	return out, nil
}

// scalar keeps dates and whatever else JSON lacks as they are written.
func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) != nil {
			return n.Value
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return n.Value
		}
		return v
	}
	return n.Value
}

// alone is a document of one operation with everything that it refers to; nil = there is no such operation.
func (t *tree) alone(path, method string) (map[string]any, error) {
	paths, _ := t.top["paths"].(map[string]any)
	item, ok := paths[path].(map[string]any)
	if !ok {
		return nil, nil
	}
	if ref, ok := item["$ref"].(string); ok {
		at, err := t.at(ref)
		if err != nil {
			return nil, err
		}
		if item, ok = at.(map[string]any); !ok {
			return nil, nil
		}
	}
	op, ok := item[strings.ToLower(method)]
	if !ok {
		return nil, nil
	}
	out := map[string]any{}
	for k, v := range t.top {
		switch k {
		case "paths", "components", "definitions", "parameters", "responses", "webhooks", "tags", "externalDocs":
		default:
			out[k] = v
		}
	}
	one := map[string]any{strings.ToLower(method): op}
	for _, k := range []string{"parameters", "servers"} {
		if v, ok := item[k]; ok {
			one[k] = v
		}
	}
	out["paths"] = map[string]any{path: one}
	return out, t.gather(out, one, map[string]bool{})
}

// gather copies what a value refers to, and what that does, to the same places of another document.
func (t *tree) gather(into map[string]any, from any, seen map[string]bool) error {
	switch v := from.(type) {
	case []any:
		for _, x := range v {
			if err := t.gather(into, x, seen); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, x := range v {
			ref, ok := x.(string)
			if k != "$ref" || !ok {
				if err := t.gather(into, x, seen); err != nil {
					return err
				}
				continue
			}
			if seen[ref] {
				continue
			}
			seen[ref] = true
			target, err := t.at(ref)
			if err != nil {
				return err
			}
			place(into, strings.Split(ref[2:], "/"), target)
			if err := t.gather(into, target, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// at finds what a reference names. Only the document itself is looked at.
func (t *tree) at(ref string) (any, error) {
	if !strings.HasPrefix(ref, "#/") {
		return nil, fmt.Errorf("it refers to %q, outside of the document: bundle them into one", cut(ref, 100))
	}
	var v any = t.top
	for _, k := range strings.Split(ref[2:], "/") {
		m, ok := v.(map[string]any)
		if ok {
			v, ok = m[unescape(k)]
		}
		if !ok {
			return nil, fmt.Errorf("it refers to %q, which is not there", cut(ref, 100))
		}
	}
	return v, nil
}

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}", "%20", " ").Replace(token)
}

// place puts a value where a pointer says. What is on the way may belong to the document that it was taken from, so that
// it is copied first.
func place(into map[string]any, pointer []string, v any) {
	for _, k := range pointer[:len(pointer)-1] {
		next, _ := into[unescape(k)].(map[string]any)
		next = maps.Clone(next)
		if next == nil {
			next = map[string]any{}
		}
		into[unescape(k)] = next
		into = next
	}
	last := unescape(pointer[len(pointer)-1])
	if _, there := into[last]; !there {
		into[last] = v
	}
}
