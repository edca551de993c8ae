package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	koanfyaml "github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/metaharness/peri/meta"
)

// maxAliased bounds the values that aliases stand for. A settings file repeats a list or two; a bomb repeats billions.
const maxAliased = 10_000

// parseYAML takes places from yaml's nodes and values from koanf, which holds the layer. Where the two would not read
// the same, the file is refused rather than guessed at.
func parseYAML(raw []byte, at meta.Origin) (*value, *Error) {
	root, bad := yamlNode(raw, at)
	if bad != nil || root == nil {
		return nil, bad
	}
	r := yamlReader{at: at}
	v := r.value(root, 0)
	if r.bad != nil {
		return nil, r.bad
	}
	if v.kind != mapping {
		return nil, &Error{Origin: v.at, Message: v.found(), Suggestion: "settings are a map of keys"}
	}
	k := koanf.New("\x1f")
	if err := k.Load(source(raw), koanfyaml.Parser()); err != nil {
		return nil, &Error{Origin: v.at, Message: err.Error(), Suggestion: "write plain YAML"}
	}
	if bad := bind(v, k.Raw()); bad != nil {
		return nil, bad
	}
	return v, nil
}

// source hands bytes to koanf.
type source []byte

func (s source) ReadBytes() ([]byte, error) { return s, nil }

func (s source) Read() (map[string]any, error) { return nil, errors.ErrUnsupported }

// yamlNode gives the top node of the only document, nil when there is nothing in it.
func yamlNode(raw []byte, at meta.Origin) (node *yaml.Node, bad *Error) {
	// The library reports some damage by panicking past its own recovery; a settings file must not end the program.
	defer func() {
		if p := recover(); p != nil {
			at.Line, at.Column = 1, 1
			node, bad = nil, &Error{Origin: at, Message: fmt.Sprintf("not YAML: %v", p)}
		}
	}()
	limits := loaderlimits.New(loaderlimits.DepthValue(2*maxDepth), loaderlimits.AliasNone())
	loader, err := yaml.NewLoader(bytes.NewReader(raw), yaml.WithPlugin(limits))
	if err != nil {
		return nil, yamlError(err, at)
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(err, at)
	}
	switch err := loader.Load(&more); {
	case err == nil:
		at.Line, at.Column = more.Line, more.Column
		return nil, &Error{Origin: at, Message: "a second document", Suggestion: "keep one document a file"}
	case !errors.Is(err, io.EOF):
		return nil, yamlError(err, at)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" && top.Value == "" {
		return nil, nil
	}
	return top, nil
}

func yamlError(err error, at meta.Origin) *Error {
	at.Line, at.Column = 1, 1
	message := err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.ContextMsg != "" {
			message += " " + load.ContextMsg
		}
		if load.Mark.Line > 0 {
			at.Line, at.Column = load.Mark.Line, max(load.Mark.Column, 1)
		}
	}
	return &Error{Origin: at, Message: "not YAML: " + message}
}

// yamlReader turns nodes into values and stops at the first thing it refuses.
type yamlReader struct {
	at      meta.Origin
	aliased int // values read inside aliases
	inAlias int
	bad     *Error
}

func (r *yamlReader) refuse(n *yaml.Node, message, suggestion string) *value {
	if r.bad == nil {
		r.bad = &Error{Origin: r.place(n), Message: message, Suggestion: suggestion}
	}
	return &value{kind: null, at: r.place(n)}
}

func (r *yamlReader) place(n *yaml.Node) meta.Origin {
	at := r.at
	at.Line, at.Column = n.Line, n.Column
	return at
}

func (r *yamlReader) value(n *yaml.Node, depth int) *value {
	if r.bad != nil {
		return &value{kind: null}
	}
	if depth > maxDepth {
		return r.refuse(n, fmt.Sprintf("nested deeper than %d", maxDepth), "flatten it")
	}
	if r.inAlias > 0 {
		if r.aliased++; r.aliased > maxAliased {
			return r.refuse(n, fmt.Sprintf("aliases stand for more than %d values", maxAliased), "write the values out")
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.inAlias++
		v := r.value(n.Alias, depth+1)
		r.inAlias--
		return v
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		v := &value{kind: list, at: r.place(n)}
		if n.ShortTag() != "!!seq" {
			return r.refuse(n, "unknown tag "+clip(n.Tag), "remove it")
		}
		for _, c := range n.Content {
			v.items = append(v.items, r.value(c, depth+1))
		}
		return v
	}
	return r.scalar(n)
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) *value {
	if n.ShortTag() != "!!map" {
		return r.refuse(n, "unknown tag "+clip(n.Tag), "remove it")
	}
	v := &value{kind: mapping, at: r.place(n)}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			return r.refuse(key, "merge keys (<<) are not read", "use an alias for a whole value: key: *anchor")
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return r.refuse(key, "a key that is no text", "write it in quotes")
		case badKey(key.Value) != "":
			return r.refuse(key, badKey(key.Value), "write a name")
		case len(v.members) == maxMembers:
			return r.refuse(key, fmt.Sprintf("a map of more than %d keys", maxMembers), "split it")
		case seen[key.Value] != nil:
			first := r.place(seen[key.Value])
			return r.refuse(key, fmt.Sprintf("the key %q is there twice, first at %s", key.Value, first), "keep one of the two")
		}
		seen[key.Value] = key
		v.members = append(v.members, member{key.Value, r.place(key), r.value(n.Content[i+1], depth+1)})
	}
	return v
}

func (r *yamlReader) scalar(n *yaml.Node) *value {
	v := &value{at: r.place(n)}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		v.kind = null
	case "!!str":
		v.kind, v.scalar = text, n.Value
	case "!!bool":
		b, err := strconv.ParseBool(strings.ToLower(n.Value))
		if err != nil || len(n.Value) < 4 {
			return r.refuse(n, clip(n.Value)+" is no boolean", "write true or false")
		}
		v.kind, v.scalar = boolean, b
	case "!!int", "!!float":
		// The value is koanf's; see bind.
		v.kind, v.scalar = number, 0.0
	case "!!timestamp", "!!binary":
		return r.refuse(n, clip(n.Value)+" is read as a "+strings.TrimPrefix(tag, "!!"), "write it in quotes")
	default:
		return r.refuse(n, "unknown tag "+clip(n.Tag), "remove it")
	}
	return v
}

// bind takes the scalars from koanf's reading of the same bytes.
func bind(v *value, raw any) *Error {
	differs := &Error{
		Origin:     v.at,
		Message:    fmt.Sprintf("%s, but as YAML 1.1 it would be %T", v.found(), raw),
		Suggestion: "write it in quotes, or as plain true, false or a number",
	}
	switch raw := raw.(type) {
	case map[string]any:
		if v.kind != mapping || len(raw) != len(v.members) {
			return differs
		}
		for _, m := range v.members {
			under, ok := raw[m.name]
			if !ok {
				return differs
			}
			if bad := bind(m.value, under); bad != nil {
				return bad
			}
		}
		return nil
	case []any:
		if v.kind != list || len(raw) != len(v.items) {
			return differs
		}
		for i, item := range v.items {
			if bad := bind(item, raw[i]); bad != nil {
				return bad
			}
		}
		return nil
	case nil:
		if v.kind == null {
			return nil
		}
	case bool:
		if v.kind == boolean && v.scalar == raw {
			return nil
		}
	case string:
		if v.kind == text && v.scalar == raw {
			return nil
		}
	default:
		if f, ok := float(raw); ok && v.kind == number {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return &Error{Origin: v.at, Message: "not a finite number", Suggestion: "write a number"}
			}
			v.scalar = f
			return nil
		}
	}
	return differs
}

func float(raw any) (float64, bool) {
	switch n := raw.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	case float32:
		return float64(n), true
	}
	return 0, false
}
