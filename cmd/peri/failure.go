package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/metaharness/peri/meta"
)

// hinted is an error with a line of what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func hint(err error, text string) error { return hinted{err, text} }

// misuse marks an error of the command line.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func usage(err error) error { return misuse{err} }

func isUsage(err error) bool {
	var m misuse
	return errors.As(err, &m)
}

// errNo ends a command whose output already is the answer no.
var errNo = errors.New("no")

// flatten takes joined errors apart, wherever in the chain they were joined, so that each gets a line of its own.
func flatten(err error) []error {
	for at := err; at != nil; at = errors.Unwrap(at) {
		if many, ok := at.(interface{ Unwrap() []error }); ok {
			var out []error
			for _, e := range many.Unwrap() {
				out = append(out, flatten(e)...)
			}
			return out
		}
	}
	var placed *meta.Error
	if errors.As(err, &placed) {
		return []error{placed}
	}
	return []error{err}
}

// flatError is one error as JSON.
type flatError struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Key        string `json:"key,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// report tells why the command failed: a line for each error, or one object with --json.
func (p *program) report(err error) {
	if errors.Is(err, errNo) {
		return
	}
	var h hinted
	errors.As(err, &h)
	if !p.json {
		for _, e := range flatten(err) {
			fmt.Fprintln(p.err, "peri: "+printable(e.Error()))
		}
		if h.hint != "" {
			fmt.Fprintln(p.err, "hint: "+h.hint)
		}
		return
	}
	out := struct {
		Version string      `json:"version"`
		Errors  []flatError `json:"errors"`
		Hint    string      `json:"hint,omitempty"`
	}{Version: "peri.error/v1", Hint: h.hint}
	for _, e := range flatten(err) {
		f := flatError{Message: e.Error()}
		var placed *meta.Error
		if errors.As(e, &placed) {
			o := placed.Origin
			f = flatError{o.File, o.Line, o.Column, placed.Key, placed.Message, placed.Suggestion}
		}
		out.Errors = append(out.Errors, f)
	}
	b, err := json.Marshal(out)
	if err != nil {
		fmt.Fprintf(p.err, "peri: %v\n", err)
		return
	}
	fmt.Fprintf(p.err, "%s\n", b)
}

// warn writes diagnostics, one a line.
func (p *program) warn(all []meta.Diagnostic) {
	for _, d := range all {
		fmt.Fprintln(p.err, "peri: "+printable(d.String()))
	}
}
