package schema_test

import (
	"fmt"

	"github.com/metaharness/peri/toolview/schema"
)

func ExampleInfer() {
	type read struct {
		Path  string `json:"path" doc:"File to read." alias:"file_path"`
		Limit int    `json:"limit,omitempty" min:"1"`
	}
	s, err := schema.Infer[read]()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(s.JSON()))
	fmt.Println(s.Check([]byte(`{"limt":3}`)))
	args, err := s.Canonical([]byte(`{"file_path":"go.mod","limit":1e2}`))
	fmt.Println(string(args), err)
	// Output:
	// {"type":"object","properties":{"path":{"type":"string","description":"File to read."},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}
	// schema: the arguments do not fit:
	// - limt: found an unknown argument; send limit instead
	// - path: found nothing; send string (required): File to read.
	// {"path":"go.mod","limit":100} <nil>
}

func ExampleCompile() {
	_, err := schema.Compile([]byte(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`))
	fmt.Println(err)
	// Output:
	// schema: "$ref":"https://example.com/a.json" is not followed; want a place in this schema such as "#/$defs/…"
}
