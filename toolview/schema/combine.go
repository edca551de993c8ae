package schema

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// combine compiles the schemas that judge the same value as n.
func (c *compiler) combine(n *node, js *jsonschema.Schema, words members) {
	if js.Ref != "" {
		target, _ := resolve(c.root, js.Ref) // admit resolved it before
		n.all = append(n.all, c.ref(target, js.Ref))
		if c.root.Schema == draft7 {
			return
		}
	}
	texts := readItems(words.value("allOf"))
	for i, one := range js.AllOf {
		n.all = append(n.all, c.node(one, at(texts, i)))
	}
	switch {
	case js.AnyOf != nil:
		c.alternatives(n, js.AnyOf, readItems(words.value("anyOf")))
	case js.OneOf != nil: // one at least, says the walker; one at most is for the library to say
		c.alternatives(n, js.OneOf, readItems(words.value("oneOf")))
	}
}

func (c *compiler) alternatives(n *node, list []*jsonschema.Schema, texts [][]byte) {
	for i, one := range list {
		n.any = append(n.any, c.node(one, at(texts, i)))
	}
	if len(list) == 0 { // nothing fits
		n.never = true
	}
	if slices.Contains(n.any, nil) { // anything fits
		n.any = nil
	}
}

func at(texts [][]byte, i int) []byte {
	if i < len(texts) {
		return texts[i]
	}
	return nil
}

// ref compiles what a reference means once, however often and from wherever it is referred to.
func (c *compiler) ref(target *jsonschema.Schema, ref string) *node {
	if n, ok := c.refs[target]; ok {
		return n
	}
	n := blank()
	c.refs[target] = n
	if compiled := c.node(target, c.text(ref)); compiled != nil {
		*n = *compiled
	}
	return n
}

// names collects the arguments n describes, itself or through what it is combined from.
func (n *node) names(out []string) []string {
	if n == nil {
		return out
	}
	for _, f := range n.fields {
		if !f.implied && !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	for _, one := range slices.Concat(n.all, n.any) {
		out = one.names(out)
	}
	return out
}

// admits reports whether a value of this kind may fit n. It errs on the side of yes.
func (n *node) admits(k kind) bool {
	if n == nil {
		return true
	}
	if n.never || n.typed && n.kinds&k == 0 {
		return false
	}
	for _, one := range n.all {
		if !one.admits(k) {
			return false
		}
	}
	return len(n.any) == 0 || slices.ContainsFunc(n.any, func(one *node) bool { return one.admits(k) })
}

// combined checks the next value against n's all and any, and leaves it to be read again.
func (w *walker) combined(n *node, depth int) bool {
	w.space()
	start := w.pos
	for _, one := range n.all {
		if !w.walk(one, depth) {
			return false
		}
		w.pos = start
	}
	if n.any == nil {
		return true
	}
	var only *node
	fitting := 0
	k := w.kind()
	for _, one := range n.any {
		if one.admits(k) {
			only = one
			fitting++
		}
	}
	ok := true
	switch fitting {
	case 0:
		ok = w.skip(depth) && w.mismatch(n, start)
	case 1:
		ok = w.walk(only, depth)
	default:
		ok = w.try(n, k, depth)
	}
	w.pos = start
	return ok
}

// try looks for an alternative that fits; where none does, it tells the problems of the one that has the fewest.
func (w *walker) try(n *node, k kind, depth int) bool {
	var nearest *node
	least, start := 0, w.pos
	trial, failed := w.trial, w.failed
	for _, one := range n.any {
		if !one.admits(k) {
			continue
		}
		w.pos, w.trial, w.failed = start, true, 0
		if !w.walk(one, depth) {
			return false
		}
		if nearest == nil || w.failed < least {
			nearest, least = one, w.failed
		}
		if least == 0 {
			break
		}
	}
	w.pos, w.trial, w.failed = start, trial, failed
	if least == 0 {
		return true
	}
	if w.trial {
		w.failed += least
		return true
	}
	if k&(array|object) != 0 {
		return w.walk(nearest, depth)
	}
	return w.skip(depth) && w.mismatch(n, start)
}

// kind looks at the next value's first byte. A number is taken for an integer, which all that take numbers admit.
func (w *walker) kind() kind {
	switch w.peek() {
	case '{':
		return object
	case '[':
		return array
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	return whole
}
