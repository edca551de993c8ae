package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	maxFile  = 1 << 20
	maxDepth = 32 // of what stands in front matter
)

// problem is what is wrong at one place of a file. Line and column count from 1.
type problem struct {
	line, column        int
	message, suggestion string
}

// document is a SKILL.md cut in two.
type document struct {
	fields []*yaml.Node // keys and values in turn
	body   string
}

// split separates front matter from body. A BOM, any kind of line ending and blanks behind the fences make no difference.
func split(raw []byte) (doc document, bad *problem) {
	text := strings.TrimPrefix(string(raw), "\uFEFF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if !utf8.ValidString(text) {
		line, column := invalid(text)
		return document{}, &problem{line, column, "not UTF-8", "save it as UTF-8"}
	}
	lines := strings.SplitAfter(text, "\n")
	fence := func(line string) bool { return strings.TrimRight(line, " \t\n") == "---" }
	if !fence(lines[0]) {
		return document{}, &problem{1, 1, "it does not begin with front matter", "write a line of ---, name: and description:, and --- again"}
	}
	at := len(lines[0])
	for _, line := range lines[1:] {
		if fence(line) {
			doc.body = strings.Trim(text[at+len(line):], "\n")
			doc.fields, bad = parse(text[len(lines[0]):at])
			return doc, bad
		}
		at += len(line)
	}
	return document{}, &problem{1, 1, "the front matter does not end", "write a line of --- behind its last field"}
}

// invalid is the place of the first byte that is not UTF-8.
func invalid(text string) (line, column int) {
	line, column = 1, 1
	for i, r := range text {
		if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 {
			break
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// parse reads the fields of front matter, whose first line is the file's second.
func parse(front string) (fields []*yaml.Node, bad *problem) {
	// The library reports some damage by panicking past its own recovery; a file must not end the program.
	defer func() {
		if p := recover(); p != nil {
			fields, bad = nil, &problem{2, 1, fmt.Sprintf("the front matter is not YAML: %v", p), "repair it"}
		}
	}()
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth), loaderlimits.AliasNone())
	loader, err := yaml.NewLoader(bytes.NewReader([]byte(front)), yaml.WithPlugin(limits))
	if err != nil {
		return nil, broken(err)
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil, nil
	case err != nil:
		return nil, broken(err)
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, &problem{more.Line + 1, max(more.Column, 1), "a second document in the front matter", "keep one"}
	case !errors.Is(err, io.EOF):
		return nil, broken(err)
	}
	top := doc.Content[0]
	switch {
	case top.Kind == yaml.ScalarNode && top.Tag == "!!null":
		return nil, nil
	case top.Kind != yaml.MappingNode:
		return nil, at(top, "the front matter is no map of fields", "write lines such as name: review")
	}
	seen := map[string]bool{}
	for i := 0; i < len(top.Content); i += 2 {
		key := top.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, at(key, "not a field's name", "write the fields out")
		}
		if seen[key.Value] {
			return nil, at(key, key.Value+" is there twice", "keep one")
		}
		seen[key.Value] = true
	}
	return top.Content, nil
}

func at(n *yaml.Node, message, suggestion string) *problem {
	return &problem{n.Line + 1, max(n.Column, 1), message, suggestion}
}

func broken(err error) *problem {
	p := &problem{2, 1, "the front matter is not YAML: " + err.Error(), "put quotes around texts with colons, and indent what goes over several lines"}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		mark := load.Mark
		if load.ContextMark.Line > 0 {
			mark = load.ContextMark
		}
		p.line, p.column = max(mark.Line, 1)+1, max(mark.Column, 1)
		p.message = "the front matter is not YAML: " + load.Message
	}
	return p
}
