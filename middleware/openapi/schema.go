package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	// maxSchema is about how large, in bytes, the parts of one operation's schema may become together: parts that are
	// referred to later are then told by their type alone.
	maxSchema = 24 << 10
	// maxInline bounds how deep schemas stand in one another without a reference.
	maxInline = 20
	// maxNote bounds one description.
	maxNote = 600
)

// lowering makes plain JSON Schema of an operation's schemas. What is referred to stands once, under $defs, so that
// schemas which refer to themselves end.
type lowering struct {
	v31   bool
	defs  map[string]any
	names map[*openapi3.Schema]string
	queue []*openapi3.Schema
}

func newLowering(v31 bool) *lowering {
	return &lowering{v31: v31, defs: map[string]any{}, names: map[*openapi3.Schema]string{}}
}

// of lowers one schema. What is small stands where it is used.
func (l *lowering) of(ref *openapi3.SchemaRef, depth int) map[string]any {
	switch {
	case ref == nil || ref.Value == nil:
		return map[string]any{}
	case ref.Ref != "" && !small(ref.Value):
		return map[string]any{"$ref": "#/$defs/" + l.name(ref)}
	}
	return l.schema(ref.Value, depth)
}

// small reports whether a schema holds no other.
func small(s *openapi3.Schema) bool {
	return len(s.OneOf)+len(s.AnyOf)+len(s.AllOf)+len(s.Properties)+len(s.PatternProperties)+len(s.PrefixItems)+len(s.DependentSchemas) == 0 &&
		s.Not == nil && s.Items == nil && s.AdditionalProperties.Schema == nil && s.If == nil && s.Contains == nil
}

// name is that of a definition: the last part of its reference, with a number where another has it.
func (l *lowering) name(ref *openapi3.SchemaRef) string {
	if n, ok := l.names[ref.Value]; ok {
		return n
	}
	base := plainName(ref.Ref[strings.LastIndexAny(ref.Ref, "/#")+1:])
	if base == "" {
		base = "schema"
	}
	name := base
	for i := 2; ; i++ {
		if _, taken := l.defs[name]; !taken {
			break
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
	l.names[ref.Value], l.defs[name] = name, nil
	l.queue = append(l.queue, ref.Value)
	return name
}

// finish lowers what was referred to, nearest first, and reports whether something had to be cut short.
func (l *lowering) finish(size int) (short bool) {
	for len(l.queue) > 0 {
		s := l.queue[0]
		l.queue = l.queue[1:]
		if size > maxSchema {
			l.defs[l.names[s]] = stub(s)
			short = true
			continue
		}
		def := l.schema(s, 0)
		l.defs[l.names[s]] = def
		if b, err := json.Marshal(def); err == nil {
			size += len(b)
		}
	}
	return short
}

// stub stands for a schema that there is no room for: it accepts what that accepts, and more.
func stub(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	if s.Type != nil && len(*s.Type) == 1 && !s.Nullable {
		out["type"] = (*s.Type)[0]
	}
	note(out, s.Description)
	return out
}

func (l *lowering) schema(s *openapi3.Schema, depth int) map[string]any {
	switch {
	case s.Always != nil && !*s.Always:
		return map[string]any{"not": map[string]any{}}
	case s.Always != nil:
		return map[string]any{}
	case depth > maxInline:
		return stub(s)
	}
	out := map[string]any{}
	note(out, strings.TrimSpace(s.Description))
	l.types(out, s)
	l.numbers(out, s)
	text(out, s)
	l.lists(out, s, depth)
	l.objects(out, s, depth)
	l.choices(out, s, depth)
	if s.Default != nil {
		out["default"] = s.Default
	}
	return out
}

func note(out map[string]any, description string) {
	if description = strings.TrimSpace(description); description != "" {
		if len(description) > maxNote {
			description = strings.ToValidUTF8(description[:maxNote], "") + "…"
		}
		out["description"] = description
	}
}

// types lowers the types and values. What OpenAPI 3.0 calls nullable is a further type, and a further value of an enum.
func (l *lowering) types(out map[string]any, s *openapi3.Schema) {
	nullable := s.Nullable && !l.v31
	if s.Type != nil {
		var types []any
		for _, t := range *s.Type {
			if t == "file" {
				t = "string"
			}
			if !slices.Contains(types, any(t)) {
				types = append(types, t)
			}
		}
		if nullable && len(types) > 0 && !slices.Contains(types, any("null")) {
			types = append(types, "null")
		}
		switch len(types) {
		case 0:
		case 1:
			out["type"] = types[0]
		default:
			out["type"] = types
		}
	}
	if len(s.Enum) > 0 {
		enum := slices.Clone(s.Enum)
		if nullable && s.Type != nil && !slices.Contains(enum, nil) {
			enum = append(enum, nil)
		}
		out["enum"] = enum
	}
	if s.Const != nil {
		out["const"] = s.Const
	}
	if s.Format != "" {
		out["format"] = s.Format
	}
}

func (l *lowering) numbers(out map[string]any, s *openapi3.Schema) {
	bound := func(key, strict string, limit *float64, ex openapi3.ExclusiveBound) {
		if limit != nil {
			if ex.Bool != nil && *ex.Bool {
				out[strict] = *limit
			} else {
				out[key] = *limit
			}
		}
		if ex.Value != nil {
			out[strict] = *ex.Value
		}
	}
	bound("minimum", "exclusiveMinimum", s.Min, s.ExclusiveMin)
	bound("maximum", "exclusiveMaximum", s.Max, s.ExclusiveMax)
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		out["multipleOf"] = *s.MultipleOf
	}
}

// text leaves out patterns of other dialects: the server checks them.
func text(out map[string]any, s *openapi3.Schema) {
	if s.MinLength > 0 {
		out["minLength"] = s.MinLength
	}
	if s.MaxLength != nil {
		out["maxLength"] = *s.MaxLength
	}
	if s.Pattern != "" && len(s.Pattern) <= 500 {
		if _, err := regexp.Compile(s.Pattern); err == nil {
			out["pattern"] = s.Pattern
		}
	}
}

func (l *lowering) lists(out map[string]any, s *openapi3.Schema, depth int) {
	if s.Items != nil {
		out["items"] = l.of(s.Items, depth+1)
	}
	if len(s.PrefixItems) > 0 {
		out["prefixItems"] = l.all(s.PrefixItems, depth)
	}
	if s.Contains != nil {
		out["contains"] = l.of(s.Contains, depth+1)
	}
	if s.MinItems > 0 {
		out["minItems"] = s.MinItems
	}
	if s.MaxItems != nil {
		out["maxItems"] = *s.MaxItems
	}
	if s.UniqueItems {
		out["uniqueItems"] = true
	}
}

// objects leaves out properties that only answers have.
func (l *lowering) objects(out map[string]any, s *openapi3.Schema, depth int) {
	props := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; p == nil || p.Value == nil || !p.Value.ReadOnly {
			props[name] = l.of(p, depth+1)
		}
	}
	if len(props) > 0 {
		out["properties"] = props
	}
	var required []string
	for _, name := range s.Required {
		p := s.Properties[name]
		if (p == nil || p.Value == nil || !p.Value.ReadOnly) && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	switch ap := s.AdditionalProperties; {
	case ap.Schema != nil:
		out["additionalProperties"] = l.of(ap.Schema, depth+1)
	case ap.Has != nil:
		out["additionalProperties"] = *ap.Has
	}
	if len(s.PatternProperties) > 0 {
		some := map[string]any{}
		for pattern, p := range s.PatternProperties {
			if _, err := regexp.Compile(pattern); err == nil {
				some[pattern] = l.of(p, depth+1)
			}
		}
		if len(some) == len(s.PatternProperties) {
			out["patternProperties"] = some
		} else {
			delete(out, "additionalProperties") // it would refuse what a lost pattern allows
		}
	}
	if s.PropertyNames != nil {
		out["propertyNames"] = l.of(s.PropertyNames, depth+1)
	}
	if s.MinProps > 0 {
		out["minProperties"] = s.MinProps
	}
	if s.MaxProps != nil {
		out["maxProperties"] = *s.MaxProps
	}
	if len(s.DependentRequired) > 0 {
		out["dependentRequired"] = s.DependentRequired
	}
}

func (l *lowering) choices(out map[string]any, s *openapi3.Schema, depth int) {
	for key, list := range map[string]openapi3.SchemaRefs{"oneOf": s.OneOf, "anyOf": s.AnyOf, "allOf": s.AllOf} {
		if len(list) > 0 {
			out[key] = l.all(list, depth)
		}
	}
	for key, one := range map[string]*openapi3.SchemaRef{"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else} {
		if one != nil {
			out[key] = l.of(one, depth+1)
		}
	}
	if len(s.DependentSchemas) > 0 {
		some := map[string]any{}
		for name, p := range s.DependentSchemas {
			some[name] = l.of(p, depth+1)
		}
		out["dependentSchemas"] = some
	}
}

func (l *lowering) all(list openapi3.SchemaRefs, depth int) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = l.of(s, depth+1)
	}
	return out
}
