package schema

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// kind is a set of JSON types. integer is a number's second bit, so that number accepts both.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	whole
	fraction
	text
	array
	object
)

var kindNames = [...]struct {
	name string
	kind kind
}{
	{"string", text},
	{"integer", whole},
	{"number", whole | fraction},
	{"boolean", boolean},
	{"array", array},
	{"object", object},
	{"null", null},
}

// node is what the walker asks of one value. A nil node asks nothing.
type node struct {
	doc     string
	never   bool
	typed   bool
	kinds   kind
	choices []*choices // every one must hold: enum and const may stand together

	min, max, above, below *number

	minLen, maxLen int // -1: no limit
	pattern        *regexp.Regexp

	items              *node
	minItems, maxItems int

	fields             []field
	index              map[string]int // of names and aliases
	extra              *node
	closed             bool // no other keys than fields
	open               bool // other keys are for the library to judge
	minProps, maxProps int

	goKind reflect.Kind // the Go variable a number will be kept in; Invalid: none

	all []*node // the value must fit each of these too: $ref and allOf
	any []*node // and one of these, unless empty: anyOf, and what is known of oneOf
}

type field struct {
	name     string
	node     *node
	required bool
	implied  bool // required, but not described
	aliases  []string
}

// choices is an enum, or a const as an enum of one.
type choices struct {
	texts   map[string]struct{}
	numbers []number
	kinds   kind // of null, true and false
	yes, no bool
	listed  string
}

type compiler struct {
	root    *jsonschema.Schema
	raw     []byte // root's text
	refs    map[*jsonschema.Schema]*node
	texts   map[string]members // of the places that hold what is referred to
	inexact bool
}

func blank() *node {
	return &node{minLen: -1, maxLen: -1, minItems: -1, maxItems: -1, minProps: -1, maxProps: -1}
}

// node compiles what the walker knows of js; raw is the text js was read from, or nil.
func (c *compiler) node(js *jsonschema.Schema, raw []byte) *node {
	if js == nil {
		return nil
	}
	n, words := blank(), readMembers(raw)
	c.combine(n, js, words)
	if js.Ref != "" && c.root.Schema == draft7 { // which ignores what stands beside a $ref
		return n
	}
	n.doc = js.Description
	if foreign(js) {
		c.inexact = true
	}
	if js.Not != nil && reflect.ValueOf(*js.Not).IsZero() {
		n.never = true
	} else if js.Not != nil {
		c.inexact = true
	}
	n.setKinds(js)
	if js.Enum != nil {
		n.choices = append(n.choices, c.choices(js.Enum, words.value("enum")))
	}
	if js.Const != nil {
		n.choices = append(n.choices, c.choices([]any{*js.Const}, slices.Concat([]byte("["), words.value("const"), []byte("]"))))
	}
	n.min, n.max = limit(js.Minimum, words.value("minimum")), limit(js.Maximum, words.value("maximum"))
	n.above, n.below = limit(js.ExclusiveMinimum, words.value("exclusiveMinimum")), limit(js.ExclusiveMaximum, words.value("exclusiveMaximum"))
	for at, from := range map[*int]*int{
		&n.minLen: js.MinLength, &n.maxLen: js.MaxLength, &n.minItems: js.MinItems, &n.maxItems: js.MaxItems,
		&n.minProps: js.MinProperties, &n.maxProps: js.MaxProperties,
	} {
		if from != nil {
			*at = max(*from, -1)
		}
		if from != nil && *from < 0 { // nonsense that the library knows how to read
			c.inexact = true
		}
	}
	if js.Pattern != "" {
		n.pattern = regexp.MustCompile(js.Pattern) // Resolve compiled the same one
	}
	if len(js.PrefixItems) == 0 && js.ItemsArray == nil {
		n.items = c.node(js.Items, words.value("items"))
	}
	c.object(n, js, words)
	if reflect.DeepEqual(n, blank()) {
		return nil
	}
	return n
}

// foreign reports a keyword that only the library judges.
func foreign(js *jsonschema.Schema) bool {
	return js.OneOf != nil || js.If != nil ||
		js.MultipleOf != nil || js.UniqueItems || js.Contains != nil || len(js.PrefixItems) > 0 || js.ItemsArray != nil ||
		js.UnevaluatedItems != nil || js.UnevaluatedProperties != nil || len(js.PatternProperties) > 0 ||
		js.PropertyNames != nil || js.DependentRequired != nil || js.DependentSchemas != nil ||
		js.DependencySchemas != nil || js.DependencyStrings != nil
}

func (n *node) setKinds(js *jsonschema.Schema) {
	n.typed = js.Type != "" || js.Types != nil
	for _, k := range kindNames {
		if js.Type == k.name || slices.Contains(js.Types, k.name) {
			n.kinds |= k.kind
		}
	}
}

func (c *compiler) object(n *node, js *jsonschema.Schema, words members) {
	props := words.value("properties")
	var names []string
	texts := readMembers(props)
	for _, m := range texts {
		if _, ok := js.Properties[m.key]; ok {
			names = append(names, m.key)
		}
	}
	rest := make([]string, 0, len(js.Properties))
	for name := range js.Properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	if extra := js.AdditionalProperties; extra != nil {
		n.extra = c.node(extra, words.value("additionalProperties"))
		n.closed = n.extra != nil && n.extra.never && len(js.PatternProperties) == 0
	}
	n.open = len(js.PatternProperties) > 0
	for _, name := range append(names, rest...) {
		n.add(field{name: name, node: c.node(js.Properties[name], texts.value(name)), required: slices.Contains(js.Required, name)})
	}
	for _, name := range js.Required {
		if _, ok := n.index[name]; ok {
			continue
		}
		f := field{name: name, node: n.extra, required: true, implied: true}
		if n.open {
			f.node = nil
		}
		n.add(f)
	}
}

func (n *node) add(f field) {
	if n.index == nil {
		n.index = make(map[string]int)
	}
	n.index[f.name] = len(n.fields)
	n.fields = append(n.fields, f)
}

func (c *compiler) choices(values []any, raw []byte) *choices {
	out := &choices{texts: make(map[string]struct{})}
	literals := readItems(raw)
	listed := make([]string, len(values))
	for i, v := range values {
		shown, _ := json.Marshal(v)
		listed[i] = string(shown)
		switch v := v.(type) {
		case string:
			out.texts[v] = struct{}{}
		case float64:
			lit := shown
			if len(literals) == len(values) {
				lit = literals[i]
			}
			out.numbers = append(out.numbers, parseNumber(lit))
		case bool:
			out.yes, out.no = out.yes || v, out.no || !v
		case nil:
			out.kinds |= null
		default: // arrays and objects are compared by the library
			out.kinds |= array | object
			c.inexact = true
		}
	}
	out.listed = strings.Join(listed, ", ")
	return out
}

func limit(f *float64, raw []byte) *number {
	if f == nil {
		return nil
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		raw, _ = json.Marshal(*f)
	}
	n := parseNumber(raw)
	return &n
}
