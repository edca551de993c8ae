package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxProblems bounds what one Error lists.
const maxProblems = 8

// note adds a problem with the value or key at byte at, or with its member name. It always returns true: the text is
// not broken.
func (w *walker) note(at int, name, found, want string) bool {
	if w.trial {
		w.failed++
		return true
	}
	if len(w.problems) >= maxProblems {
		return true
	}
	path := locate(w.data, at)
	if name != "" {
		path = join(path, name)
	}
	p := Problem{Path: path, Found: found, Want: want}
	if !slices.Contains(w.problems, p) { // schemas of the same value may ask the same
		w.problems = append(w.problems, p)
	}
	return true
}

// mismatch notes that the value just read, which began at start, is not what n wants.
func (w *walker) mismatch(n *node, start int) bool {
	if w.trial {
		w.failed++
		return true
	}
	value := w.data[start:w.pos]
	found, want := excerpt(value, 60), n.wanted()
	switch value[0] {
	case '{':
		found = "an object"
	case '[':
		found = "an array"
	case '"':
		found = "the string " + found
		if !n.admits(text) {
			want += ", not in quotes"
		}
	case 'n':
		want += ", or leave it out if it is optional"
	}
	return w.note(start, "", found, want)
}

func (w *walker) missing(f *field, at int) {
	if w.trial {
		w.failed++
		return
	}
	w.note(at, f.name, "nothing", f.asked())
}

func (w *walker) unknown(n *node, at int, key []byte) {
	if w.trial {
		w.failed++
		return
	}
	w.note(at, "", "an unknown argument", n.nearest(string(key)))
}

func (w *walker) twice(f *field, at int, key []byte) {
	w.note(at, "", "the same argument a second time, as "+quote(key), "it once, as "+f.name)
}

// locate names the value or key at byte at of well-formed data, as in `edits[2].old`.
func locate(data []byte, at int) string {
	s := scanner{data: data, deep: maxArgsDepth}
	path := ""
	for s.pos < at {
		closer, ok := byte('}'), true
		if s.peek() == '[' {
			closer = ']'
		}
		if s.pos >= at {
			return path
		}
		s.pos++
		for i := 0; ok; i++ {
			here := path + "[" + strconv.Itoa(i) + "]"
			if closer == '}' {
				key, keyAt, good := s.key()
				here = join(path, string(key))
				if !good || keyAt >= at {
					return here
				}
			}
			s.space()
			from := s.pos
			if from >= at {
				return here
			}
			if !s.skip(0) || s.pos > at {
				s.pos, path = from, here
				break
			}
			_, ok = s.next(closer)
		}
		if !ok {
			return path
		}
	}
	return path
}

func join(path, name string) string {
	name = excerpt(name, 60)
	if name == "" || strings.ContainsAny(name, ".[] \n\"") {
		return path + "[" + quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// wanted describes the values n accepts in a few words.
func (n *node) wanted() string { return n.describe(4) }

// describe goes no more than levels deep: schemas may contain themselves.
func (n *node) describe(levels int) string {
	switch {
	case n == nil || levels == 0:
		return "any value"
	case len(n.choices) > 0:
		return "one of " + excerpt(n.choices[0].listed, 400)
	case !n.typed && len(n.any) > 0:
		var out []string
		for _, one := range n.any {
			if what := one.describe(levels - 1); !slices.Contains(out, what) {
				out = append(out, what)
			}
		}
		return excerpt(strings.Join(out, " or "), 400)
	case !n.typed && len(n.all) > 0:
		return n.all[0].describe(levels-1) + n.limits()
	case !n.typed:
		return "a value" + n.limits()
	}
	var names []string
	left := n.kinds
	for _, k := range kindNames {
		if k.name == "integer" && n.kinds&fraction != 0 {
			continue
		}
		if left&k.kind != 0 {
			names = append(names, k.name)
			left &^= k.kind
		}
	}
	what := strings.Join(names, " or ")
	if n.kinds == array && n.items != nil {
		what = "array of " + n.items.describe(levels-1)
	}
	return what + n.limits()
}

func (n *node) limits() string {
	var b strings.Builder
	for _, l := range []struct {
		word  string
		limit *number
	}{{"at least", n.min}, {"greater than", n.above}, {"at most", n.max}, {"less than", n.below}} {
		if l.limit != nil {
			fmt.Fprintf(&b, ", %s %s", l.word, l.limit.lit)
		}
	}
	for _, l := range []struct {
		min, max int
		unit     string
	}{{n.minLen, n.maxLen, "characters"}, {n.minItems, n.maxItems, "items"}, {n.minProps, n.maxProps, "keys"}} {
		if l.min > 0 {
			fmt.Fprintf(&b, ", at least %d %s", l.min, l.unit)
		}
		if l.max >= 0 {
			fmt.Fprintf(&b, ", at most %d %s", l.max, l.unit)
		}
	}
	if n.pattern != nil {
		fmt.Fprintf(&b, ", matching %s", excerpt(n.pattern.String(), 200))
	}
	return b.String()
}

// asked describes a required argument that is missing.
func (f *field) asked() string {
	out := f.node.wanted() + " (required)"
	n := f.node
	for n != nil && n.doc == "" && len(n.all) > 0 {
		n = n.all[0]
	}
	if n != nil && n.doc != "" {
		out += ": " + excerpt(n.doc, 120)
	}
	return out
}

// nearest says which known argument an unknown one may have meant.
func (n *node) nearest(name string) string {
	best, least := "", max(2, len(name)/3)+1
	names := make([]string, 0, len(n.fields))
	for _, f := range n.fields {
		if !f.implied {
			names = append(names, f.name)
		}
		for _, spelling := range append(f.aliases, f.name) {
			if d := distance(fold(name), fold(spelling)); !f.implied && d < min(least, len(spelling)) {
				best, least = f.name, d
			}
		}
	}
	switch {
	case best != "":
		return best + " instead"
	case len(names) == 0:
		return "no arguments here"
	}
	return "only " + excerpt(strings.Join(names, ", "), 400)
}

// fold makes filePath, file_path and file-path one spelling.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, excerpt(name, 60))
}

// distance counts the single-byte edits from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
