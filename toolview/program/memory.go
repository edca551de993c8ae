package program

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const (
	// word is what an element of a list or tuple takes.
	word = 16
	// maxRange bounds `range`, over which built-in functions go without taking a step.
	maxRange = 1_000_000
	// maxDepth bounds values within values.
	maxDepth = 200
	// maxBits bounds the numbers that `*` and `<<` make.
	maxBits = 1 << 16
)

// charge counts memory against the run's whole allowance. Nothing is given back: what was freed is not known.
func (r *run) charge(bytes int) error {
	if r.spent += bytes; r.spent > r.Memory || bytes < 0 {
		return r.stop(fmt.Errorf("its values took more than %d MiB of memory", r.Memory>>20))
	}
	return nil
}

// size is what a value takes by itself, without its elements.
func size(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case *starlark.Dict:
		return 4 * word * v.Len()
	case *starlark.Set:
		return 4 * word * v.Len()
	case starlark.Sequence:
		return word * v.Len()
	}
	return 0
}

// measure is what a value takes written out, with everything in it. It fails when that is more than the run may take, or
// is nested too deeply.
func (r *run) measure(v starlark.Value) (int, error) {
	left := r.Memory
	if err := measure(v, 0, &left); err != nil {
		return 0, err
	}
	return r.Memory - left, nil
}

func measure(v starlark.Value, depth int, left *int) error {
	if depth > maxDepth {
		return fmt.Errorf("the value is nested more than %d deep", maxDepth)
	}
	*left -= size(v) + word
	if *left < 0 {
		return errors.New("the value is too large")
	}
	switch v := v.(type) {
	case starlark.IterableMapping:
		for _, pair := range v.Items() {
			for _, x := range pair {
				if err := measure(x, depth+1, left); err != nil {
					return err
				}
			}
		}
	case starlark.String, starlark.Bytes:
	case *report:
		*left -= len(v.text)
		return measure(v.value, depth+1, left)
	case starlark.Sequence:
		it := v.Iterate()
		defer it.Done()
		for x := starlark.Value(nil); it.Next(&x); {
			if err := measure(x, depth+1, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// copied charges for a value that was made, or is about to be.
func (r *run) copied(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], r.charge(size(args[0]))
}

// binary charges for what an operator makes before it makes it.
func (r *run) binary(op syntax.Token) builtin {
	return func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		x, y := args[0], args[1]
		cost, err := r.cost(op, x, y)
		if err == nil {
			err = r.charge(cost)
		}
		if err != nil {
			return nil, err
		}
		return starlark.Binary(op, x, y)
	}
}

func (r *run) cost(op syntax.Token, x, y starlark.Value) (int, error) {
	switch op {
	case syntax.PLUS, syntax.PIPE:
		return size(x) + size(y), nil
	case syntax.PERCENT:
		if format, ok := x.(starlark.String); ok {
			args, err := r.measure(y)
			return len(format) + args, err
		}
	case syntax.STAR, syntax.LTLT:
		if bits(x)+bits(y) > maxBits {
			return 0, fmt.Errorf("the number would have more than %d bits", maxBits)
		}
		if n, ok := times(y); ok && op == syntax.STAR {
			return product(size(x), n), nil
		}
		if n, ok := times(x); ok && op == syntax.STAR {
			return product(size(y), n), nil
		}
	}
	return 0, nil
}

func bits(v starlark.Value) int {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0
	}
	return i.BigInt().BitLen()
}

func times(v starlark.Value) (int, bool) {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, false
	}
	n, ok := i.Int64()
	return int(n), ok && n > 0
}

// product is a×b, or far too much.
func product(a, b int) int {
	if a > 0 && b > (1<<40)/a {
		return 1 << 40
	}
	return a * b
}

func (r *run) ranged(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(th, starlark.Universe["range"], args, named)
	if err == nil && starlark.Len(v) > maxRange {
		return nil, fmt.Errorf("range: has %d numbers and may have %d", starlark.Len(v), maxRange)
	}
	return v, err
}

// bounded is a function of the language whose arguments are looked at first, and whose result is charged for.
func (r *run) bounded(name string, before func(starlark.Tuple) error) *starlark.Builtin {
	of := starlark.Universe[name]
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
		if before != nil {
			if err := before(args); err != nil {
				return nil, err
			}
		}
		v, err := starlark.Call(th, of, args, named)
		if err != nil {
			return nil, err
		}
		return v, r.charge(size(v))
	})
}

// shown charges for writing values out.
func (r *run) shown(args starlark.Tuple) error {
	for _, a := range args {
		n, err := r.measure(a)
		if err == nil {
			err = r.charge(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dot finds a method or field. A method that makes something larger than a part of what is there is charged for.
func (r *run) dot(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, name := args[0], string(args[1].(starlark.String))
	var v starlark.Value
	if has, ok := x.(starlark.HasAttrs); ok {
		var err error
		if v, err = has.Attr(name); err != nil {
			return nil, err
		}
	}
	if v == nil {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	method, ok := v.(*starlark.Builtin)
	if !ok || method.Receiver() == nil {
		return v, nil
	}
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
		n, err := r.costOf(x, name, args, named)
		if err == nil {
			err = r.charge(n)
		}
		if err != nil {
			return nil, err
		}
		v, err := starlark.Call(th, method, args, named)
		if err != nil || !makes[name] {
			return v, err
		}
		return v, r.charge(size(v))
	}).BindReceiver(x), nil
}

// makes are the methods whose result is new and no larger than their receiver and arguments.
var makes = map[string]bool{
	"keys": true, "values": true, "items": true, "split": true, "rsplit": true, "splitlines": true, "elems": true,
	"upper": true, "lower": true, "title": true, "capitalize": true, "union": true, "difference": true,
	"intersection": true, "symmetric_difference": true,
}

// costOf is what a method makes that may be far larger than its receiver.
func (r *run) costOf(x starlark.Value, method string, args starlark.Tuple, named []starlark.Tuple) (int, error) {
	s, text := x.(starlark.String)
	switch {
	case method == "extend" || method == "update":
		n := 0
		for _, a := range args {
			n += size(a)
		}
		return n, nil
	case !text:
		return 0, nil
	case method == "join" && len(args) == 1:
		n := 0
		if it := starlark.Iterate(args[0]); it != nil {
			defer it.Done()
			for v := starlark.Value(nil); it.Next(&v); {
				n += size(v) + len(s)
			}
		}
		return n, nil
	case method == "replace" && len(args) > 1:
		return len(s) + product(len(s)+1, size(args[1])), nil
	case method == "format":
		// Each place may be filled by any argument.
		n := 0
		for _, a := range args {
			m, err := r.measure(a)
			if n += m; err != nil {
				return 0, err
			}
		}
		for _, pair := range named {
			m, err := r.measure(pair[1])
			if n += m; err != nil {
				return 0, err
			}
		}
		places := 1
		for i := range len(s) {
			if s[i] == '{' {
				places++
			}
		}
		return len(s) + product(n, places), nil
	}
	return 0, nil
}
