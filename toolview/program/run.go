package program

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// run is one program at work. All of it happens on one goroutine at a time.
type run struct {
	Config

	steps, spent, made int
	nested, strands    int
	out                strings.Builder
	dropped            int // bytes of output over the limit
	stopped            error
}

// strand is one path of a program: the main one, or one that runs beside others.
type strand struct {
	r      *run
	thread *starlark.Thread
	seen   uint64 // steps accounted for
	do     func([]Request) ([]Reply, error)
}

// quantum is after how many steps the run is looked at.
const quantum = 1000

const strandKey = "strand"

func (r *run) strand(name string, do func([]Request) ([]Reply, error)) *strand {
	s := &strand{r: r, do: do}
	s.thread = &starlark.Thread{Name: name, OnMaxSteps: func(*starlark.Thread) { s.tick() }}
	s.thread.SetLocal(strandKey, s)
	s.thread.SetMaxExecutionSteps(quantum)
	return s
}

func of(th *starlark.Thread) *strand { return th.Local(strandKey).(*strand) }

func (s *strand) account() {
	s.r.steps += int(s.thread.Steps - s.seen)
	s.seen = s.thread.Steps
}

func (s *strand) tick() {
	s.account()
	if s.r.steps > s.r.Steps {
		s.r.stop(fmt.Errorf("it took more than %d steps", s.r.Steps))
	}
	s.r.goOn()
	if err := s.r.stopped; err != nil {
		s.thread.Cancel(err.Error())
		return
	}
	s.thread.SetMaxExecutionSteps(s.thread.Steps + quantum)
}

// stop ends the program for a reason that it cannot catch.
func (r *run) stop(err error) error {
	if r.stopped == nil {
		r.stopped = err
	}
	return r.stopped
}

func (r *run) goOn() error {
	if r.stopped == nil && r.Go != nil {
		r.stopped = r.Go()
	}
	return r.stopped
}

// do sends the requests of all strands that wait.
func (r *run) do(requests []Request) ([]Reply, error) {
	if err := r.goOn(); err != nil {
		return nil, err
	}
	if r.made+len(requests) > r.Calls {
		return nil, r.stop(fmt.Errorf("it made more than %d calls", r.Calls))
	}
	r.made += len(requests)
	replies, err := r.Do(requests)
	if err == nil && len(replies) != len(requests) {
		err = fmt.Errorf("%d calls got %d replies", len(requests), len(replies))
	}
	if err != nil {
		return nil, r.stop(err)
	}
	return replies, r.goOn()
}

// globals are what a program finds: the functions, the guards, and what bounds the language's own.
func (r *run) globals() starlark.StringDict {
	out := starlark.StringDict{}
	for name := range r.Globals {
		out[name] = starlark.None
	}
	for name, f := range map[string]builtin{
		"parallel": r.parallel, "pipeline": r.pipeline, "attempt": r.attempt,
		guardDot: r.dot, guardCopy: r.copied, guardPlus: r.binary(syntax.PLUS), guardTimes: r.binary(syntax.STAR),
		guardMod: r.binary(syntax.PERCENT), guardOr: r.binary(syntax.PIPE), guardShift: r.binary(syntax.LTLT),
		"print": r.print, "range": r.ranged,
	} {
		out[name] = starlark.NewBuiltin(name, f)
	}
	for _, name := range []string{"str", "repr"} {
		out[name] = r.bounded(name, r.shown)
	}
	for _, name := range []string{"list", "tuple", "sorted", "reversed", "zip", "enumerate", "dict", "set", "bytes"} {
		out[name] = r.bounded(name, nil)
	}
	out["json"] = r.json()
	for _, f := range r.Functions {
		out[f.Name] = starlark.NewBuiltin(f.Name, r.function(f))
	}
	return out
}

type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// function makes a request of each call, or answers it here.
func (r *run) function(f Function) builtin {
	return func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
		raw, err := r.arguments(&f, args, named)
		if err != nil {
			return nil, err
		}
		if f.Here != nil {
			reply, err := f.Here(raw)
			if err != nil {
				return nil, r.stop(err)
			}
			return r.value(&f, reply)
		}
		replies, err := of(th).do([]Request{{Func: f.Name, Args: raw}})
		if err != nil {
			return nil, err
		}
		return r.value(&f, replies[0])
	}
}

// arguments makes a JSON object of a call's arguments.
func (r *run) arguments(f *Function, args starlark.Tuple, named []starlark.Tuple) (json.RawMessage, error) {
	if len(args) > len(f.Params) {
		if len(f.Params) == 0 {
			return nil, fmt.Errorf("%s: give the arguments by name", f.Name)
		}
		return nil, fmt.Errorf("%s: takes %d arguments without a name and got %d", f.Name, len(f.Params), len(args))
	}
	d := starlark.NewDict(len(args) + len(named))
	set := func(name starlark.String, v starlark.Value) error {
		if _, twice, _ := d.Get(name); twice {
			return fmt.Errorf("%s: got two values for %s", f.Name, string(name))
		}
		return d.SetKey(name, v)
	}
	for i, a := range args {
		if err := set(starlark.String(f.Params[i]), a); err != nil {
			return nil, err
		}
	}
	for _, pair := range named {
		name := pair[0].(starlark.String)
		if !f.Open && !contains(f.Params, string(name)) {
			return nil, fmt.Errorf("%s: has no argument %s; it takes %s", f.Name, string(name), strings.Join(f.Params, ", "))
		}
		if err := set(name, pair[1]); err != nil {
			return nil, err
		}
	}
	if _, err := r.measure(d); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	raw, err := r.encode(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return raw, nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// value makes what the program is handed of a reply.
func (r *run) value(f *Function, reply Reply) (starlark.Value, error) {
	if err := r.charge(len(reply.Text)); err != nil {
		return nil, err
	}
	var v starlark.Value = starlark.String(reply.Text)
	if len(reply.Value) > 0 {
		var err error
		if v, err = r.decode(reply.Value); err != nil {
			return nil, err
		}
	}
	switch {
	case f.Report:
		return &report{ok: !reply.Failed, text: reply.Text, value: v}, nil
	case reply.Failed:
		return nil, fmt.Errorf("%s: %s", f.Name, reply.Text)
	}
	return v, nil
}

// attempt calls a function and reports its failure instead of ending the program. What ends the program for a reason
// of its own, such as a limit, ends it here too.
func (r *run) attempt(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("attempt: give the function that is to be called, then its arguments")
	}
	v, err := starlark.Call(th, args[0], args[1:], named)
	switch {
	case r.stopped != nil:
		return nil, r.stopped
	case err != nil:
		return &report{text: r.located(err).Error(), value: starlark.None}, nil
	}
	if _, err := r.measure(v); err != nil {
		return nil, err
	}
	text, ok := starlark.AsString(v)
	if !ok {
		text = v.String()
	}
	return &report{ok: true, text: text, value: v}, nil
}

// print keeps output up to the limit and counts what is over it.
func (r *run) print(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	if len(named) > 0 {
		return nil, fmt.Errorf("print: takes no named arguments")
	}
	for i, a := range args {
		if _, err := r.measure(a); err != nil {
			return nil, err
		}
		text, ok := starlark.AsString(a)
		if !ok {
			text = a.String()
		}
		if i > 0 {
			text = " " + text
		}
		r.say(text)
	}
	r.say("\n")
	return starlark.None, nil
}

func (r *run) say(text string) {
	if room := r.Output - r.out.Len(); r.dropped > 0 || len(text) > room {
		if r.dropped == 0 {
			r.out.WriteString(strings.ToValidUTF8(text[:max(room, 0)], ""))
			r.out.WriteString(fmt.Sprintf("\n[the rest is cut: a program may print %d bytes]\n", r.Output))
		}
		r.dropped += len(text)
		return
	}
	r.out.WriteString(text)
}
