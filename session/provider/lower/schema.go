package lower

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// widest bounds how many schemas the references of one tool may unfold to; what is beyond takes any value.
const widest = 5000

// Schema returns the schema of a tool's arguments as every API takes it: an object, without references and without a union,
// a condition or an enumeration at its top. It shows the same arguments or more, never fewer, and what is validated stays
// the tool's own schema; note is what the shown one cannot say, for the tool's description. A schema that has nothing
// to adapt is returned as it is.
func Schema(raw json.RawMessage) (shown json.RawMessage, note string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var top map[string]any
	if d.Decode(&top) != nil || top == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), ""
	}
	referring := bytes.Contains(raw, []byte(`"$ref"`)) || bytes.Contains(raw, []byte(`"$dynamicRef"`))
	_, plain := top["properties"].(map[string]any)
	plain = plain && top["type"] == "object" && !referring
	for _, k := range atTop {
		_, has := top[k]
		plain = plain && !has
	}
	if plain {
		return raw, ""
	}
	if referring {
		u := unfolder{top: top, left: widest}
		top, _ = u.schema(top, nil).(map[string]any)
		delete(top, "$defs")
		delete(top, "definitions")
	}
	note = flatten(top)
	return encode(top), note
}

// atTop are the keywords that one API or another refuses at the top of a schema.
var atTop = [...]string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"}

// flatten makes an object of what its alternatives have, and says in words what gets lost by it.
func flatten(top map[string]any) string {
	said := map[string]any{}
	props, _ := top["properties"].(map[string]any)
	if props = maps.Clone(props); props == nil {
		props = map[string]any{}
	}
	required := texts(top["required"])
	for _, k := range atTop {
		v, has := top[k]
		if !has {
			continue
		}
		said[k] = v
		delete(top, k)
		branches, _ := v.([]any)
		switch k {
		case "allOf":
			for _, b := range branches {
				merge(props, b)
				required = append(required, texts(field(b, "required"))...)
			}
		case "anyOf", "oneOf":
			required = append(required, inAll(branches)...)
			for _, b := range branches {
				merge(props, b)
			}
		case "then", "else":
			merge(props, v)
		}
	}
	if len(said) > 0 {
		// It may forbid what only a branch has.
		delete(top, "additionalProperties")
		delete(top, "unevaluatedProperties")
	}
	top["type"], top["properties"] = "object", props
	slices.Sort(required)
	if required = slices.Compact(required); len(required) > 0 {
		top["required"] = required
	} else {
		delete(top, "required")
	}
	if len(said) == 0 {
		return ""
	}
	return "The arguments as a whole must also match this JSON Schema: " + string(encode(said))
}

// merge adds the properties of a branch; what two have under one name may be either.
func merge(props map[string]any, branch any) {
	more, _ := field(branch, "properties").(map[string]any)
	for name, p := range more {
		old, has := props[name]
		switch {
		case !has:
			props[name] = p
		case bytes.Equal(encode(old), encode(p)):
		default:
			if either, ok := field(old, "anyOf").([]any); ok && len(old.(map[string]any)) == 1 {
				if !slices.ContainsFunc(either, func(e any) bool { return bytes.Equal(encode(e), encode(p)) }) {
					props[name] = map[string]any{"anyOf": append(slices.Clone(either), p)}
				}
				continue
			}
			props[name] = map[string]any{"anyOf": []any{old, p}}
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		inner, _ := field(branch, k).([]any)
		for _, b := range inner {
			merge(props, b)
		}
	}
}

// inAll returns what every branch requires.
func inAll(branches []any) []string {
	var all []string
	for i, b := range branches {
		r := texts(field(b, "required"))
		if i == 0 {
			all = r
			continue
		}
		all = slices.DeleteFunc(all, func(s string) bool { return !slices.Contains(r, s) })
	}
	return all
}

func field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func texts(v any) []string {
	var out []string
	switch l := v.(type) {
	case []any:
		for _, e := range l {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
	case []string:
		out = slices.Clone(l)
	}
	return out
}

// encode writes a value with its keys sorted.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// unfolder puts what is referred to in the place of the reference.
type unfolder struct {
	top  map[string]any
	left int
}

func (u *unfolder) schema(v any, open []string) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = u.schema(x[i], open)
		}
		return out
	case map[string]any:
		return u.object(x, open)
	}
	return v
}

func (u *unfolder) object(x map[string]any, open []string) any {
	if u.left--; u.left < 0 {
		return map[string]any{}
	}
	out := map[string]any{}
	if ref, ok := x["$ref"].(string); ok && !slices.Contains(open, ref) {
		if target, ok := u.target(ref); ok {
			if m, ok := u.schema(target, append(slices.Clone(open), ref)).(map[string]any); ok {
				maps.Copy(out, m)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(x)) {
		switch k {
		case "$ref", "$dynamicRef", "$defs", "definitions":
		case "enum", "const", "default", "examples":
			out[k] = x[k] // values, not schemas
		case "properties", "patternProperties", "dependentSchemas":
			out[k] = u.named(x[k], open)
		default:
			out[k] = u.schema(x[k], open)
		}
	}
	return out
}

// named unfolds the schemas of a map whose keys are names.
func (u *unfolder) named(v any, open []string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out[name] = u.schema(m[name], open)
	}
	return out
}

// target finds what a local JSON pointer names.
func (u *unfolder) target(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	var at any = u.top
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	return at, at != nil
}
