package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// part is one member or item in JSON or in YAML's flow style.
type part struct {
	name              string
	start, value, end int
}

func (d *document) jsonParts(path []string) (open int, parts []part, parent int, ok bool) {
	doc, err := hujson.Parse(d.raw)
	if err != nil {
		return 0, nil, 0, false
	}
	at, parent := doc, -1
	for _, name := range path {
		o, isMap := at.Value.(*hujson.Object)
		if !isMap {
			return 0, nil, 0, false
		}
		i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return literal(m.Name) == name })
		if i < 0 {
			return 0, nil, 0, false
		}
		at, parent = o.Members[i].Value, o.Members[i].Name.StartOffset
	}
	switch x := at.Value.(type) {
	case *hujson.Object:
		for _, m := range x.Members {
			parts = append(parts, part{literal(m.Name), m.Name.StartOffset, m.Value.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range x.Elements {
			parts = append(parts, part{literal(e), e.StartOffset, e.StartOffset, e.EndOffset})
		}
	default:
		return 0, nil, 0, false
	}
	return at.StartOffset, parts, parent, true
}

// literal is a text, or "" for what is none.
func literal(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String()
	}
	return ""
}

func (d *document) jsonSpot(t target) *spot {
	open, parts, parent, ok := d.jsonParts(t.path)
	if !ok {
		return nil
	}
	return flowSpot(open, parts, parent, t.name)
}

func flowSpot(open int, parts []part, parent int, name string) *spot {
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	s := &spot{
		start: parts[i].start, value: parts[i].value, end: parts[i].end, flow: true,
		siblings: len(parts) - 1, prev: open + 1, parent: parent,
	}
	if i > 0 {
		s.prev = parts[i-1].end
	}
	return s
}

func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a text always marshals
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// body is a member or item with all that has to be made around it, over several lines unless indent is "-".
func body(missing []string, t target, leaf, indent, step, eol string) (text string, at int) {
	var b strings.Builder
	inner := indent
	bracket := func(i int) string {
		if t.list && i == len(missing)-1 {
			return "[]"
		}
		return "{}"
	}
	for i, name := range missing {
		b.WriteString(quoted(name) + ": " + bracket(i)[:1])
		if indent != "-" {
			inner += step
			b.WriteString(eol + inner)
		}
	}
	at = b.Len()
	b.WriteString(quoted(t.name))
	if !t.list {
		b.WriteString(": " + leaf)
	}
	for i := range slices.Backward(missing) {
		if indent != "-" {
			inner = strings.TrimSuffix(inner, step)
			b.WriteString(eol + inner)
		}
		b.WriteString(bracket(i)[1:])
	}
	return b.String(), at
}

func (d *document) jsonInserts(t target, leaf string) []attempt {
	if d.tree == nil {
		eol := eolOf(d.raw, 0)
		text, at := body(t.path, t, leaf, "  ", "  ", eol)
		end := ""
		if len(d.raw) == 0 {
			end = eol
		}
		open := "{" + eol + "  "
		return []attempt{d.put(0, open+text+eol+"}"+end, len(open)+at, t.path[0])}
	}
	for depth := len(t.path); depth >= 0; depth-- {
		open, parts, _, ok := d.jsonParts(t.path[:depth])
		if !ok {
			continue
		}
		return d.flowInserts(t, t.path[depth:], leaf, open, parts)
	}
	return nil
}

// flowInserts puts a member or item first behind a bracket: on a line of its own where its siblings have theirs.
func (d *document) flowInserts(t target, missing []string, leaf string, open int, parts []part) []attempt {
	created := ""
	if len(missing) > 0 {
		created = strings.Join(t.path[:len(t.path)-len(missing)+1], ".")
	}
	eol, step := eolOf(d.raw, open), d.step()
	base := indentOf(d.raw, open)
	lone, loneAt := body(missing, t, leaf, "-", "", "")
	if len(parts) == 0 {
		var all []attempt
		text, at := body(missing, t, leaf, base+step, step, eol)
		if end := lineEnd(d.raw, open); bytes.IndexByte(d.raw[open:end], closing(d.raw[open])) < 0 {
			a := d.lineAfter(open, base+step+text, len(base+step)+at, created)
			all = append(all, a)
		} else if d.json() {
			lead := eol + base + step
			all = append(all, d.put(open+1, lead+text+eol+base, len(lead)+at, created))
		}
		return append(all, d.put(open+1, lone, loneAt, created))
	}
	first := parts[0].start
	var all []attempt
	if begin := lineStart(d.raw, first); begin > open && blank(d.raw[begin:first]) {
		indent := string(d.raw[begin:first])
		text, at := body(missing, t, leaf, indent, step, eol)
		all = append(all, d.lineAfter(open, indent+text+",", len(indent)+at, created))
		all = append(all, d.put(begin, indent+text+","+eol, len(indent)+at, created))
	}
	return append(all, d.put(first, lone+", ", loneAt, created))
}

func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}

// indentOf is the white space that begins the line of an offset.
func indentOf(raw []byte, at int) string {
	begin := lineStart(raw, at)
	end := begin
	for end < len(raw) && (raw[end] == ' ' || raw[end] == '\t') {
		end++
	}
	return string(raw[begin:end])
}

// step is by how much the document indents: the least indented line tells, two blanks without one.
func (d *document) step() string {
	least := ""
	for line := range bytes.Lines(d.raw) {
		trimmed := bytes.TrimLeft(line, " \t")
		indent := string(line[:len(line)-len(trimmed)])
		if indent == "" || len(trimmed) == 0 || trimmed[0] == '\n' || trimmed[0] == '\r' || trimmed[0] == '*' {
			continue
		}
		if least == "" || len(indent) < len(least) {
			least = indent
		}
	}
	if least == "" {
		return "  "
	}
	return least
}

func (d *document) removals(t target, s *spot, wrote insertion) []attempt {
	if s.flow {
		return d.flowRemovals(t, s)
	}
	return d.yamlRemovals(t, s, wrote)
}

// flowRemovals takes a part with one comma, and its line where it has one of its own.
func (d *document) flowRemovals(_ target, s *spot) []attempt {
	if s.end < 0 {
		return nil
	}
	comma := d.skipGap(s.end)
	var all []attempt
	if comma < len(d.raw) && d.raw[comma] == ',' {
		begin, end := lineStart(d.raw, s.start), lineEnd(d.raw, comma)
		if blank(d.raw[begin:s.start]) && begin > 0 && (blank(d.raw[comma+1:end]) || d.comment(comma+1, end)) {
			all = append(all, attempt{splices: []splice{{begin, end + breaks(d.raw, end), ""}}})
		}
		to := comma + 1
		for to < len(d.raw) && (d.raw[to] == ' ' || d.raw[to] == '\t') {
			to++
		}
		if d.skipGap(s.end) == s.end {
			all = append(all, attempt{splices: []splice{{s.start, to, ""}}})
		}
		return append(all, attempt{splices: []splice{{s.start, s.end, ""}, {comma, comma + 1, ""}}})
	}
	before := d.skipGap(s.prev)
	if before >= s.start || d.raw[before] != ',' {
		return append(all, attempt{splices: []splice{{s.start, s.end, ""}}})
	}
	if blank(bytes.TrimSpace(d.raw[before+1 : s.start])) {
		all = append(all, attempt{splices: []splice{{before, s.end, ""}}})
	}
	return append(all, attempt{splices: []splice{{before, before + 1, ""}, {s.start, s.end, ""}}})
}

// comment says that from..to is a blank and a comment up to the end of the line.
func (d *document) comment(from, to int) bool {
	text := strings.TrimSpace(string(d.raw[from:to]))
	mark := "#"
	if d.json() {
		mark = "//"
	}
	return strings.HasPrefix(text, mark)
}

// skipGap goes over white space and comments.
func (d *document) skipGap(at int) int {
	for at < len(d.raw) {
		rest := d.raw[at:]
		switch {
		case bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
			at++
		case d.json() && bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return len(d.raw)
			}
			at += end + 4
		case d.json() && bytes.HasPrefix(rest, []byte("//")), !d.json() && rest[0] == '#':
			at = lineEnd(d.raw, at)
		default:
			return at
		}
	}
	return at
}
