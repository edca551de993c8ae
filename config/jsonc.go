package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knadh/koanf/v2"
	"github.com/tailscale/hujson"

	"github.com/metaharness/peri/meta"
)

// parseJSONC reads JSON with comments and trailing commas. JSON does not go through the YAML parser: tabs and escaped
// surrogates are good JSON and bad YAML.
func parseJSONC(raw []byte, at meta.Origin) (*value, *Error) {
	if offset := tooDeep(raw); offset >= 0 {
		at.Line, at.Column = lineColumn(raw, offset)
		return nil, &Error{Origin: at, Message: fmt.Sprintf("nested deeper than %d", maxDepth), Suggestion: "flatten it"}
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		return nil, nil
	}
	doc, err := hujson.Parse(raw)
	if err != nil {
		return nil, jsonError(err, at)
	}
	r := jsonReader{at: at, raw: raw}
	v := r.value(doc)
	if r.bad != nil {
		return nil, r.bad
	}
	if v.kind != mapping {
		return nil, &Error{Origin: v.at, Message: v.found(), Suggestion: "settings are a map of keys"}
	}
	k := koanf.New("\x1f")
	if err := k.Load(parsed(v.plain().(map[string]any)), nil); err != nil {
		return nil, &Error{Origin: v.at, Message: err.Error()}
	}
	if bad := bind(v, k.Raw()); bad != nil {
		return nil, bad
	}
	return v, nil
}

// parsed hands a tree to koanf.
type parsed map[string]any

func (p parsed) ReadBytes() ([]byte, error) { return nil, errors.ErrUnsupported }

func (p parsed) Read() (map[string]any, error) { return p, nil }

// tooDeep finds the bracket that opens a level too much, or -1. The parser recurses, so this comes first.
func tooDeep(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(raw) && raw[i+1] == '/':
			for i < len(raw) && raw[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(raw) && raw[i+1] == '*':
			end := bytes.Index(raw[i+2:], []byte("*/"))
			if end < 0 {
				return -1
			}
			i += end + 3
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

var jsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s:(.*))$`)

func jsonError(err error, at meta.Origin) *Error {
	at.Line, at.Column = 1, 1
	message := err.Error()
	if m := jsonPlace.FindStringSubmatch(message); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		at.Column, _ = strconv.Atoi(m[2])
		message = m[3]
	}
	return &Error{Origin: at, Message: "not JSON: " + message}
}

type jsonReader struct {
	at    meta.Origin
	raw   []byte
	read  int // offset of the last place asked for; places are asked for in order, so each byte is counted once
	line  int
	start int // columns before read in its line
	bad   *Error
}

func (r *jsonReader) place(offset int) meta.Origin {
	between := r.raw[r.read:offset]
	if i := bytes.LastIndexByte(between, '\n'); i >= 0 {
		r.line += bytes.Count(between, []byte("\n"))
		r.start, between = 0, between[i+1:]
	}
	r.start += utf8.RuneCount(between)
	r.read = offset
	at := r.at
	at.Line, at.Column = r.line+1, r.start+1
	return at
}

func (r *jsonReader) refuse(at meta.Origin, message, suggestion string) {
	if r.bad == nil {
		r.bad = &Error{Origin: at, Message: message, Suggestion: suggestion}
	}
}

func (r *jsonReader) value(in hujson.Value) *value {
	v := &value{at: r.place(in.StartOffset)}
	switch x := in.Value.(type) {
	case *hujson.Object:
		v.kind = mapping
		seen := map[string]meta.Origin{}
		for _, m := range x.Members {
			if r.bad != nil {
				break
			}
			name, at := m.Name.Value.(hujson.Literal).String(), r.place(m.Name.StartOffset)
			if first, ok := seen[name]; ok {
				r.refuse(at, fmt.Sprintf("the key %q is there twice, first at %s", name, first), "keep one of the two")
			}
			if bad := badKey(name); bad != "" {
				r.refuse(at, bad, "write a name")
			}
			if len(seen) == maxMembers {
				r.refuse(at, fmt.Sprintf("a map of more than %d keys", maxMembers), "split it")
			}
			seen[name] = at
			v.members = append(v.members, member{name, at, r.value(m.Value)})
		}
	case *hujson.Array:
		v.kind = list
		for _, e := range x.Elements {
			v.items = append(v.items, r.value(e))
		}
	case hujson.Literal:
		r.literal(v, x)
	}
	return v
}

func (r *jsonReader) literal(v *value, x hujson.Literal) {
	switch x.Kind() {
	case 'n':
		v.kind = null
	case 't', 'f':
		v.kind, v.scalar = boolean, x.Bool()
	case '"':
		v.kind, v.scalar = text, x.String()
	default:
		f, err := strconv.ParseFloat(string(x), 64)
		if err != nil {
			r.refuse(v.at, "not a finite number", "write a number")
		}
		v.kind, v.scalar = number, f
	}
}
