package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolve finds the schema that a reference into root means.
func resolve(root *jsonschema.Schema, ref string) (*jsonschema.Schema, error) {
	tokens, err := pointer(ref)
	if err != nil {
		return nil, err
	}
	s := root
	for len(tokens) > 0 && s != nil {
		s, tokens = step(s, tokens)
	}
	if s == nil {
		return nil, fmt.Errorf(`"$ref":%s: there is no schema at this place`, quote(excerpt(ref, 100)))
	}
	return s, nil
}

// pointer splits a reference into this schema into the keys and indexes on its way.
func pointer(ref string) ([]string, error) {
	refused := fmt.Errorf(`"$ref":%s is not followed; want a place in this schema such as "#/$defs/…"`, quote(excerpt(ref, 100)))
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, refused
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, refused
	}
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, refused
	}
	tokens := strings.Split(path[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens, nil
}

// step follows one keyword, and the name or index after it.
func step(s *jsonschema.Schema, tokens []string) (*jsonschema.Schema, []string) {
	one := map[string]*jsonschema.Schema{
		"items": s.Items, "additionalProperties": s.AdditionalProperties, "not": s.Not, "if": s.If, "then": s.Then,
		"else": s.Else, "contains": s.Contains, "propertyNames": s.PropertyNames, "additionalItems": s.AdditionalItems,
	}
	if next := one[tokens[0]]; next != nil {
		return next, tokens[1:]
	}
	if len(tokens) < 2 {
		return nil, nil
	}
	named := map[string]map[string]*jsonschema.Schema{
		"$defs": s.Defs, "definitions": s.Definitions, "properties": s.Properties,
		"patternProperties": s.PatternProperties, "dependentSchemas": s.DependentSchemas,
	}
	if next := named[tokens[0]][tokens[1]]; next != nil {
		return next, tokens[2:]
	}
	listed := map[string][]*jsonschema.Schema{
		"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf, "prefixItems": s.PrefixItems, "items": s.ItemsArray,
	}
	list := listed[tokens[0]]
	if i, err := strconv.Atoi(tokens[1]); err == nil && i >= 0 && i < len(list) {
		return list[i], tokens[2:]
	}
	return nil, nil
}

// text returns the text that a reference means, nil where it is no member of an object: then digits that a float
// loses and the order of properties are lost, and nothing else.
func (c *compiler) text(ref string) []byte {
	tokens, err := pointer(ref)
	if err != nil || len(tokens) == 0 {
		return c.raw
	}
	last := len(tokens) - 1
	place := strings.Join(tokens[:last], "\x00")
	held, ok := c.texts[place]
	if !ok {
		raw := c.raw
		for _, t := range tokens[:last] {
			raw = readMembers(raw).value(t)
		}
		held = readMembers(raw)
		c.texts[place] = held
	}
	return held.value(tokens[last])
}
