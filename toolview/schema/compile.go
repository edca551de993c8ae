package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchemaBytes = 1 << 19
	maxSchemaDepth = 64
	maxArgsDepth   = 100
)

// Compile reads a schema written by someone else, such as an MCP server. It is an error if the text is not a JSON
// Schema of an object, uses a draft older than 06, points anywhere but into itself, or would make checking endless:
// the caller should keep the tool away from the model. Nothing is ever fetched.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("schema: %d bytes, at most %d are read", len(raw), maxSchemaBytes)
	}
	s := scanner{data: raw, deep: maxSchemaDepth}
	if !s.skip(0) || !s.end() {
		return nil, fmt.Errorf("schema: byte %d: found %s; want one JSON Schema", s.at, s.why)
	}
	var js jsonschema.Schema
	if raw[bytes.IndexAny(raw, "{[\"tfn-0123456789")] != '{' {
		return nil, errors.New(`schema: want a JSON object such as {"type":"object","properties":{}}`)
	}
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, fmt.Errorf("schema: not a JSON Schema: %w", err)
	}
	if js.Type != "object" && !slices.Equal(js.Types, []string{"object"}) {
		return nil, fmt.Errorf(`schema: arguments are an object: want "type":"object" at the top, found %s`, foundType(&js))
	}
	depth, err := admit(&js)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	library, err := js.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema: not a JSON Schema: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := compiler{root: &js, raw: compact.Bytes(), refs: map[*jsonschema.Schema]*node{}, texts: map[string]members{}}
	root := c.node(&js, c.raw)
	return &Schema{
		text: c.raw, root: root, names: root.names(nil), library: library, exact: !c.inexact, depth: depth,
	}, nil
}

func foundType(js *jsonschema.Schema) string {
	switch {
	case js.Type != "":
		return quote(js.Type)
	case js.Types != nil:
		return "a list of types"
	}
	return "none"
}

const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// dialect settles which of the library's two drafts reads js: the one it names, its nearest relative, or, where it
// names none, the one in which its keywords mean something.
func dialect(js *jsonschema.Schema, all []*jsonschema.Schema) error {
	name := strings.TrimSuffix(js.Schema, "#")
	_, name, _ = strings.Cut(name, "://")
	switch name {
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema":
		js.Schema = draft7
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema":
		js.Schema = draft2020
	case "", "json-schema.org/schema":
		js.Schema = draft2020
		for _, s := range all {
			if s.ItemsArray != nil || s.DependencySchemas != nil || s.DependencyStrings != nil {
				js.Schema = draft7
			}
		}
	default:
		return fmt.Errorf("$schema %s is not understood; want %s or %s", quote(excerpt(js.Schema, 100)), draft2020, draft7)
	}
	for _, s := range all {
		switch {
		case js.Schema == draft2020 && s.ItemsArray != nil:
			return errors.New(`"items" is a list, which this $schema does not know; want "prefixItems"`)
		case js.Schema == draft2020 && (s.DependencySchemas != nil || s.DependencyStrings != nil):
			return errors.New(`"dependencies" is not of this $schema; want "dependentSchemas" or "dependentRequired"`)
		case js.Schema == draft7 && (s.PrefixItems != nil || s.DependentSchemas != nil || s.DependentRequired != nil):
			return errors.New("keywords of draft 2020-12 in a schema of draft 07; want one of the two")
		}
	}
	return nil
}

// admit refuses what the library cannot judge safely, and returns how deep arguments may nest.
func admit(js *jsonschema.Schema) (depth int, err error) {
	all := descendants(js)
	if err := dialect(js, all); err != nil {
		return 0, err
	}
	refs, ids := false, false
	for i, s := range all {
		refs = refs || s.Ref != ""
		ids = ids || i > 0 && s.ID != ""
		if s.DynamicRef != "" {
			return 0, errors.New(`"$dynamicRef" is not understood; want "$ref":"#/$defs/…"`)
		}
		for _, t := range append([]string{s.Type}, s.Types...) {
			if t != "" && !knownType(t) {
				return 0, fmt.Errorf("unknown type %s; want string, integer, number, boolean, array, object or null", quote(excerpt(t, 60)))
			}
		}
		if s.Types != nil && len(s.Types) == 0 {
			return 0, errors.New(`an empty list of types; want at least one, or no "type"`)
		}
		if s.MultipleOf != nil && *s.MultipleOf <= 0 {
			return 0, errors.New(`"multipleOf" must be greater than 0`)
		}
	}
	if refs && ids {
		return 0, errors.New(`"$ref" beside an inner "$id" is not understood; want "$ref":"#/$defs/…" and no "$id"`)
	}
	for _, s := range all {
		s.ID = "" // nothing is looked up by it, and the library wants it absolute
	}
	return allowedDepth(js, all)
}

func knownType(name string) bool {
	for _, k := range kindNames {
		if k.name == name {
			return true
		}
	}
	return false
}

var (
	schemaType = reflect.TypeFor[*jsonschema.Schema]()
	sliceType  = reflect.TypeFor[[]*jsonschema.Schema]()
	mapType    = reflect.TypeFor[map[string]*jsonschema.Schema]()
)

// descendants returns js and every schema written inside it, js first.
func descendants(js *jsonschema.Schema) []*jsonschema.Schema {
	if js == nil {
		return nil
	}
	out := []*jsonschema.Schema{js}
	v := reflect.ValueOf(js).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Type() {
		case schemaType:
			out = append(out, descendants(f.Interface().(*jsonschema.Schema))...)
		case sliceType:
			for _, s := range f.Interface().([]*jsonschema.Schema) {
				out = append(out, descendants(s)...)
			}
		case mapType:
			for _, s := range f.Interface().(map[string]*jsonschema.Schema) {
				out = append(out, descendants(s)...)
			}
		}
	}
	return out
}
