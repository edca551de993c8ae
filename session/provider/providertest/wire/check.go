package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/metaharness/peri/prompt/message"
)

// check collects what is wrong with one request.
type check struct {
	server   *Server
	problems []string
	units    []string // what a vendor's cache compares, in order
	marks    []int    // how many units each breakpoint ends
}

func (c *check) wrong(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// strict decodes and takes no field that the structure lacks.
func (c *check) strict(what string, raw []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("something follows it")
		}
	}
	if err != nil {
		c.wrong("%s: %v: %.200s", what, err, raw)
	}
	return err == nil
}

func (c *check) kind(raw []byte) string {
	var k struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		c.wrong("no object: %.100s", raw)
	}
	return k.Type
}

var (
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// names checks the names of a tool array.
func (c *check) names(names []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !namePattern.MatchString(n) {
			c.wrong("tools: the name %q is not legal", n)
		}
		if seen[n] {
			c.wrong("tools: %s is there twice", n)
		}
		seen[n] = true
	}
}

// schema checks what APIs demand of a tool's schema.
func (c *check) schema(tool string, raw json.RawMessage) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || string(top["type"]) != `"object"` {
		c.wrong("tools: %s: input_schema.type must be object", tool)
	}
	if _, ok := top["properties"]; !ok {
		c.wrong("tools: %s: object schema missing properties", tool)
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "not", "enum", "const"} {
		if _, has := top[k]; has {
			c.wrong("tools: %s: the schema has %s at the top level", tool, k)
		}
	}
	if bytes.Contains(raw, []byte(`"$ref"`)) {
		c.wrong("tools: %s: the schema has a $ref", tool)
	}
}

func (c *check) text(what, s string) {
	if strings.TrimSpace(s) == "" {
		c.wrong("%s: text content blocks must contain non-whitespace text", what)
	}
}

// pairs follows calls and their results.
type pairs struct {
	c    *check
	open map[string]bool // made, and not answered yet
	made map[string]bool
}

func (p *pairs) use(id, name string) {
	if p.open == nil {
		p.open, p.made = map[string]bool{}, map[string]bool{}
	}
	if !idPattern.MatchString(id) {
		p.c.wrong("a call has the id %q", id)
	}
	if !namePattern.MatchString(name) {
		p.c.wrong("a call has the name %q", name)
	}
	if p.open[id] {
		p.c.wrong("the id %s is used twice", id)
	}
	p.open[id], p.made[id] = true, true
}

func (p *pairs) result(id string) {
	if !p.open[id] {
		p.c.wrong("a result for %q, which no call before it has, or which has one already", id)
	}
	delete(p.open, id)
}

func (p *pairs) settled(where string) {
	for id := range p.open {
		p.c.wrong("%s: the call %s has no result", where, id)
	}
}

func (c *check) unit(kind string, raw []byte, marked bool) {
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, `,"prompt_cache_breakpoint":{"mode":"explicit"}`} {
		raw = bytes.ReplaceAll(raw, []byte(mark), nil)
	}
	c.units = append(c.units, kind+"\x00"+string(raw))
	if marked {
		c.marks = append(c.marks, len(c.units))
	}
}

// usage plays the vendor's cache and counts a token for every four bytes.
func (c *check) usage(lookback int, req *Request) message.Usage {
	if len(c.problems) > 0 {
		return message.Usage{}
	}
	if len(c.marks) > 4 {
		c.wrong("a maximum of 4 blocks may end a cached prefix, found %d", len(c.marks))
	}
	a := c.server.cache.account(c.units, c.marks, lookback)
	req.Read, req.Wrote = a.read, a.wrote
	return message.Usage{Input: a.all/4 + 1, CacheRead: a.read / 4, CacheWrite: max(a.wrote-a.read, 0) / 4}
}
