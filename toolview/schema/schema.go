// Package schema checks a tool's arguments against JSON Schema and tells a model how to repair them.
//
// A schema is derived from a Go struct ([Infer]) or read from JSON ([Compile]) once, and compiled to a walker that
// reads argument bytes without building values. Keywords the walker does not know are left to a JSON Schema library:
// it accepts only what both accept. Drafts 2020-12, 2019-09, 07 and 06 are understood.
//
// Beyond JSON Schema, arguments are refused where two readers could see different things: a key that stands twice in
// one object (at any depth), text that is not UTF-8, a lone surrogate, anything after the value, nesting deeper than
// the schema's limit. No arguments at all (no bytes, only white space, or null) count as {}.
package schema

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled JSON Schema of an object. It is immutable and safe for concurrent use.
// The zero Schema refuses everything.
type Schema struct {
	text    json.RawMessage
	root    *node
	names   []string
	library *jsonschema.Resolved
	exact   bool // the walker knows every keyword: the library has nothing to add
	rewrite bool // Canonical may have something to do
	depth   int  // the deepest nesting of arguments
}

// JSON returns the schema's text, always the same bytes. The caller must not change them.
//
// For [Infer] the order of keys is type, description, constraints, properties in the order of the fields, required,
// additionalProperties; for [Compile] it is the given text without white space between tokens.
func (s *Schema) JSON() json.RawMessage { return s.text }

// Names returns the names of the top-level arguments in the order of the schema's text, aliases not among them.
func (s *Schema) Names() []string { return slices.Clone(s.names) }
