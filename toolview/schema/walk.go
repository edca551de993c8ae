package schema

import (
	"reflect"
	"strconv"
	"unicode/utf8"
)

// walker checks one text against a node. Problems are noted and the walk goes on; it stops, returning false, where
// the text is broken.
type walker struct {
	scanner
	problems []Problem
	trial    bool // count problems only
	failed   int  // problems counted
}

func (w *walker) walk(n *node, depth int) bool {
	if n == nil {
		return w.skip(depth)
	}
	if (n.all != nil || n.any != nil) && !w.combined(n, depth) {
		return false
	}
	return w.alone(n, depth)
}

// alone checks the next value against what n asks beside its all and any.
func (w *walker) alone(n *node, depth int) bool {
	c := w.peek()
	start := w.pos
	switch {
	case n.never:
		if !w.skip(depth) {
			return false
		}
		w.note(start, "", "a value", "nothing: leave it out")
		return true
	case c == '{':
		if n.typed && n.kinds&object == 0 {
			return w.skip(depth) && w.mismatch(n, start)
		}
		return w.object(n, depth)
	case c == '[':
		if n.typed && n.kinds&array == 0 {
			return w.skip(depth) && w.mismatch(n, start)
		}
		return w.array(n, depth)
	case c == '"':
		return w.string(n)
	case c == '-' || c >= '0' && c <= '9':
		return w.numeral(n)
	}
	if !w.scalar() {
		return false
	}
	k := boolean
	if c == 'n' {
		k = null
	}
	if n.typed && n.kinds&k == 0 {
		return w.mismatch(n, start)
	}
	for _, one := range n.choices {
		if c == 't' && !one.yes || c == 'f' && !one.no || c == 'n' && one.kinds&null == 0 {
			return w.mismatch(n, start)
		}
	}
	return true
}

func (w *walker) string(n *node) bool {
	start := w.pos
	raw, escaped, ok := w.scanner.text()
	if !ok {
		return false
	}
	if n.typed && n.kinds&text == 0 {
		return w.mismatch(n, start)
	}
	if n.choices == nil && n.minLen < 0 && n.maxLen < 0 && n.pattern == nil {
		return true
	}
	value := plain(raw, escaped)
	for _, one := range n.choices {
		if _, ok := one.texts[string(value)]; !ok {
			return w.mismatch(n, start)
		}
	}
	if n.minLen >= 0 || n.maxLen >= 0 {
		if size := utf8.RuneCount(value); size < n.minLen || n.maxLen >= 0 && size > n.maxLen {
			return w.note(start, "", "a string of "+strconv.Itoa(size)+" characters", n.wanted())
		}
	}
	if n.pattern != nil && !n.pattern.Match(value) {
		return w.mismatch(n, start)
	}
	return true
}

func (w *walker) numeral(n *node) bool {
	start := w.pos
	lit, ok := w.number()
	if !ok {
		return false
	}
	if n.typed && n.kinds&(whole|fraction) != whole|fraction && (n.kinds&whole == 0 || !integral(lit)) {
		return w.mismatch(n, start)
	}
	if n.choices == nil && n.min == nil && n.max == nil && n.above == nil && n.below == nil && n.goKind == reflect.Invalid {
		return true
	}
	value := parseNumber(lit)
	for _, one := range n.choices {
		if !one.number(value) {
			return w.mismatch(n, start)
		}
	}
	if !n.inside(value) || !fits(n.goKind, value) {
		return w.mismatch(n, start)
	}
	return true
}

func (c *choices) number(value number) bool {
	for _, one := range c.numbers {
		if float, exact := compare(value, one); float == 0 && exact == 0 {
			return true
		}
	}
	return false
}

// inside reports whether value keeps every limit both as a float and by its digits.
func (n *node) inside(value number) bool {
	if n.min != nil {
		if float, exact := compare(value, *n.min); min(float, exact) < 0 {
			return false
		}
	}
	if n.above != nil {
		if float, exact := compare(value, *n.above); min(float, exact) <= 0 {
			return false
		}
	}
	if n.max != nil {
		if float, exact := compare(value, *n.max); max(float, exact) > 0 {
			return false
		}
	}
	if n.below != nil {
		if float, exact := compare(value, *n.below); max(float, exact) >= 0 {
			return false
		}
	}
	return true
}

func (w *walker) array(n *node, depth int) bool {
	start, size := w.pos, 0
	empty, ok := w.enter(']', depth)
	for more := ok && !empty; more; size++ {
		if !w.walk(n.items, depth+1) {
			return false
		}
		if more, ok = w.next(']'); !ok {
			return false
		}
	}
	if !ok {
		return false
	}
	if size < n.minItems || n.maxItems >= 0 && size > n.maxItems {
		return w.note(start, "", "an array of "+strconv.Itoa(size), n.wanted())
	}
	for _, one := range n.choices {
		if one.kinds&array == 0 {
			return w.mismatch(n, start)
		}
	}
	return true
}

func (w *walker) object(n *node, depth int) bool {
	start, size := w.pos, 0
	var few [2]uint64
	seen := few[:]
	if len(n.fields) > 64*len(few) {
		seen = make([]uint64, 1+len(n.fields)/64)
	}
	var others keySet
	empty, ok := w.enter('}', depth)
	for more := ok && !empty; more; size++ {
		key, at, ok := w.key()
		if !ok {
			return false
		}
		i, known := n.index[string(key)]
		switch {
		case known && seen[i/64]&(1<<(i%64)) != 0:
			w.twice(&n.fields[i], at, key)
			ok = w.skip(depth + 1)
		case known:
			seen[i/64] |= 1 << (i % 64)
			ok = w.walk(n.fields[i].node, depth+1)
		case !others.add(key):
			w.note(at, "", "the key a second time", "it once")
			ok = w.skip(depth + 1)
		case n.closed:
			w.unknown(n, at, key)
			ok = w.skip(depth + 1)
		case n.open:
			ok = w.skip(depth + 1)
		default:
			ok = w.walk(n.extra, depth+1)
		}
		if !ok {
			return false
		}
		if more, ok = w.next('}'); !ok {
			return false
		}
	}
	if !ok {
		return false
	}
	for i := range n.fields {
		if f := &n.fields[i]; f.required && seen[i/64]&(1<<(i%64)) == 0 {
			w.missing(f, start)
		}
	}
	return w.whole(n, start, size)
}

// whole checks an object that has been read.
func (w *walker) whole(n *node, start, size int) bool {
	if size < n.minProps || n.maxProps >= 0 && size > n.maxProps {
		return w.note(start, "", "an object of "+strconv.Itoa(size), n.wanted())
	}
	for _, one := range n.choices {
		if one.kinds&object == 0 {
			return w.mismatch(n, start)
		}
	}
	return true
}
