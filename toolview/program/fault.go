package program

import (
	"errors"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const undefined = "undefined: "

// broken words what the parser and the resolver found.
func (c *Config) broken(err error) error {
	var list resolve.ErrorList
	if errors.As(err, &list) {
		var out []error
		for _, e := range list {
			out = append(out, c.at(e.Pos, c.word(e.Msg)))
		}
		return errors.Join(out...)
	}
	var bad syntax.Error
	if errors.As(err, &bad) {
		return c.at(bad.Pos, bad.Msg)
	}
	return &Error{File: c.File, Message: err.Error()}
}

func (c *Config) at(pos syntax.Position, text string) error {
	return &Error{File: c.File, Line: int(pos.Line), Column: int(pos.Col), Message: text}
}

func (c *Config) word(text string) string {
	name, ok := strings.CutPrefix(text, undefined)
	if !ok || c.Unknown == nil {
		return text
	}
	name, _, _ = strings.Cut(name, " ")
	return c.Unknown(name)
}

// failed is an error with its place and its cause.
type failed struct {
	place *Error
	cause error
}

func (f failed) Error() string   { return f.place.Error() }
func (f failed) Unwrap() []error { return []error{f.place, f.cause} }

// located says where in the program an error arose: the innermost line of its own on the way.
func (r *run) located(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	e = &Error{File: r.File}
	cause := err
	for {
		e.Message = err.Error()
		var at *starlark.EvalError
		if !errors.As(err, &at) {
			break
		}
		for i := range at.CallStack {
			if pos := at.CallStack.At(i).Pos; pos.Filename() == r.File && pos.Line > 0 {
				e.Line, e.Column = int(pos.Line), int(pos.Col)
				break
			}
		}
		if err = at.Unwrap(); err == nil {
			break
		}
	}
	if r.stopped != nil {
		e.Message = r.stopped.Error()
		cause = r.stopped
	}
	return failed{e, cause}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
