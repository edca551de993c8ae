// Package program runs programs in Starlark that reach nothing but the functions they are given: no file, no network, no
// clock and no randomness. What a program asks of its functions leaves as batches of requests, so that calls made beside
// each other run beside each other, while the program itself takes one deterministic path on the caller's goroutine.
//
// The language is checked where it could take more than it is given: steps, memory, output and calls are bounded.
package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// MaxSource is how many bytes a program may have.
const MaxSource = 64 << 10

// Function is one that a program may call by its name.
type Function struct {
	Name string
	// Params are its parameters in the order in which they may be given without a name. More names may be given when
	// Open is set.
	Params []string
	Open   bool
	// Report says that the program is handed a report with `ok` and `text`, whether the call failed or not. Without it
	// the program is handed the value, and a failed call ends the program unless `attempt` made it.
	Report bool
	// Here answers at once, and is no request. Its error ends the program.
	Here func(args json.RawMessage) (Reply, error)
}

// Request is one call that a program waits for. Args is a JSON object.
type Request struct {
	Func string
	Args json.RawMessage
}

// Reply answers a request. Value is JSON; nil = Text is the value. Of a failed one Text says why.
type Reply struct {
	Value  json.RawMessage
	Text   string
	Failed bool
}

// Config is a program with what it may reach. Source, Do and, where Functions are none, nothing else is needed.
type Config struct {
	// File is what errors call the program.
	File, Source string
	Functions    []Function
	// Globals are names with JSON values.
	Globals map[string]json.RawMessage
	// Unknown words the error for a name that is not there; nil = the default.
	Unknown func(name string) string
	// Do answers a batch of requests, one reply for each. Its error ends the program.
	Do func([]Request) ([]Reply, error)
	// Go says, now and then, whether to go on; nil = always.
	Go func() error
	Limits
}

// Limits bound a run; 0 = the default.
type Limits struct {
	Steps  int // of the interpreter, 1,000,000
	Memory int // bytes that values take, roughly and all together, 64 MiB
	Output int // bytes of output that are kept, 64 KiB
	Calls  int // requests, 1,000
}

// Outcome is what a program came to. Of one that failed it is what it had printed.
type Outcome struct {
	// Output is what it printed.
	Output string
	// Value is the value of its last line as JSON when that is an expression, Text the same to read; both are empty when
	// there is none.
	Value json.RawMessage
	Text  string
	// Calls counts the requests.
	Calls int
}

// Error is what is wrong with a program, or went wrong in it.
type Error struct {
	File         string
	Line, Column int // 0 = it has no place
	Message      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// dialect allows what a short program wants. Recursion stays off: it could exhaust the stack of the whole process.
var dialect = syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// lastValue is a name that no program can write.
const lastValue = "="

// Legal reports whether a program could call a function of that name by it: it is an identifier, and not taken.
func Legal(name string) bool {
	if name == "" || starlark.Universe.Has(name) || own[name] {
		return false
	}
	e, err := dialect.ParseExpr("", name, 0)
	if err != nil {
		return false
	}
	id, ok := e.(*syntax.Ident)
	return ok && id.Name == name
}

// own are the names that this package gives every program.
var own = map[string]bool{"parallel": true, "pipeline": true, "attempt": true, "json": true}

// Check parses a program without running it. The error is an *Error, or several joined.
func Check(c Config) error {
	_, err := compile(&c, (&run{Config: c}).globals())
	return err
}

// compile parses a program and puts the guards into it.
func compile(c *Config, globals starlark.StringDict) (*starlark.Program, error) {
	if len(c.Source) > MaxSource {
		return nil, &Error{File: c.File, Message: fmt.Sprintf("it has %d bytes and may have %d", len(c.Source), MaxSource)}
	}
	file, err := dialect.Parse(c.File, c.Source, 0)
	if err != nil {
		return nil, c.broken(err)
	}
	if err := guard(c.File, file); err != nil {
		return nil, err
	}
	keepLast(file)
	p, err := starlark.FileProgram(file, globals.Has)
	if err != nil {
		return nil, c.broken(err)
	}
	return p, nil
}

// keepLast makes the value of a last line that is an expression a global.
func keepLast(f *syntax.File) {
	if len(f.Stmts) == 0 {
		return
	}
	last, ok := f.Stmts[len(f.Stmts)-1].(*syntax.ExprStmt)
	if !ok {
		return
	}
	at, _ := last.Span()
	f.Stmts[len(f.Stmts)-1] = &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: &syntax.Ident{NamePos: at, Name: lastValue}, RHS: last.X}
}

// Run runs a program to its end. The error is an *Error, or several joined; one of Do, Go or a Here is in its chain.
func Run(c Config) (Outcome, error) {
	r := &run{Config: c}
	r.Steps, r.Memory = cmp.Or(c.Steps, 1_000_000), cmp.Or(c.Memory, 64<<20)
	r.Output, r.Calls = cmp.Or(c.Output, 64<<10), cmp.Or(c.Calls, 1000)
	globals := r.globals()
	for name, raw := range c.Globals {
		v, err := r.decode(raw)
		if err != nil {
			return Outcome{}, &Error{File: c.File, Message: fmt.Sprintf("`%s`: %v", name, err)}
		}
		globals[name] = v
	}
	p, err := compile(&c, globals)
	if err != nil {
		return Outcome{}, err
	}
	s := r.strand("main", r.do)
	got, err := p.Init(s.thread, globals)
	s.account()
	out := Outcome{Output: r.out.String(), Calls: r.made}
	if err == nil {
		err = r.stopped
	}
	if err == nil {
		err = r.finish(got[lastValue], &out)
	}
	if err != nil {
		return out, r.located(err)
	}
	return out, nil
}

// finish makes the last value one to read. What is no JSON, such as a function, is shown as it is.
func (r *run) finish(v starlark.Value, out *Outcome) error {
	if v == nil || v == starlark.None {
		return nil
	}
	if _, err := r.measure(v); err != nil {
		return err
	}
	raw, err := r.encode(v)
	switch v := v.(type) {
	case starlark.String:
		out.Text = string(v)
	case *report:
		out.Text = v.text
	default:
		out.Text = string(raw)
	}
	if err != nil {
		raw, out.Text = nil, v.String()
	}
	out.Value, out.Text = raw, r.cut(out.Text)
	return nil
}

// cut holds a text to the limit of output.
func (r *run) cut(text string) string {
	if len(text) <= r.Output {
		return text
	}
	return strings.ToValidUTF8(text[:r.Output], "") + fmt.Sprintf("\n[cut: %d of %d bytes]", r.Output, len(text))
}

// errStopped ends strands whose program is over.
var errStopped = errors.New("the program is over")
