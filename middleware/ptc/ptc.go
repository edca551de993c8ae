// Package ptc lets a model call tools from a program: programmatic tool calling. Every call that the program makes is
// judged, approved and shown under its own name, and only what the program prints enters the context.
package ptc

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/program"
)

// Name is the middleware's key.
const Name = "PtcMiddleware"

// Tool is its tool.
const Tool = "RunCode"

//go:embed RunCode.md
var doc string

// Options bound each program; 0 = the default.
type Options struct {
	// Steps of the interpreter, 1,000,000; Calls of tools, 200; Output in bytes, 32 KiB.
	Steps, Calls, Output int
	// Time from the start to the last call, 10 minutes.
	Time time.Duration
}

type args struct {
	Code string `json:"code" alias:"script,program" doc:"the program" min:"1"`
}

// state is what a program of a session may take.
type state struct {
	limits program.Limits
	time   time.Duration
	now    func() time.Time
}

// New makes the middleware.
func New(o Options) middleware.Middleware {
	limits := program.Limits{Steps: cmp.Or(o.Steps, 1_000_000), Calls: cmp.Or(o.Calls, 200), Output: cmp.Or(o.Output, 32<<10)}
	return middleware.Middleware{
		Name: Name,
		Doc:  "Lets the model call tools from a program and read only what that prints.",
		Deferred: toolview.MustSet(toolview.NewFlow(toolview.Tool{
			Decl:  toolview.Decl{Name: Tool, Aliases: []string{"run_code", "execute_code", "code_execution"}, Family: "ptc", Private: true},
			Title: "Run a program", Doc: strings.TrimSpace(doc), Effects: toolview.Internal,
		}, run)),
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{State: &state{limits: limits, time: cmp.Or(o.Time, 10*time.Minute), now: env.Now}}, nil
		},
	}
}

func run(ctx context.Context, s *state, call *toolview.Call, in args, h toolview.Host) (*message.Result, error) {
	if s == nil {
		return nil, errors.New("ptc: the call has no state: its middleware was not opened")
	}
	view := call.View()
	out, err := program.Run(program.Config{
		File: "code", Source: in.Code, Functions: functions(call),
		Unknown: func(name string) string { return view.Unknown(name).Text() },
		Do:      func(requests []program.Request) ([]program.Reply, error) { return dispatch(call, h, requests) },
		Go:      s.until(ctx), Limits: s.limits,
	})
	text := out.Output + out.Text
	if err != nil {
		return message.Fail(text + err.Error()), nil
	}
	if text == "" {
		text = "(the program printed nothing)"
	}
	return message.Say(strings.TrimSuffix(text, "\n")), nil
}

// until says whether a program that starts now may go on. The clock is the session's.
func (s *state) until(ctx context.Context) func() error {
	if s.now == nil {
		return func() error { return context.Cause(ctx) }
	}
	end := s.now().Add(s.time)
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if s.now().After(end) {
			return fmt.Errorf("it ran longer than %v", s.time)
		}
		return nil
	}
}

// callable reports whether a program may call a tool: forwarders forward for models alone, and no program runs itself.
func callable(call *toolview.Call, e toolview.Entry) bool {
	return e.Tool.Unwrap == nil && e.Tool != call.Tool()
}

// functions are the tools of the view, and what finds and calls those whose names no program could write.
func functions(call *toolview.Call) []program.Function {
	out := []program.Function{
		{Name: "call", Params: []string{"name", "args"}},
		{Name: "help", Params: []string{"name"}, Here: func(raw json.RawMessage) (program.Reply, error) {
			return help(call, raw)
		}},
	}
	for e := range call.View().All() {
		if name := e.Tool.Name; callable(call, e) && program.Legal(name) && name != "call" && name != "help" {
			out = append(out, program.Function{Name: name, Open: true})
		}
	}
	return out
}

// dispatch makes the calls that a program waits for.
func dispatch(call *toolview.Call, h toolview.Host, requests []program.Request) ([]program.Reply, error) {
	replies := make([]program.Reply, len(requests))
	var inner []toolview.Inner
	var at []int
	for i, q := range requests {
		in := toolview.Inner{Name: q.Func, Args: q.Args}
		if q.Func == "call" {
			var c struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			}
			if err := json.Unmarshal(q.Args, &c); err != nil || c.Name == "" {
				replies[i] = program.Reply{Failed: true, Text: "give the tool's name, then a dict of its arguments"}
				continue
			}
			in = toolview.Inner{Name: c.Name, Args: c.Args}
			if len(in.Args) == 0 || string(in.Args) == "null" {
				in.Args = json.RawMessage("{}")
			}
		}
		if e, ok := call.View().Lookup(in.Name); ok && e.Tool == call.Tool() {
			replies[i] = program.Reply{Failed: true, Text: "a program cannot run another"}
			continue
		}
		inner, at = append(inner, in), append(at, i)
	}
	if len(inner) == 0 {
		return replies, nil
	}
	for k, r := range h.Dispatch(inner) {
		replies[at[k]] = reply(r)
	}
	return replies, nil
}

func reply(r *message.Result) program.Reply {
	if r == nil {
		return program.Reply{Failed: true, Text: "it returned nothing"}
	}
	out := program.Reply{Failed: r.Error}
	for _, p := range r.Parts {
		if p.Kind == message.Text {
			out.Text += p.Text
		} else {
			out.Text += "[" + string(p.Kind) + "]"
		}
	}
	if json.Valid(r.Structured) {
		out.Value = r.Structured
	}
	return out
}
