package config

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// errByHand is what an edit answers that has no place in the text where one line would do it.
var errByHand = errors.New("the file is written in a way that cannot be changed line by line")

// document is one settings file as text and as what it says. raw is without the BOM.
type document struct {
	raw  []byte
	bom  bool
	at   meta.Origin
	tree *value // nil when it says nothing
}

func newDocument(raw []byte, at meta.Origin) (*document, *Error) {
	d := &document{at: at, bom: bytes.HasPrefix(raw, bom)}
	d.raw = bytes.TrimPrefix(raw, bom)
	tree, bad := parse(d.raw, at)
	d.tree = tree
	return d, bad
}

func (d *document) json() bool {
	ext := filepath.Ext(d.at.File)
	return ext == ".json" || ext == ".jsonc"
}

// bytes is a new text as it stands in the file.
func (d *document) bytes(raw []byte) []byte {
	if d.bom {
		return slices.Concat(bom, raw)
	}
	return raw
}

// target is what an edit is about: a member of the map at path, or, with list, an item of the list there.
type target struct {
	path []string
	name string
	list bool
}

// insertion is what an edit wrote into a file, so that its inverse finds the very bytes: the text, and where in it the
// target begins. Created is the outermost map or list that came with it, "" for none.
type insertion struct {
	Text    string `json:"text,omitempty"`
	At      int    `json:"at,omitempty"`
	Created string `json:"created,omitempty"`
}

// splice replaces from..to.
type splice struct {
	from, to int
	text     string
}

// attempt is one way to make a change: splices in ascending order, the last of which may be an insertion.
type attempt struct {
	splices []splice
	wrote   insertion
}

func (d *document) apply(a attempt) []byte {
	var out []byte
	at := 0
	for _, s := range a.splices {
		out = append(append(out, d.raw[at:s.from]...), s.text...)
		at = s.to
	}
	return append(out, d.raw[at:]...)
}

// try gives the first attempt that makes the document say what is wanted and nothing else.
func (d *document) try(t target, want any, all []attempt) ([]byte, insertion, error) {
	for _, a := range all {
		out := d.apply(a)
		tree, bad := parse(out, d.at)
		if bad == nil && len(out) <= maxFile && reflect.DeepEqual(pruned(plainOf(tree), t.path), pruned(want, t.path)) {
			return d.bytes(out), a.wrote, nil
		}
	}
	return nil, insertion{}, errByHand
}

// plainOf gives what a document says as a map, whether or not it says something.
func plainOf(tree *value) any {
	if tree == nil {
		return map[string]any{}
	}
	return tree.plain()
}

// pruned leaves out what is empty along a path: an empty map or list there says as much as none.
func pruned(in any, path []string) any {
	m, ok := in.(map[string]any)
	if !ok || len(path) == 0 {
		return in
	}
	under, ok := m[path[0]]
	if !ok {
		return in
	}
	under = pruned(under, path[1:])
	m = maps.Clone(m)
	m[path[0]] = under
	switch u := under.(type) {
	case map[string]any:
		if len(u) == 0 {
			delete(m, path[0])
		}
	case []any:
		if len(u) == 0 {
			delete(m, path[0])
		}
	}
	return m
}

// changed is what the document will say: f gets the map or list at path, nil for none, and gives its successor.
func changed(in any, path []string, f func(any) any) any {
	if len(path) == 0 {
		return f(in)
	}
	m, _ := in.(map[string]any)
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	m[path[0]] = changed(m[path[0]], path[1:], f)
	return m
}

// find gives the target's value, ok = it is there. Of a list it is the first equal item.
func (d *document) find(t target) (v *value, ok bool) {
	at := d.container(t.path)
	if at == nil {
		return nil, false
	}
	if t.list {
		for _, item := range at.items {
			if item.scalar == any(t.name) {
				return item, true
			}
		}
		return nil, false
	}
	m, ok := at.member(t.name)
	return m.value, ok
}

func (d *document) container(path []string) *value {
	at := d.tree
	for _, name := range path {
		m, ok := at.member(name)
		if !ok {
			return nil
		}
		at = m.value
	}
	return at
}

// set writes a member's boolean: it changes the one that is there, or inserts it.
func (d *document) set(t target, to bool) ([]byte, insertion, error) {
	want := changed(plainOf(d.tree), t.path, func(in any) any {
		m, _ := in.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		m[t.name] = to
		return m
	})
	v, there := d.find(t)
	switch {
	case there && v.kind == boolean && v.scalar == to:
		return d.bytes(d.raw), insertion{}, nil
	case there:
		return d.try(t, want, d.flips(t, to))
	}
	return d.try(t, want, d.inserts(t, to))
}

// add inserts an item into a list.
func (d *document) add(t target) ([]byte, insertion, error) {
	if _, there := d.find(t); there {
		return d.bytes(d.raw), insertion{}, nil
	}
	want := changed(plainOf(d.tree), t.path, func(in any) any {
		l, _ := in.([]any)
		return append(slices.Clone(l), t.name)
	})
	// The order of a list of rules says nothing, so an item may come first as well.
	first := changed(plainOf(d.tree), t.path, func(in any) any {
		l, _ := in.([]any)
		return append([]any{t.name}, l...)
	})
	all := d.inserts(t, true)
	out, wrote, err := d.try(t, want, all)
	if err != nil {
		return d.try(t, first, all)
	}
	return out, wrote, nil
}

// remove takes the target out; what wrote says that an edit brought along goes with it, if nothing else has come there.
func (d *document) remove(t target, wrote insertion) ([]byte, error) {
	if _, there := d.find(t); !there {
		return d.bytes(d.raw), nil
	}
	want := changed(plainOf(d.tree), t.path, func(in any) any {
		switch in := in.(type) {
		case map[string]any:
			in = maps.Clone(in)
			delete(in, t.name)
			return in
		case []any:
			i := slices.Index(in, any(t.name))
			return slices.Delete(slices.Clone(in), i, i+1)
		}
		return in
	})
	l := d.locate(t)
	if l == nil {
		return nil, errByHand
	}
	var all []attempt
	if from := l.start - wrote.At; wrote.Text != "" && from >= 0 && bytes.HasPrefix(d.raw[from:], []byte(wrote.Text)) {
		all = append(all, attempt{splices: []splice{{from, from + len(wrote.Text), ""}}})
	}
	all = append(all, d.removals(t, l, wrote)...)
	out, _, err := d.try(t, want, all)
	return out, err
}

func (d *document) flips(t target, to bool) []attempt {
	l := d.locate(t)
	if l == nil {
		return nil
	}
	var all []attempt
	// Before the value may stand what YAML says of it: an anchor, a tag, a quote.
	for at := l.value; at < len(d.raw) && at <= l.value+maxKey; at++ {
		for _, w := range []string{"true", "false", "True", "False", "TRUE", "FALSE"} {
			if bytes.HasPrefix(d.raw[at:], []byte(w)) {
				all = append(all, attempt{splices: []splice{{at, at + len(w), likeCase(w, to)}}})
			}
		}
		if len(all) > 0 && at > l.value || breaks(d.raw, at) > 0 {
			break
		}
	}
	if d.raw[l.value] == '*' {
		end := l.value + 1
		for end < len(d.raw) && !strings.ContainsRune(" \t\r\n,]}", rune(d.raw[end])) {
			end++
		}
		all = append(all, attempt{splices: []splice{{l.value, end, likeCase("false", to)}}})
	}
	return all
}

// likeCase writes a boolean as the one before it was written.
func likeCase(w string, to bool) string {
	out := "false"
	if to {
		out = "true"
	}
	switch {
	case w[1] < 'a':
		return strings.ToUpper(out)
	case w[0] < 'a':
		return strings.ToUpper(out[:1]) + out[1:]
	}
	return out
}

// place says where a target stands in the text.
type spot struct {
	start, value int // of the member's key or the item; of its value
	end          int // of its value; -1 where only reading on would tell
	flow         bool
	siblings     int
	prev         int // end of the sibling before it, or just behind the bracket; -1 unknown
	parent       int // start of the key that the map or list belongs to; -1 for the top
}

func (d *document) locate(t target) *spot {
	if d.tree == nil {
		return nil
	}
	if d.json() {
		return d.jsonSpot(t)
	}
	return d.yamlSpot(t)
}

func (d *document) inserts(t target, to bool) []attempt {
	leaf := leafText(to)
	if d.json() {
		return d.jsonInserts(t, leaf)
	}
	return d.yamlInserts(t, leaf)
}

func leafText(to bool) string {
	if to {
		return "true"
	}
	return "false"
}

// breaks says how many bytes of a line break stand at an offset, as YAML counts lines.
func breaks(raw []byte, at int) int {
	rest := raw[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return 2
	case len(rest) > 0 && (rest[0] == '\n' || rest[0] == '\r'):
		return 1
	}
	return 0
}

// lineStart and lineEnd bound the line that holds an offset; lineEnd is before its break.
func lineStart(raw []byte, at int) int {
	for at > 0 && raw[at-1] != '\n' && raw[at-1] != '\r' {
		at--
	}
	return at
}

func lineEnd(raw []byte, at int) int {
	for at < len(raw) && raw[at] != '\n' && raw[at] != '\r' {
		at++
	}
	return at
}

// eolOf is how lines end near an offset.
func eolOf(raw []byte, at int) string {
	end := lineEnd(raw, at)
	if n := breaks(raw, end); n > 0 {
		return string(raw[end : end+n])
	}
	switch at = lineStart(raw, at); {
	case at > 1 && raw[at-2] == '\r' && raw[at-1] == '\n':
		return "\r\n"
	case at > 0:
		return string(raw[at-1 : at])
	}
	return "\n"
}

func blank(b []byte) bool { return len(bytes.Trim(b, " \t")) == 0 }

// lineAfter inserts whole lines behind the line that holds an offset.
func (d *document) lineAfter(at int, text string, target int, created string) attempt {
	end, eol := lineEnd(d.raw, at), eolOf(d.raw, at)
	if n := breaks(d.raw, end); n > 0 {
		return d.put(end+n, text+eol, target, created)
	}
	return d.put(end, eol+text, target+len(eol), created)
}

// put inserts text; target is where in it the target begins.
func (d *document) put(at int, text string, target int, created string) attempt {
	return attempt{[]splice{{at, at, text}}, insertion{text, target, created}}
}
