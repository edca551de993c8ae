package schema

import "strings"

// Error lists what is wrong with one call's arguments, in the order of the arguments' text.
type Error struct{ Problems []Problem }

// Problem is one thing to repair. Path names the argument as in `edits[2].old`; "" is the arguments as a whole.
// Found says what stands there and Want what to send instead.
type Problem struct{ Path, Found, Want string }

// Error returns text a model can act on, one line a problem.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("schema: the arguments do not fit:")
	for _, p := range e.Problems {
		b.WriteString("\n- ")
		b.WriteString(p.String())
	}
	return b.String()
}

// String returns the problem as one line.
func (p Problem) String() string {
	path := p.Path
	if path == "" {
		path = "(arguments)"
	}
	return path + ": found " + p.Found + "; send " + p.Want
}
