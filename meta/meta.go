// Package meta decides which middlewares, segment texts and policies a session has. It merges layers of booleans,
// key by key, and freezes the result together with the override texts into a State that never changes and never
// reads a disk again.
package meta

import (
	"encoding/json"
	"strconv"
)

// Kind says what a key switches.
type Kind uint8

const (
	// Segment keys choose between the built-in text (false, the default) and the override file (true).
	Segment Kind = iota + 1
	// Middleware keys open (true) or close (false) a middleware.
	Middleware
	// Policy keys are the few switches that are neither; see BuiltInSubagents.
	Policy
	// Foreign keys are what another harness knows and this build has no counterpart for. They only exist to be
	// answered better than "unknown".
	Foreign
)

// BuiltInSubagents is the policy key that removes the compiled-in agent definitions when it is false.
const BuiltInSubagents = "BuiltInSubagents"

func (k Kind) String() string {
	switch k {
	case Segment:
		return "segment"
	case Middleware:
		return "middleware"
	case Policy:
		return "policy"
	case Foreign:
		return "foreign"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Severity ranks a Diagnostic.
type Severity string

const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Origin is where something was written. Line and Column count from 1; 0 means unknown. The zero Origin is the
// build's own default.
type Origin struct {
	Layer, File  string
	Line, Column int
}

// String gives file:line:column as far as they are known, else the layer's name, else "default".
func (o Origin) String() string {
	switch {
	case o.File == "" && o.Layer == "":
		return "default"
	case o.File == "":
		return o.Layer
	case o.Line == 0:
		return o.File
	case o.Column == 0:
		return o.File + ":" + strconv.Itoa(o.Line)
	}
	return o.File + ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Column)
}

// compare orders by file, line and column.
func (o Origin) compare(p Origin) int {
	switch {
	case o.File != p.File:
		if o.File < p.File {
			return -1
		}
		return 1
	case o.Line != p.Line:
		return o.Line - p.Line
	}
	return o.Column - p.Column
}

// Diagnostic is one finding that does not stop a session. Code is stable and made for programs, Message and
// Suggestion are made for people. Its JSON is flat: severity, code, key, file, line, column, message, suggestion.
type Diagnostic struct {
	Severity            Severity
	Code, Key           string
	Origin              Origin
	Message, Suggestion string
}

type flatDiagnostic struct {
	Severity   Severity `json:"severity"`
	Code       string   `json:"code"`
	Key        string   `json:"key"`
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Column     int      `json:"column"`
	Message    string   `json:"message"`
	Suggestion string   `json:"suggestion"`
}

// MarshalJSON writes the flat form. The layer is not part of it.
func (d Diagnostic) MarshalJSON() ([]byte, error) {
	return json.Marshal(flatDiagnostic{
		d.Severity, d.Code, d.Key, d.Origin.File, d.Origin.Line, d.Origin.Column, d.Message, d.Suggestion,
	})
}

// UnmarshalJSON reads the flat form.
func (d *Diagnostic) UnmarshalJSON(b []byte) error {
	var f flatDiagnostic
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*d = Diagnostic{
		f.Severity, f.Code, f.Key, Origin{File: f.File, Line: f.Line, Column: f.Column}, f.Message, f.Suggestion,
	}
	return nil
}

// String is one line: origin, severity, message and what to do.
func (d Diagnostic) String() string {
	s := d.Origin.String() + ": " + string(d.Severity) + ": " + d.Message
	if d.Suggestion != "" {
		s += " (" + d.Suggestion + ")"
	}
	return s
}

// Error is one finding that stops session creation. Several come joined, in a fixed order.
type Error struct {
	Origin Origin
	Key    string // the dotted path, or the meta key; may be empty
	// Message says what was found, Suggestion what to write.
	Message, Suggestion string
}

func (e *Error) Error() string {
	s := e.Origin.String() + ": "
	if e.Key != "" {
		s += e.Key + ": "
	}
	s += e.Message
	if e.Suggestion != "" {
		s += "; " + e.Suggestion
	}
	return s
}

// Entry is one key as one layer sets it.
type Entry struct {
	Key    string
	Value  bool
	Origin Origin
}

// Layer is all that one layer says, in any order.
type Layer struct {
	Name    string
	Entries []Entry
}
