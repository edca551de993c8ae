package ptc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/program"
)

// help is the catalog, made of the view of the call. It is an answer and stands in no description, so that what it says
// is what can be called now.
func help(call *toolview.Call, raw json.RawMessage) (program.Reply, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return program.Reply{Failed: true, Text: "the name is a text"}, nil
	}
	if in.Name == "" {
		return program.Reply{Text: list(call)}, nil
	}
	e, ok := call.View().Lookup(in.Name)
	if !ok || !callable(call, e) {
		return program.Reply{Failed: true, Text: call.View().Unknown(in.Name).Text()}, nil
	}
	return program.Reply{Text: fmt.Sprintf("%s\n%s\nArguments: %s", signature(e.Tool), e.Tool.Doc, e.Tool.Schema)}, nil
}

// list is one line for each function, by name.
func list(call *toolview.Call) string {
	var lines []string
	for e := range call.View().All() {
		if callable(call, e) {
			first, _, _ := strings.Cut(e.Tool.Doc, "\n")
			lines = append(lines, signature(e.Tool)+": "+short(first))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// short is a line's first sentence.
func short(line string) string {
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i+1]
	}
	if len(line) > 160 {
		line = strings.ToValidUTF8(line[:160], "") + "…"
	}
	return line
}

// signature shows how a tool is called. Arguments that may be left out end in `=`.
func signature(t *toolview.Tool) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	// A schema that says less shows less.
	_ = json.Unmarshal(t.Schema, &s)
	params := slices.Clone(s.Required)
	var more []string
	for p := range s.Properties {
		if !slices.Contains(s.Required, p) {
			more = append(more, p+"=")
		}
	}
	slices.Sort(more)
	all := strings.Join(append(params, more...), ", ")
	if !program.Legal(t.Name) {
		return fmt.Sprintf("call(%q, {%s})", t.Name, all)
	}
	return t.Name + "(" + all + ")"
}
