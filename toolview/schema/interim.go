package schema

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

type node struct{}

func Infer[In any]() (*Schema, error) {
	js, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	raw, err := json.Marshal(js)
	if err != nil {
		return nil, err
	}
	return Compile(raw)
}

func Compile(raw json.RawMessage) (*Schema, error) {
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, err
	}
	r, err := js.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Schema{text: raw, library: r}, nil
}

func (s *Schema) Check(args []byte) error {
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return &Error{Problems: []Problem{{Found: err.Error(), Want: "a JSON object"}}}
	}
	if err := s.library.Validate(v); err != nil {
		return &Error{Problems: []Problem{{Found: err.Error(), Want: "a JSON object"}}}
	}
	return nil
}

func (s *Schema) Canonical(args []byte) ([]byte, error) { return args, nil }
