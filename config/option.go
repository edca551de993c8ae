package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// optionTree makes the option layer of Go values and "path=value" pairs. It has no file, so its places are the keys.
func optionTree(values map[string]any, sets []string, found *problems) *value {
	if len(values) == 0 && len(sets) == 0 {
		return nil
	}
	at := meta.Origin{Layer: Option}
	root := goValue(reflect.ValueOf(values), "", 0, found)
	if root == nil || root.kind != mapping {
		root = &value{kind: mapping, at: at}
	}
	for _, set := range sets {
		path, raw, ok := strings.Cut(set, "=")
		names, bad := splitPath(path)
		if !ok || bad != "" {
			if bad == "" {
				bad = "has no ="
			}
			found.fail(at, set, bad, "write path=value, such as meta.WebMiddleware=false")
			continue
		}
		doc, err := parseYAML([]byte("v: "+raw), at)
		if err == nil && len(doc.members) != 1 {
			err = &Error{Message: "is more than one value", Suggestion: "write one, such as [a, b]"}
		}
		if err != nil {
			found.fail(at, path, err.Message, err.Suggestion)
			continue
		}
		v := doc.members[0].value
		v.forget(at)
		root.put(names, member{names[len(names)-1], at, v})
	}
	return root
}

// splitPath cuts at dots outside of double quotes.
func splitPath(path string) (names []string, bad string) {
	for rest := path; ; {
		name := ""
		if after, ok := strings.CutPrefix(rest, `"`); ok {
			name, rest, ok = strings.Cut(after, `"`)
			if !ok {
				return nil, "has an open quote"
			}
		} else {
			i := strings.IndexByte(rest, '.')
			if i < 0 {
				i = len(rest)
			}
			name, rest = rest[:i], rest[i:]
		}
		if name == "" {
			return nil, "has an empty name in its path"
		}
		names = append(names, name)
		if rest == "" {
			return names, ""
		}
		if rest[0] != '.' {
			return nil, "has text after a quote"
		}
		rest = rest[1:]
	}
}

// put goes down the path, making maps where there are none, and replaces what stands at its end.
func (v *value) put(names []string, m member) {
	for _, name := range names[:len(names)-1] {
		next, ok := v.member(name)
		if !ok || next.kind != mapping {
			next = member{name, m.at, &value{kind: mapping, at: m.at}}
			v.set(next)
		}
		v = next.value
	}
	v.set(m)
}

func (v *value) forget(at meta.Origin) {
	v.at = at
	for _, item := range v.items {
		item.forget(at)
	}
	for i := range v.members {
		v.members[i].at = at
		v.members[i].forget(at)
	}
}

// goValue reads what a program passes. Named types count by their kind.
func goValue(in reflect.Value, path string, depth int, found *problems) *value {
	at := meta.Origin{Layer: Option}
	for in.IsValid() && (in.Kind() == reflect.Interface || in.Kind() == reflect.Pointer) && !in.IsNil() {
		in = in.Elem()
	}
	if depth > maxDepth {
		found.fail(at, path, fmt.Sprintf("nested deeper than %d", maxDepth), "flatten it")
		return nil
	}
	switch in.Kind() {
	case reflect.Bool:
		return &value{kind: boolean, at: at, scalar: in.Bool()}
	case reflect.String:
		return &value{kind: text, at: at, scalar: in.String()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &value{kind: number, at: at, scalar: float64(in.Int())}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &value{kind: number, at: at, scalar: float64(in.Uint())}
	case reflect.Float32, reflect.Float64:
		return &value{kind: number, at: at, scalar: in.Float()}
	case reflect.Slice, reflect.Array:
		v := &value{kind: list, at: at}
		for i := range in.Len() {
			if item := goValue(in.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1, found); item != nil {
				v.items = append(v.items, item)
			}
		}
		return v
	case reflect.Map:
		if in.Type().Key().Kind() == reflect.String {
			return goMap(in, path, depth, found)
		}
	case reflect.Invalid, reflect.Interface, reflect.Pointer:
		return &value{kind: null, at: at}
	}
	found.fail(at, path, fmt.Sprintf("found a Go value of type %s", in.Type()), "pass maps with text keys, slices, bool, string or numbers")
	return nil
}

func goMap(in reflect.Value, path string, depth int, found *problems) *value {
	v := &value{kind: mapping, at: meta.Origin{Layer: Option}}
	byName := map[string]reflect.Value{}
	for _, key := range in.MapKeys() {
		byName[key.String()] = in.MapIndex(key)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if m := goValue(byName[name], join(path, name), depth+1, found); m != nil {
			v.members = append(v.members, member{name, v.at, m})
		}
	}
	return v
}
