package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/address"
)

// plan is how one operation is called. It is immutable.
type plan struct {
	id, method, path string
	base             *url.URL
	// authorized says that calls go where the source's credentials belong.
	authorized bool
	args       []argument
	body       *body
}

// argument is one parameter. name is what the model calls it, raw what the server does.
type argument struct {
	name, raw, in, style string
	explode, required    bool
	json                 bool // its value is sent as JSON
}

// body is what a request carries.
type body struct {
	mime     string
	form     form
	required bool
	// deep are the fields of a form that nest.
	deep map[string]bool
}

type form uint8

const (
	asJSON form = iota
	asFields
	asParts
	asText
)

// argName is what every vendor takes as the name of an argument.
var argName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// tool plans an operation and makes the tool without its Run. The error is why this one operation cannot be offered.
func (o *operation) tool(base *url.URL, auth Auth, v31 bool) (toolview.Tool, *plan, error) {
	p := &plan{id: o.id, method: o.method, path: o.path, base: base}
	l := newLowering(v31)
	props, required := map[string]any{}, []string{}
	params, err := o.parameters()
	if err != nil {
		return toolview.Tool{}, nil, err
	}
	for _, param := range params {
		if ignored(param) || auth.sets(param.In, param.Name) {
			continue
		}
		a := argumentOf(param)
		schema := param.Schema
		if len(param.Content) > 0 {
			a.json, schema = true, first(param.Content).Schema
		}
		a.name = free(props, param.Name, param.In)
		s := l.of(schema, 0)
		if param.Description != "" {
			note(s, param.Description)
		}
		props[a.name] = s
		if a.required {
			required = append(required, a.name)
		}
		p.args = append(p.args, a)
	}
	if o.op.RequestBody != nil && o.op.RequestBody.Value != nil {
		b, schema := bodyOf(o.op.RequestBody.Value, l)
		p.body = b
		props["body"] = schema
		if b.required {
			required = append(required, "body")
		}
	}
	schema, err := arguments(l, props, required)
	if err != nil {
		return toolview.Tool{}, nil, err
	}
	return toolview.Tool{
		Title: strings.TrimSpace(o.op.Summary), Doc: o.describe(), Schema: schema, Effects: effects(o.method),
	}, p, nil
}

// arguments puts the schema of all arguments together.
func arguments(l *lowering, props map[string]any, required []string) (json.RawMessage, error) {
	out := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("its schema cannot be written as JSON: %w", err)
	}
	l.finish(len(b))
	if len(l.defs) > 0 {
		out["$defs"] = l.defs
		if b, err = json.Marshal(out); err != nil {
			return nil, fmt.Errorf("its schema cannot be written as JSON: %w", err)
		}
	}
	return b, nil
}

// parameters are those of the path and of the operation, which count more, in the order path, query, header, cookie.
func (o *operation) parameters() ([]*openapi3.Parameter, error) {
	var out []*openapi3.Parameter
	seen := map[string]bool{}
	for _, list := range []openapi3.Parameters{o.op.Parameters, o.item.Parameters} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				return nil, errors.New("it has a parameter that leads nowhere")
			}
			if p := ref.Value; !seen[p.In+" "+p.Name] {
				seen[p.In+" "+p.Name] = true
				out = append(out, p)
			}
		}
	}
	places := []string{"path", "query", "header", "cookie"}
	for _, p := range out {
		if !slices.Contains(places, p.In) || p.Name == "" {
			return nil, fmt.Errorf("it has a parameter %q in %q", cut(p.Name, 60), cut(p.In, 60))
		}
	}
	slices.SortStableFunc(out, func(a, b *openapi3.Parameter) int {
		return slices.Index(places, a.In) - slices.Index(places, b.In)
	})
	for _, m := range inPath.FindAllStringSubmatch(o.path, -1) {
		if !seen["path "+m[1]] {
			return nil, fmt.Errorf("its path needs %q, which it does not describe", cut(m[1], 60))
		}
	}
	return out, nil
}

var inPath = regexp.MustCompile(`\{([^{}]+)\}`)

// ignored reports whether a parameter is one that its standard says to ignore, or that is not a caller's to set.
func ignored(p *openapi3.Parameter) bool {
	if p.In != "header" {
		return false
	}
	switch strings.ToLower(p.Name) {
	case "accept", "content-type", "authorization", "host", "content-length", "transfer-encoding", "connection", "cookie":
		return true
	}
	return false
}

func argumentOf(p *openapi3.Parameter) argument {
	a := argument{raw: p.Name, in: p.In, style: p.Style, required: p.Required || p.In == "path"}
	if a.style == "" {
		a.style = map[string]string{"path": "simple", "query": "form", "header": "simple", "cookie": "form"}[p.In]
	}
	a.explode = a.style == "form" || a.style == "deepObject"
	if p.Explode != nil {
		a.explode = *p.Explode
	}
	return a
}

// free is the name of an argument: the parameter's own where that can be one, and where no other has it.
func free(props map[string]any, raw, in string) string {
	name := raw
	if !argName.MatchString(name) {
		name = cut(strings.Trim(wordless.ReplaceAllString(raw, "_"), "_"), 50)
	}
	if _, taken := props[name]; name == "" || name == "body" || taken {
		name = in + "_" + name
	}
	if _, taken := props[name]; taken {
		name = cut(name, 50) + "_" + hash(in+" "+raw)
	}
	return name
}

// first is the content whose type sorts first, JSON before others.
func first(c openapi3.Content) *openapi3.MediaType {
	_, m := choose(c)
	if m == nil {
		return &openapi3.MediaType{}
	}
	return m
}

func choose(c openapi3.Content) (string, *openapi3.MediaType) {
	var keys []string
	for k := range c {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(keys) == 0 {
		return "", nil
	}
	return keys[0], c[keys[0]]
}

func rank(media string) int {
	kind, _, _ := mime.ParseMediaType(media)
	switch {
	case kind == "application/json":
		return 0
	case isJSON(kind):
		return 1
	case kind == "application/x-www-form-urlencoded":
		return 2
	case kind == "multipart/form-data":
		return 3
	case strings.HasPrefix(kind, "text/"):
		return 4
	}
	return 5
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "*/*" || kind == "application/*"
}

func bodyOf(rb *openapi3.RequestBody, l *lowering) (*body, map[string]any) {
	media, content := choose(rb.Content)
	b := &body{mime: media, required: rb.Required}
	kind, _, _ := mime.ParseMediaType(media)
	switch {
	case content == nil || isJSON(kind):
		b.form = asJSON
		if !strings.HasSuffix(kind, "json") {
			b.mime = "application/json"
		}
	case kind == "application/x-www-form-urlencoded":
		b.form = asFields
	case kind == "multipart/form-data":
		b.form = asParts
	default:
		b.form = asText
	}
	schema := map[string]any{}
	if content != nil && b.form != asText {
		schema = l.of(content.Schema, 0)
		for name, e := range content.Encoding {
			if e != nil && e.Style == "deepObject" {
				if b.deep == nil {
					b.deep = map[string]bool{}
				}
				b.deep[name] = true
			}
		}
	}
	description := rb.Description
	if b.form == asText {
		schema["type"] = "string"
		description = strings.TrimSpace(description + " It is sent as it is, as " + media + ".")
	}
	if description != "" {
		note(schema, description)
	}
	return b, schema
}

// describe is what the model reads of an operation.
func (o *operation) describe() string {
	var b strings.Builder
	for _, t := range []string{o.op.Summary, o.op.Description} {
		if t = strings.TrimSpace(t); t != "" && !strings.Contains(b.String(), t) {
			if len(t) > 1500 {
				t = strings.ToValidUTF8(t[:1500], "") + "…"
			}
			b.WriteString(t + "\n\n")
		}
	}
	fmt.Fprintf(&b, "%s %s", o.method, o.path)
	if o.op.Deprecated {
		b.WriteString(" (deprecated)")
	}
	return b.String()
}

// effects are what the method says.
func effects(method string) toolview.Effects {
	switch method {
	case "GET", "HEAD", "OPTIONS":
		return toolview.ReadOnly | toolview.OpenWorld | toolview.Idempotent
	case "PUT", "DELETE":
		return toolview.OpenWorld | toolview.Destructive | toolview.Idempotent
	}
	return toolview.OpenWorld | toolview.Destructive
}

// server is the address of an operation by the document: that of the operation, of its path, or of the whole.
func (o *operation) server(doc *document, from *url.URL) (*url.URL, error) {
	servers := doc.servers
	if len(o.item.Servers) > 0 {
		servers = o.item.Servers
	}
	if o.op.Servers != nil && len(*o.op.Servers) > 0 {
		servers = *o.op.Servers
	}
	return serverOf(servers, from)
}

// serverOf is the first address that can be reached. A relative one is that of the document.
func serverOf(servers openapi3.Servers, from *url.URL) (*url.URL, error) {
	raw := "/"
	if len(servers) > 0 && servers[0] != nil {
		raw = servers[0].URL
		for name, v := range servers[0].Variables {
			if v != nil {
				raw = strings.ReplaceAll(raw, "{"+name+"}", v.Default)
			}
		}
	}
	if !isAddress(raw) {
		if from == nil {
			return nil, errors.New("it does not say where its server is: write base")
		}
		u, err := from.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("its server %q cannot be read: write base", cut(raw, 100))
		}
		raw = u.String()
	}
	u, err := address.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("its server %q cannot be used (%w): write base", cut(raw, 100), err)
	}
	u.RawQuery = ""
	return u, nil
}
