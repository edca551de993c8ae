package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// WithExamples returns the same schema, showing values as the examples of every string argument of that name, at any
// depth. Examples are shown and never enforced: what is accepted stays what it was. It serves values that only a
// session knows, where an enum would refuse those that come later. The schema must come from [Infer]; a name that it
// does not have is an error.
func (s *Schema) WithExamples(name string, values []string) (*Schema, error) {
	if len(values) == 0 {
		return s, nil
	}
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	at := slices.Concat(key, []byte(`:{"type":"string",`))
	if !bytes.Contains(s.text, at) {
		return nil, fmt.Errorf("schema: no string argument %q to show examples of", name)
	}
	shown := *s
	shown.text = bytes.ReplaceAll(s.text, at, slices.Concat(at, []byte(`"examples":`), list, []byte(",")))
	return &shown, nil
}
