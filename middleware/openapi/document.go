package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// operation is one operation of a document. Its id is the document's, or is made of method and path.
type operation struct {
	id, method, path string
	line             int
	doc              *openapi3.T
	item             *openapi3.PathItem
	op               *openapi3.Operation
}

// problem is what is wrong with a part of a document; line 0 = not known.
type problem struct {
	line int
	text string
}

// document is what was read.
type document struct {
	title string
	v31   bool
	// servers are those of the whole document.
	servers openapi3.Servers
	ops     []operation
	bad     []problem
}

// methods are those that become tools, in the order in which they are listed.
func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// parse reads a document. Where the whole of it cannot be read, each operation is read on its own, with what it refers to:
// one that is damaged is a problem and the others are there.
func parse(data []byte) (doc *document, err error) {
	// The YAML library reports some damage by panicking.
	defer func() {
		if p := recover(); p != nil {
			doc, err = nil, fmt.Errorf("cannot be read: %v", p)
		}
	}()
	t, err := readTree(data)
	if err != nil {
		return nil, err
	}
	d := &document{}
	switch {
	case t.text("swagger") != "":
		if v := t.text("swagger"); v != "2.0" {
			return nil, &placed{t.lineOf("swagger"), fmt.Sprintf("is of Swagger %s: 2.0 and OpenAPI 3.0 and 3.1 are read", cut(v, 20))}
		}
	case strings.HasPrefix(t.text("openapi"), "3."):
		d.v31 = !strings.HasPrefix(t.text("openapi"), "3.0")
	case t.text("openapi") != "":
		return nil, &placed{t.lineOf("openapi"), fmt.Sprintf("is of OpenAPI %s: 3.0, 3.1 and Swagger 2.0 are read", cut(t.text("openapi"), 20))}
	default:
		return nil, &placed{1, "has neither an openapi nor a swagger key: it is no OpenAPI document"}
	}
	whole, err := load(t.top)
	if err == nil {
		d.take(t, whole, "", "")
		d.servers, d.title = whole.Servers, title(whole)
		return d, nil
	}
	broken := err
	paths, _ := t.top["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range methods() {
			alone, err := t.alone(path, method)
			if alone == nil && err == nil {
				continue
			}
			var one *openapi3.T
			if err == nil {
				one, err = load(alone)
			}
			if err != nil {
				d.bad = append(d.bad, problem{t.lineOf("paths", path, strings.ToLower(method)), fmt.Sprintf("%s %s is left out: %s", method, path, brief(err))})
				continue
			}
			d.take(t, one, path, method)
			if d.servers == nil {
				d.servers, d.title = one.Servers, title(one)
			}
		}
	}
	if len(d.ops) == 0 && len(d.bad) == 0 {
		return nil, &placed{t.lineOf("paths"), brief(broken)}
	}
	return d, nil
}

func title(doc *openapi3.T) string {
	if doc.Info == nil {
		return ""
	}
	return doc.Info.Title
}

// take lists the operations of a loaded document, or the one that path and method name.
func (d *document) take(t *tree, doc *openapi3.T, path, method string) {
	if doc.Paths == nil {
		return
	}
	keys := doc.Paths.Keys()
	slices.Sort(keys)
	for _, p := range keys {
		item := doc.Paths.Value(p)
		if item == nil || path != "" && p != path {
			continue
		}
		ops := item.Operations()
		for _, m := range methods() {
			op := ops[m]
			if op == nil || method != "" && m != method {
				continue
			}
			line := t.lineOf("paths", p, strings.ToLower(m))
			if !strings.HasPrefix(p, "/") {
				d.bad = append(d.bad, problem{line, fmt.Sprintf("%s %s is left out: a path begins with /", m, p)})
				continue
			}
			id := op.OperationID
			if strings.TrimSpace(id) == "" {
				id = strings.ToLower(m) + "_" + strings.Trim(wordless.ReplaceAllString(p, "_"), "_")
			}
			d.ops = append(d.ops, operation{id: id, method: m, path: p, line: line, doc: doc, item: item, op: op})
		}
	}
}

var wordless = regexp.MustCompile(`[^A-Za-z0-9]+`)

// load reads a tree with everything that it refers to inside itself. Nothing is fetched.
func load(top map[string]any) (*openapi3.T, error) {
	data, err := json.Marshal(top)
	if err != nil {
		return nil, err
	}
	if _, old := top["swagger"]; !old {
		return openapi3.NewLoader().LoadFromData(data)
	}
	var v2 openapi2.T
	if err := json.Unmarshal(data, &v2); err != nil {
		return nil, err
	}
	return openapi2conv.ToV3(&v2)
}

// placed is an error at a line of a document.
type placed struct {
	line int
	text string
}

func (p *placed) Error() string { return p.text }

// brief is the first line of an error, without what a library tells of itself.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// tree is a document as plain values, with the nodes that know lines.
type tree struct {
	top  map[string]any
	root *yaml.Node
}

// maxNodes bounds what aliases can make of a document.
const maxNodes = 3_000_000

func readTree(data []byte) (*tree, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil {
		// JSON may hold what YAML does not take, such as tabs.
		var top map[string]any
		if jsonErr := json.Unmarshal(data, &top); jsonErr == nil {
			return &tree{top: top}, nil
		} else if first := bytes.TrimSpace(data); len(first) > 0 && first[0] == '{' {
			return nil, &placed{lineAt(data, jsonErr), jsonErr.Error()}
		}
		return nil, yamlError(err)
	}
	if n.Kind != yaml.DocumentNode || len(n.Content) != 1 || n.Content[0].Kind != yaml.MappingNode {
		return nil, &placed{1, "is no map: it is no OpenAPI document"}
	}
	w := walker{left: maxNodes}
	v, err := w.value(n.Content[0], 0)
	if err != nil {
		return nil, err
	}
	return &tree{top: v.(map[string]any), root: n.Content[0]}, nil
}

var yamlLine = regexp.MustCompile(`(?:^|[^a-z])line (\d+)`)

// yamlError takes the line out of the library's text.
func yamlError(err error) error {
	text := brief(err)
	line := 0
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		fmt.Sscan(m[1], &line)
	}
	return &placed{line, "is no YAML: " + strings.TrimPrefix(text, "yaml: ")}
}

func lineAt(data []byte, err error) int {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return 0
	}
	return 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
}

func (t *tree) text(key string) string {
	switch v := t.top[key].(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		return fmt.Sprint(v) // 2.0 and 3.1 without quotes are numbers
	}
}

// lineOf is where a key stands; 0 = not known.
func (t *tree) lineOf(keys ...string) int {
	n, line := t.root, 0
	for _, k := range keys {
		n, line = member(n, k)
	}
	return line
}

func member(n *yaml.Node, key string) (*yaml.Node, int) {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, 0
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1], n.Content[i].Line
		}
	}
	return nil, 0
}
