package closuretest

import (
	"encoding/json"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// sample is arguments that a tool's schema may accept, all strings being text where a schema lets them be.
func sample(t *toolview.Tool, text string) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(t.Schema, &s) != nil {
		return json.RawMessage("{}")
	}
	defs, _ := s["$defs"].(map[string]any)
	return json.RawMessage(jsonOf(value(s, defs, text, 0)))
}

// deepest bounds the nesting of a sample: a recursive schema has no end.
const deepest = 5

func value(s map[string]any, defs map[string]any, text string, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		if d, ok := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any); ok && depth < deepest {
			return value(d, defs, text, depth+1)
		}
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if e, ok := s["enum"].([]any); ok && len(e) > 0 {
		return e[0]
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if some, ok := s[k].([]any); ok && len(some) > 0 {
			if first, ok := some[0].(map[string]any); ok {
				return value(first, defs, text, depth+1)
			}
		}
	}
	switch kind(s["type"]) {
	case "object":
		return object(s, defs, text, depth)
	case "array":
		items, ok := s["items"].(map[string]any)
		if !ok || depth >= deepest {
			return []any{}
		}
		return []any{value(items, defs, text, depth+1)}
	case "integer", "number":
		if n, ok := s["minimum"].(float64); ok {
			return n
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	}
	return text
}

func object(s map[string]any, defs map[string]any, text string, depth int) map[string]any {
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	if r, ok := s["required"].([]any); ok {
		for _, n := range r {
			if n, ok := n.(string); ok {
				required[n] = true
			}
		}
	}
	for name, p := range props {
		if p, ok := p.(map[string]any); ok && (required[name] || depth < deepest) {
			out[name] = value(p, defs, text, depth+1)
		}
	}
	return out
}

func kind(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok && s != "null" {
				return s
			}
		}
	}
	return ""
}

// minimal leaves out of a sample what its schema does not require.
func minimal(t *toolview.Tool, args json.RawMessage) json.RawMessage {
	var s struct {
		Required []string `json:"required"`
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(t.Schema, &s) != nil || json.Unmarshal(args, &all) != nil {
		return json.RawMessage("{}")
	}
	out := map[string]json.RawMessage{}
	for _, n := range s.Required {
		out[n] = all[n]
	}
	return json.RawMessage(jsonOf(out))
}

// sampleCall makes a call of a tool with sample arguments, if any fit.
func sampleCall(v *toolview.View, t *toolview.Tool, text string) (*toolview.Call, bool) {
	if t.Unwrap != nil {
		return nil, false
	}
	full := sample(t, text)
	for _, args := range []json.RawMessage{full, minimal(t, full)} {
		if c, _ := v.Inner("closuretest_"+t.Name, toolview.Inner{Name: t.Name, Args: args}); c != nil {
			return c, true
		}
	}
	return nil, false
}
