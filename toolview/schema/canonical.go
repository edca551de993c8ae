package schema

import (
	"bytes"
	"reflect"
)

// Canonical returns args in the form the struct given to [Infer] decodes from: aliases become the names they stand
// for, and integers that JSON Schema knows but Go does not (1.0, 1e2) become plain. It returns args itself when there
// is nothing to rewrite, {} when no arguments were sent, and an [*Error] when what it rewrote does not fit the
// schema, such as an alias beside the argument it stands for. For a schema from [Compile] there is never anything to
// rewrite. Call [Schema.Check] first: arguments that need no rewriting are not checked here.
func (s *Schema) Canonical(args []byte) ([]byte, error) {
	if absent(args) {
		return []byte("{}"), nil
	}
	if !s.rewrite {
		return args, nil
	}
	r := rewriter{scanner: scanner{data: args, deep: s.depth}}
	if !r.walk(s.root, 0) || !r.end() {
		return nil, s.Check(args)
	}
	if r.out == nil {
		return args, nil
	}
	out := append(r.out, args[r.done:]...)
	if err := s.Check(out); err != nil {
		return nil, err
	}
	return out, nil
}

// rewriter copies data to out as far as done, changing what it passes.
type rewriter struct {
	scanner
	out  []byte
	done int
}

func (r *rewriter) replace(from, to int, by ...string) {
	r.out = append(r.out, r.data[r.done:from]...)
	for _, s := range by {
		r.out = append(r.out, s...)
	}
	r.done = to
}

func (r *rewriter) walk(n *node, depth int) bool {
	if n == nil {
		return r.skip(depth)
	}
	c := r.peek()
	switch {
	case c == '{':
		return r.object(n, depth)
	case c == '[':
		empty, ok := r.enter(']', depth)
		for more := ok && !empty; more; {
			if !r.walk(n.items, depth+1) {
				return false
			}
			more, ok = r.next(']')
		}
		return ok
	case n.goKind >= reflect.Int && n.goKind <= reflect.Uintptr && (c == '-' || c >= '0' && c <= '9'):
		start := r.pos
		lit, ok := r.number()
		if !ok {
			return false
		}
		if usual := integer(lit); !bytes.Equal(usual, lit) {
			r.replace(start, r.pos, string(usual))
		}
		return true
	}
	return r.skip(depth)
}

func (r *rewriter) object(n *node, depth int) bool {
	empty, ok := r.enter('}', depth)
	for more := ok && !empty; more; {
		key, at, ok := r.key()
		if !ok {
			return false
		}
		inner := n.extra
		if i, known := n.index[string(key)]; known {
			f := &n.fields[i]
			if inner = f.node; f.name != string(key) {
				r.replace(at, r.pos, quote(f.name), ":")
			}
		}
		if !r.walk(inner, depth+1) {
			return false
		}
		if more, ok = r.next('}'); !ok {
			return false
		}
	}
	return ok
}
