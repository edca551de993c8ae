// Package toolview holds tools and the one place where a name becomes a call. A Tool is a constant value; a Set is an
// immutable group of them, built once and shared by every session; a View is what one step of one session may see,
// find and call. A Call can be made by a View alone, so there is no second path that resolves a name.
package toolview

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview/schema"
)

// Tool is one thing that a model may call. Exactly one of Run, Flow and Unwrap is set.
type Tool struct {
	Decl
	Title, Doc string
	// Schema is the JSON Schema of the arguments, an object. New derives it.
	Schema  json.RawMessage
	Effects Effects
	// Subjects names what a call touches, for rules to judge; nil = nothing but its name.
	Subjects func(args json.RawMessage) ([]Subject, error)
	// Unsupported is why the tool cannot work now; "" = it can. A source publishes a new Set when it changes.
	Unsupported string
	// Finder marks a tool by which deferred tools are reached: it is there while a deferred tool is, whatever an
	// allow list says, and a deny of it turns deferred tools direct.
	Finder bool

	// Run is a leaf that may do anything. Its Go error means that the framework failed; what the model should
	// read is a Result. It may run beside other calls, also of the same tool.
	Run func(context.Context, *Call) (*message.Result, error)
	// Flow runs in the turn loop and does its I/O through Host alone.
	Flow func(context.Context, *Call, Host) (*message.Result, error)
	// Unwrap is a pure forwarder: the call is replaced by the inner one before any gate judges it.
	Unwrap func(args json.RawMessage) (Inner, error)

	compiled *schema.Schema
}

// Subject is one thing that a call touches.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	// Value is a command line, an absolute path, a host or a name, by Kind.
	Value string `json:"value"`
	// Same are further names of the very same thing: what is about one of them is about the subject.
	Same []string `json:"same,omitempty"`
	// Edit says that the call changes it, ReadOnly that it is known to only read. Both false: neither is known.
	Edit     bool `json:"edit,omitempty"`
	ReadOnly bool `json:"readonly,omitempty"`
	// Opaque says that what it does cannot be told from its value: no allow pattern covers it, while deny and ask
	// patterns still see it.
	Opaque bool `json:"opaque,omitempty"`
	// Within says that it is what a Command before it does: what allows that command allows this.
	Within bool `json:"within,omitempty"`
	// Also is what else the value stands for, as patterns in which `*` is what is decided only when it runs: without its
	// quotes, behind a wrapper, with a variable filled in. Rules that restrict see these too, rules that allow do not.
	Also []string `json:"also,omitempty"`
}

// SubjectKind says what a Subject's value is.
type SubjectKind string

const (
	Command SubjectKind = "command"
	Path    SubjectKind = "path"
	Domain  SubjectKind = "host"
	Name    SubjectKind = "name"
)

// Inner is the call that a forwarder or a flow makes.
type Inner struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Effects says what running a tool may do.
type Effects uint8

const (
	ReadOnly Effects = 1 << iota
	Edits
	Runs
	OpenWorld
	Destructive
	Idempotent
	// Internal touches nothing but the session itself.
	Internal
)

// Has reports whether all of want are set.
func (e Effects) Has(want Effects) bool { return e&want == want }

// Words are the effects' names in a fixed order.
func (e Effects) Words() []string {
	var out []string
	for i, w := range [...]string{"readonly", "edits", "runs", "openworld", "destructive", "idempotent", "internal"} {
		if e&(1<<i) != 0 {
			out = append(out, w)
		}
	}
	return out
}

func (e Effects) String() string { return strings.Join(e.Words(), " ") }

// Host is all that a Flow may reach. Its methods are called on the flow's own goroutine.
type Host interface {
	// Dispatch makes inner calls, each judged under its own name, and returns one result for each, in order.
	Dispatch([]Inner) []*message.Result
	// Delegate starts agents beside each other and returns one result for each, in order. Each start is a call of the
	// tool by which the session starts agents, and is judged as one.
	Delegate([]Task) []*message.Result
	// Spawn runs, continues or collects a child session.
	Spawn(Spawn) (*message.Result, error)
	// Ask puts questions to a person; without one it returns ErrNoAsker.
	Ask(Question) (Answer, error)
}

// Question is one to four questions for a person.
type Question struct {
	Questions []Item `json:"questions"`
}

// Item is one question with the answers that it offers.
type Item struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Option `json:"options"`
	Multiple bool     `json:"multiple,omitempty"`
}

// Option is one offered answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Answer holds, for each question in order, the labels or words that the person chose. Declined says that the person
// would not answer.
type Answer struct {
	Chosen   [][]string `json:"chosen,omitempty"`
	Declined bool       `json:"declined,omitempty"`
}

// ErrNoAsker is what Ask returns when nobody can be asked.
var ErrNoAsker = fmt.Errorf("toolview: nobody is there to answer a question")

// check reports what keeps a tool from being one, and compiles its schema.
func (t *Tool) check() error {
	t.fold()
	if !legalName(t.Name) {
		return fmt.Errorf("tool name %q: use 1 to 64 of a-z A-Z 0-9 _ -", t.Name)
	}
	if strings.TrimSpace(t.Doc) == "" {
		return fmt.Errorf("tool %s has no Doc", t.Name)
	}
	n := 0
	for _, set := range []bool{t.Run != nil, t.Flow != nil, t.Unwrap != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("tool %s sets %d of Run, Flow and Unwrap: exactly one is needed", t.Name, n)
	}
	// What the model is shown is what is checked, also when Schema was replaced after New.
	if t.compiled != nil && bytes.Equal(t.Schema, t.compiled.JSON()) {
		return nil
	}
	compiled, err := schema.Compile(t.Schema)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	t.compiled, t.Schema = compiled, compiled.JSON()
	return nil
}

func legalName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	return nameRunes(name, "")
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
