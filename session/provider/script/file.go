package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v4"
)

// File reads a script:
//
//	steps:
//	  - calls: [{tool: Read, args: {path: README.md}}]
//	  - text: done
//	    expect: {last: ["# peri"]}
//	agents:
//	  explore:
//	    - text: found nothing
//
// A key that it does not know is an error with its line.
func File(path string) (*Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	var f struct {
		Steps  []Step            `yaml:"steps"`
		Agents map[string][]Step `yaml:"agents"`
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("script: %s: %w", path, err)
	}
	agents := map[string][]Step{"": f.Steps}
	for name, steps := range f.Agents {
		agents[name] = steps
	}
	return For(agents), nil
}
