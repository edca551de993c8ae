package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// argument is a struct field as encoding/json sees it.
type argument struct {
	name     string
	aliases  []string
	required bool
	field    reflect.StructField
}

// structFields lists the arguments of t in the order of its fields, those of embedded structs at their place.
// Two of one name are an error, where encoding/json would drop one in silence.
func structFields(t reflect.Type, where string) ([]argument, error) {
	var out []argument
	if err := collect(t, where, &out); err != nil {
		return nil, err
	}
	owner := map[string]string{}
	for _, a := range out {
		for _, spelling := range append([]string{a.name}, a.aliases...) {
			if other, taken := owner[spelling]; taken {
				return nil, fmt.Errorf("%s.%s: the name %s is already of field %s", where, a.field.Name, quote(spelling), other)
			}
			owner[spelling] = a.field.Name
		}
	}
	return out, nil
}

func collect(t reflect.Type, where string, out *[]argument) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		here := where + "." + f.Name
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct {
				return fmt.Errorf("%s: only structs may be embedded; want a json name", here)
			}
			if err := collect(f.Type, here, out); err != nil {
				return err
			}
			continue
		case !f.IsExported():
			continue
		}
		if name == "" {
			name = f.Name
		}
		a := argument{name: name, field: f, required: f.Type.Kind() != reflect.Pointer}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty", "omitzero":
				a.required = false
			case "":
			default:
				return fmt.Errorf("%s: json option %s is not understood; want omitempty or omitzero", here, quote(option))
			}
		}
		if list, ok := f.Tag.Lookup("alias"); ok {
			for alias := range strings.SplitSeq(list, ",") {
				a.aliases = append(a.aliases, strings.TrimSpace(alias))
			}
		}
		for _, spelling := range append([]string{name}, a.aliases...) {
			if !plainName(spelling) {
				return fmt.Errorf("%s: %s cannot name an argument; want letters, digits and _ - . $", here, quote(spelling))
			}
		}
		*out = append(*out, a)
	}
	return nil
}

func plainName(name string) bool {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-.$", c)) {
			return false
		}
	}
	return name != ""
}
