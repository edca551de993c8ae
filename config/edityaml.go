package config

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// marker tells people, and a later edit, who wrote a line.
const marker = " # peri"

// offset finds a node's place, -1 when the text has none such.
func (d *document) offset(n *yaml.Node) int {
	at := 0
	for line := 1; line < n.Line; line++ {
		end := yamlLineEnd(d.raw, at)
		step := yamlBreak(d.raw, end)
		if step == 0 {
			return -1
		}
		at = end + step
	}
	for column := 1; column < n.Column; column++ {
		if at >= len(d.raw) {
			return -1
		}
		_, size := utf8.DecodeRune(d.raw[at:])
		at += size
	}
	if at >= len(d.raw) {
		return -1
	}
	return at
}

// yamlBreak counts the bytes of a line break as the YAML reader does, which knows some that no editor shows.
func yamlBreak(raw []byte, at int) int {
	if n := breaks(raw, at); n > 0 {
		return n
	}
	for _, b := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(raw[at:], []byte(b)) {
			return len(b)
		}
	}
	return 0
}

func yamlLineEnd(raw []byte, at int) int {
	for at < len(raw) && yamlBreak(raw, at) == 0 {
		at++
	}
	return at
}

// yamlAt goes down a path without following aliases: what an alias stands for is written elsewhere. key is the node of
// the last name.
func (d *document) yamlAt(path []string) (at, key *yaml.Node) {
	at, bad := yamlNode(d.raw, d.at)
	if bad != nil || at == nil {
		return nil, nil
	}
	for _, name := range path {
		if at.Kind != yaml.MappingNode {
			return nil, nil
		}
		i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == name && n.Kind == yaml.ScalarNode })
		for i >= 0 && i%2 == 1 {
			next := slices.IndexFunc(at.Content[i+1:], func(n *yaml.Node) bool { return n.Value == name && n.Kind == yaml.ScalarNode })
			if next < 0 {
				i = -1
				break
			}
			i += 1 + next
		}
		if i < 0 {
			return nil, nil
		}
		at, key = at.Content[i+1], at.Content[i]
	}
	return at, key
}

func inFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// yamlParts lists what stands in a flow map or list. ok is false where the end of something cannot be told.
func (d *document) yamlParts(n *yaml.Node) (open int, parts []part, ok bool) {
	open = d.offset(n)
	if open < 0 {
		return 0, nil, false
	}
	bracket := byte('{')
	if n.Kind == yaml.SequenceNode {
		bracket = '['
	}
	// An anchor or a tag stands before the bracket.
	i := bytes.IndexByte(d.raw[open:], bracket)
	if i < 0 {
		return 0, nil, false
	}
	open += i
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		k, v := n.Content[i], n.Content[i+step-1]
		p := part{name: k.Value, start: d.offset(k), value: d.offset(v)}
		if p.start < 0 || p.value < 0 {
			return 0, nil, false
		}
		p.end = d.scalarEnd(v, p.value)
		if k.Kind != yaml.ScalarNode || step == 1 && k.ShortTag() != "!!str" {
			p.name = ""
		}
		parts = append(parts, p)
	}
	return open, parts, true
}

// scalarEnd reads a scalar of one line; -1 for anything else.
func (d *document) scalarEnd(n *yaml.Node, at int) int {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return -1
	}
	switch d.raw[at] {
	case '"':
		for i := at + 1; i < len(d.raw); i++ {
			switch d.raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return -1
	case '\'':
		for i := at + 1; i < len(d.raw); i++ {
			if d.raw[i] != '\'' {
				continue
			}
			if i+1 < len(d.raw) && d.raw[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
		return -1
	}
	if !bytes.HasPrefix(d.raw[at:], []byte(n.Value)) {
		return -1
	}
	return at + len(n.Value)
}

func (d *document) yamlSpot(t target) *spot {
	at, key := d.yamlAt(t.path)
	if at == nil {
		return nil
	}
	parent := -1
	if key != nil {
		parent = d.offset(key)
	}
	if inFlow(at) {
		open, parts, ok := d.yamlParts(at)
		if !ok {
			return nil
		}
		return flowSpot(open, parts, parent, t.name)
	}
	step := 1
	if at.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(at.Content); i += step {
		k, v := at.Content[i], at.Content[i+step-1]
		if k.Kind != yaml.ScalarNode || k.Value != t.name {
			continue
		}
		s := &spot{start: d.offset(k), value: d.offset(v), siblings: len(at.Content)/step - 1, prev: -1, parent: parent}
		if s.start < 0 || s.value < 0 {
			return nil
		}
		s.end = d.scalarEnd(v, s.value)
		return s
	}
	return nil
}

// block writes a member or item with the maps around it that are missing, as whole lines but for the last break.
func block(missing []string, t target, leaf, indent, step, eol string) (text string, at int) {
	var b strings.Builder
	for _, name := range missing {
		b.WriteString(indent + name + ":" + eol)
		indent += step
	}
	b.WriteString(indent)
	if t.list {
		b.WriteString("- ")
		at = b.Len()
		b.WriteString(quoted(t.name))
	} else {
		at = b.Len()
		b.WriteString(t.name + ": " + leaf)
	}
	b.WriteString(marker)
	return b.String(), at
}

func (d *document) yamlInserts(t target, leaf string) []attempt {
	for depth := len(t.path); depth >= 0; depth-- {
		at, _ := d.yamlAt(t.path[:depth])
		if at == nil {
			continue
		}
		missing := t.path[depth:]
		if at.Kind == yaml.AliasNode || at.Kind == yaml.ScalarNode {
			return nil
		}
		if inFlow(at) {
			open, parts, ok := d.yamlParts(at)
			if !ok {
				return nil
			}
			return d.flowInserts(t, missing, leaf, open, parts)
		}
		return d.blockInserts(t, missing, leaf, at)
	}
	// Nothing is said yet; there may be comments.
	eol := eolOf(d.raw, len(d.raw))
	text, at := block(t.path, t, leaf, "", "  ", eol)
	all := []attempt{d.atEnd(text, at, t.path[0])}
	return append(all, d.put(0, text+eol, at, t.path[0]))
}

// atEnd appends whole lines to the file. A file without a last break has none afterwards either.
func (d *document) atEnd(text string, at int, created string) attempt {
	eol := eolOf(d.raw, len(d.raw))
	if len(d.raw) == 0 || lineStart(d.raw, len(d.raw)) == len(d.raw) {
		return d.put(len(d.raw), text+eol, at, created)
	}
	return d.put(len(d.raw), eol+text, len(eol)+at, created)
}

func (d *document) blockInserts(t target, missing []string, leaf string, in *yaml.Node) []attempt {
	first := d.offset(in)
	if len(in.Content) == 0 || first < 0 {
		return nil
	}
	if in.Kind == yaml.MappingNode {
		if first = d.offset(in.Content[0]); first < 0 {
			return nil
		}
	} else if d.raw[first] != '-' {
		// An anchor stands before the first item.
		i := bytes.IndexByte(d.raw[first:], '-')
		if i < 0 {
			return nil
		}
		first += i
	}
	begin := lineStart(d.raw, first)
	if !blank(d.raw[begin:first]) {
		return nil
	}
	created := ""
	if len(missing) > 0 {
		created = strings.Join(t.path[:len(t.path)-len(missing)+1], ".")
	}
	indent, eol := string(d.raw[begin:first]), eolOf(d.raw, first)
	text, at := block(missing, t, leaf, indent, d.step(), eol)
	var all []attempt
	last := in.Content[len(in.Content)-1]
	if last.Kind == yaml.ScalarNode || last.Kind == yaml.AliasNode {
		if o := d.offset(last); o >= 0 {
			all = append(all, d.lineAfter(o, text, at, created))
		}
	}
	all = append(all, d.atEnd(text, at, created))
	return append(all, d.put(begin, text+eol, at, created))
}

// yamlRemovals takes whole lines: the target's, and those of a block that an edit created and that holds nothing else.
// Where a user's own block would be left without content, it says that it is empty.
func (d *document) yamlRemovals(t target, s *spot, wrote insertion) []attempt {
	begin, end := lineStart(d.raw, s.start), lineEnd(d.raw, s.value)
	lead := bytes.Trim(d.raw[begin:s.start], " \t")
	if len(lead) > 0 && !(t.list && string(lead) == "-") {
		return nil
	}
	if s.end >= 0 {
		end = lineEnd(d.raw, s.end)
		if rest := d.raw[s.end:end]; !blank(rest) && !d.comment(s.end, end) {
			return nil
		}
	}
	if s.siblings > 0 || s.parent < 0 {
		return []attempt{{splices: []splice{d.lines(begin, end)}}}
	}
	var all []attempt
	if wrote.Created != "" {
		from := s.parent
		if depth := strings.Count(wrote.Created, ".") + 1; depth < len(t.path) {
			if up, key := d.yamlAt(t.path[:depth]); key != nil && len(up.Content) == 2 {
				if o := d.offset(key); o >= 0 {
					from = o
				}
			}
		}
		if from = lineStart(d.raw, from); d.onlyKeys(from, begin) {
			all = append(all, attempt{splices: []splice{d.lines(from, end)}})
		}
	}
	empty := " {}"
	if t.list {
		empty = " []"
	}
	if colon := bytes.IndexByte(d.raw[s.parent:begin], ':'); colon >= 0 {
		colon += s.parent + 1
		all = append(all, attempt{splices: []splice{{colon, colon, empty}, d.lines(begin, end)}})
	}
	return all
}

// lines is a splice that takes whole lines away; the last line of a file goes with the break before it.
func (d *document) lines(begin, end int) splice {
	if n := breaks(d.raw, end); n > 0 || begin == 0 {
		return splice{begin, end + n, ""}
	}
	from := begin - 1
	if from > 0 && d.raw[from] == '\n' && d.raw[from-1] == '\r' {
		from--
	}
	return splice{from, end, ""}
}

// onlyKeys says that nothing but keys that open a block stands there: no comment of somebody's would be lost.
func (d *document) onlyKeys(from, to int) bool {
	for line := range bytes.Lines(d.raw[from:to]) {
		if !bytes.HasSuffix(bytes.TrimSpace(line), []byte(":")) {
			return false
		}
	}
	return true
}
