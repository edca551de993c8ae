package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Infer derives the schema of a tool's arguments from the struct they are decoded into.
//
// A field is required unless it is a pointer or its json tag says omitempty or omitzero. Other keys than the fields
// are refused. Tags: doc describes the argument; enum lists its values, comma-separated (of the elements, for a slice
// or map); min and max bound a number, the characters of a string, the items of a slice or the keys of a map; alias
// lists other spellings that Check accepts and Canonical rewrites, which the schema's text does not show.
//
// Fields may be of any type encoding/json decodes except recursive ones, []byte, interfaces with methods, embedded
// pointers and types with an UnmarshalJSON of their own. json.RawMessage and any take every value. A number must fit
// the field's Go type.
func Infer[In any]() (*Schema, error) {
	t := reflect.TypeFor[In]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s: arguments are an object: want a struct", t)
	}
	var in inferrer
	shape, err := in.value(t, "", t.String())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := Compile(in.out.Bytes())
	if err != nil {
		return nil, err
	}
	s.rewrite = shape.apply(s.root)
	return s, nil
}

// inferrer writes a type's schema and returns, as shapes, what JSON Schema cannot say of it.
type inferrer struct {
	out   bytes.Buffer
	outer []reflect.Type
}

type shape struct {
	goKind reflect.Kind
	fields []shapeField
	each   *shape // of items or of a map's values
}

type shapeField struct {
	name    string
	aliases []string
	shape   *shape
}

// apply marks the nodes compiled from the same type; it reports whether Canonical may have to rewrite.
func (s *shape) apply(n *node) (rewrite bool) {
	if n == nil {
		return false
	}
	if s.goKind != reflect.Invalid {
		n.goKind, rewrite = s.goKind, true
	}
	for _, f := range s.fields {
		i := n.index[f.name]
		n.fields[i].aliases = f.aliases
		for _, alias := range f.aliases {
			n.index[alias], rewrite = i, true
		}
		rewrite = f.shape.apply(n.fields[i].node) || rewrite
	}
	if s.each != nil {
		rewrite = s.each.apply(n.items) || rewrite
		rewrite = s.each.apply(n.extra) || rewrite
	}
	return rewrite
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
	timeType   = reflect.TypeFor[time.Time]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value writes the schema of t under a field's tag. where names the place for errors.
func (in *inferrer) value(t reflect.Type, tag reflect.StructTag, where string) (*shape, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	reads := reflect.PointerTo(t)
	switch {
	case t == rawType, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return &shape{}, in.simple("", tag, "", where)
	case t == numberType:
		return &shape{}, in.simple("number", tag, "imum", where)
	case t == timeType:
		return &shape{}, in.simple(`string","format":"date-time`, tag, "", where)
	case reads.Implements(jsonReader):
		return nil, fmt.Errorf("%s: %s has its own UnmarshalJSON, so its schema is unknown; want json.RawMessage", where, t)
	case reads.Implements(textReader):
		return &shape{}, in.simple("string", tag, "Length", where)
	}
	switch k := t.Kind(); k {
	case reflect.Bool:
		return &shape{}, in.simple("boolean", tag, "", where)
	case reflect.String:
		return &shape{}, in.simple("string", tag, "Length", where)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &shape{goKind: k}, in.simple("integer", tag, "imum", where)
	case reflect.Float32, reflect.Float64:
		return &shape{goKind: k}, in.simple("number", tag, "imum", where)
	case reflect.Slice, reflect.Array, reflect.Map:
		return in.many(t, tag, where)
	case reflect.Struct:
		return in.object(t, tag, where)
	}
	return nil, fmt.Errorf("%s: %s cannot be an argument; want a struct, slice, map, string, number, bool or json.RawMessage", where, t)
}

// open writes the head of a schema without its closing brace.
func (in *inferrer) open(name string, tag reflect.StructTag) {
	in.out.WriteByte('{')
	if name != "" {
		fmt.Fprintf(&in.out, `"type":"%s",`, name)
	}
	if doc := tag.Get("doc"); doc != "" {
		fmt.Fprintf(&in.out, `"description":%s,`, quote(doc))
	}
}

// close ends a schema, taking back a last comma.
func (in *inferrer) close() {
	if last := in.out.Len() - 1; in.out.Bytes()[last] == ',' {
		in.out.Truncate(last)
	}
	in.out.WriteByte('}')
}

// simple writes a whole schema without parts. bound ends the keywords that min and max become, "" for none.
func (in *inferrer) simple(name string, tag reflect.StructTag, bound, where string) error {
	in.open(name, tag)
	if list, ok := tag.Lookup("enum"); ok {
		values := strings.Split(list, ",")
		for i, v := range values {
			switch v = strings.TrimSpace(v); name {
			case "string":
				v = quote(v)
			case "integer", "number":
				if !isNumber(v) || name == "integer" && !integral([]byte(v)) {
					return fmt.Errorf("%s: tag enum: %s is not a value of this field", where, quote(v))
				}
			default:
				return fmt.Errorf("%s: tag enum fits strings and numbers only", where)
			}
			values[i] = v
		}
		fmt.Fprintf(&in.out, `"enum":[%s],`, strings.Join(values, ","))
	}
	if err := in.bounds(tag, bound, where); err != nil {
		return err
	}
	in.close()
	return nil
}

func (in *inferrer) bounds(tag reflect.StructTag, bound, where string) error {
	var ends []number
	for _, end := range []string{"min", "max"} {
		v, ok := tag.Lookup(end)
		if !ok {
			continue
		}
		counts := bound != "imum"
		if bound == "" || !isNumber(v) || counts && strings.ContainsAny(v, "-.eE") {
			return fmt.Errorf("%s: tag %s:%s does not fit this field; want a number, for strings, slices and maps a count", where, end, quote(v))
		}
		fmt.Fprintf(&in.out, `"%s%s":%s,`, end, bound, v)
		ends = append(ends, parseNumber([]byte(v)))
	}
	if len(ends) == 2 && ends[0].f > ends[1].f {
		return fmt.Errorf("%s: tag min:%q is greater than max:%q, so nothing fits", where, ends[0].lit, ends[1].lit)
	}
	return nil
}

func isNumber(v string) bool {
	s := scanner{data: []byte(v)}
	_, ok := s.number()
	return ok && s.pos == len(v)
}

// many writes slices, arrays and maps. An enum is the elements'; doc, min and max are its own.
func (in *inferrer) many(t reflect.Type, tag reflect.StructTag, where string) (*shape, error) {
	name, bound, each := "array", "Items", "items"
	switch {
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && !reflect.PointerTo(t.Key()).Implements(textReader):
		name, bound, each = "object", "Properties", "additionalProperties"
	case t.Kind() == reflect.Map:
		return nil, fmt.Errorf("%s: %s: the keys of a map must be strings", where, t)
	case t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice:
		return nil, fmt.Errorf("%s: %s: bytes have no form a model can write; want a string", where, t)
	}
	in.open(name, tag)
	if t.Kind() == reflect.Array {
		fmt.Fprintf(&in.out, `"minItems":%d,"maxItems":%d,`, t.Len(), t.Len())
	} else if err := in.bounds(tag, bound, where); err != nil {
		return nil, err
	}
	fmt.Fprintf(&in.out, `"%s":`, each)
	var inner reflect.StructTag
	if list, ok := tag.Lookup("enum"); ok {
		inner = reflect.StructTag("enum:" + quote(list))
	}
	elem, err := in.value(t.Elem(), inner, where+"[]")
	if err != nil {
		return nil, err
	}
	in.close()
	return &shape{each: elem}, nil
}

func (in *inferrer) object(t reflect.Type, tag reflect.StructTag, where string) (*shape, error) {
	if slices.Contains(in.outer, t) {
		return nil, fmt.Errorf("%s: %s contains itself; want json.RawMessage at the inner place", where, t)
	}
	in.outer = append(in.outer, t)
	defer func() { in.outer = in.outer[:len(in.outer)-1] }()
	for _, name := range []string{"enum", "min", "max"} {
		if _, ok := tag.Lookup(name); ok {
			return nil, fmt.Errorf("%s: tag %s does not fit a struct", where, name)
		}
	}
	fields, err := structFields(t, where)
	if err != nil {
		return nil, err
	}
	in.open("object", tag)
	in.out.WriteString(`"properties":{`)
	out := &shape{}
	var required []string
	for i, f := range fields {
		if i > 0 {
			in.out.WriteByte(',')
		}
		in.out.WriteString(quote(f.name) + ":")
		inner, err := in.value(f.field.Type, f.field.Tag, where+"."+f.field.Name)
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, shapeField{name: f.name, aliases: f.aliases, shape: inner})
		if f.required {
			required = append(required, quote(f.name))
		}
	}
	in.out.WriteString("},")
	if len(required) > 0 {
		fmt.Fprintf(&in.out, `"required":[%s],`, strings.Join(required, ","))
	}
	in.out.WriteString(`"additionalProperties":false`)
	in.close()
	return out, nil
}
