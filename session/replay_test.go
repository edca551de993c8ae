package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// tape is what a runtime answered, in the order of the calls of each loop goroutine.
type tape struct {
	mu      sync.Mutex
	answers map[string][]json.RawMessage // by track and method
	events  []message.Event
	play    bool
}

func (p *tape) put(key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[key] = append(p.answers[key], b)
}

func (p *tape) take(key string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers[key]) == 0 {
		panic("the loop asked more than was recorded: " + key)
	}
	if err := json.Unmarshal(p.answers[key][0], v); err != nil {
		panic(err)
	}
	p.answers[key] = p.answers[key][1:]
}

// through records what f answers, or plays it; either way the value has gone through JSON.
func through[T any](r *taped, method string, f func() (T, error)) (T, error) {
	key := r.track + method
	type answer struct {
		Value T      `json:"value"`
		Err   string `json:"err,omitempty"`
	}
	var a answer
	if r.tape.play {
		r.tape.take(key, &a)
	} else {
		v, err := f()
		a.Value = v
		if err != nil {
			return v, err
		}
		r.tape.put(key, a)
		r.tape.copy(&a)
	}
	return a.Value, nil
}

// copy sends a value through JSON and back.
func (p *tape) copy(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fresh := reflect.New(reflect.TypeOf(v).Elem())
	if err := json.Unmarshal(b, fresh.Interface()); err != nil {
		panic(err)
	}
	reflect.ValueOf(v).Elem().Set(fresh.Elem())
}

// taped is a runtime all of whose values go through JSON, so that nothing but plain data crosses the seam. On a playing
// tape there is no runtime below it.
type taped struct {
	session.Runtime
	tape  *tape
	track string
}

func (r *taped) Input(in session.Input) (session.Input, error) {
	return through(r, "input", func() (session.Input, error) { return r.Runtime.Input(in) })
}

func (r *taped) Prepare(n int) (*session.Step, error) {
	return through(r, "prepare", func() (*session.Step, error) { return r.Runtime.Prepare(n) })
}

func (r *taped) Model(s *session.Step) (*message.Message, error) {
	return through(r, "model", func() (*message.Message, error) { return r.Runtime.Model(s) })
}

func (r *taped) Judge(s *session.Step, by *session.Ready, uses []*message.Use, out []session.Ready) {
	got, err := through(r, "judge", func() ([]session.Ready, error) {
		r.Runtime.Judge(s, by, uses, out)
		return out, nil
	})
	if err != nil {
		panic(err)
	}
	copy(out, got)
}

func (r *taped) Decide(asks []*session.Ready) ([]session.Approval, error) {
	return through(r, "decide", func() ([]session.Approval, error) { return r.Runtime.Decide(asks) })
}

func (r *taped) Tool(s *session.Step, q *session.Ready) (*message.Result, error) {
	return through(r, "tool", func() (*message.Result, error) { return r.Runtime.Tool(s, q) })
}

// Flow runs again on a replay, as a workflow of a durable engine does: its I/O is what its host answers.
func (r *taped) Flow(s *session.Step, q *session.Ready, h toolview.Host) (*message.Result, error) {
	if r.tape.play {
		return both(h)
	}
	return through(r, "flow", func() (*message.Result, error) { return r.Runtime.Flow(s, q, h) })
}

func (r *taped) Starts(tasks []toolview.Task) ([]toolview.Inner, error) {
	return through(r, "starts", func() ([]toolview.Inner, error) { return r.Runtime.Starts(tasks) })
}

func (r *taped) Child(q *session.Ready, sp toolview.Spawn) (*message.Result, error) {
	return through(r, "child", func() (*message.Result, error) { return r.Runtime.Child(q, sp) })
}

func (r *taped) Parallel(n int, f func(session.Runtime, int)) {
	if r.tape.play {
		for i := range n {
			f(&taped{tape: r.tape, track: r.track + string(rune('a'+i))}, i)
		}
		return
	}
	r.Runtime.Parallel(n, func(rt session.Runtime, i int) {
		f(&taped{Runtime: rt, tape: r.tape, track: r.track + string(rune('a'+i))}, i)
	})
}

func (r *taped) End(n int, results []*message.Result) (bool, error) {
	return through(r, "end", func() (bool, error) { return r.Runtime.End(n, results) })
}

func (r *taped) Err() error {
	_, err := through(r, "err", func() (bool, error) { return true, r.Runtime.Err() })
	return err
}

func (r *taped) Emit(e message.Event) {
	r.tape.copy(&e)
	r.tape.mu.Lock()
	r.tape.events = append(r.tape.events, e)
	r.tape.mu.Unlock()
	if !r.tape.play {
		r.Runtime.Emit(e)
	}
}

// both makes two inner calls.
func both(h toolview.Host) (*message.Result, error) {
	rs := h.Dispatch([]toolview.Inner{{Name: "One", Args: json.RawMessage(`{"text":"x"}`)}, {Name: "Two", Args: json.RawMessage(`{"text":"y"}`)}})
	return message.Say(rs[0].Text() + "+" + rs[1].Text()), nil
}

// recorded runs a turn with every kind of call over the taped runtime.
func recorded(t *testing.T) (*tape, *session.Session, session.Options) {
	t.Helper()
	flow := toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Both"}, Doc: "Makes two inner calls."},
		func(_ context.Context, _ any, _ *toolview.Call, _ empty, h toolview.Host) (*message.Result, error) {
			return both(h)
		})
	ask := gate("Gate", func(c *toolview.Call) middleware.Verdict {
		return middleware.Verdict{Decision: middleware.Ask, Mode: true, Reason: "who knows " + c.Name()}
	})
	o := options(t, script.New(
		script.Do("One", `{"text":"a"}`),
		script.Do("Exec", `{"name":"Two","arguments":{"text":"b"}}`, "One", `{"text":"c"}`, "Gone", `{}`),
		script.Do("Both", `{}`),
		script.Say("done")),
		withTools("Tools", echo("One", 0), flow), withDeferred("More", echo("Two", 0)), ask, finder())
	o.Approver = &approver{allow: true}
	s := open(t, o)
	p := &tape{answers: map[string][]json.RawMessage{}}
	session.Wrap(s, func(rt session.Runtime) session.Runtime { return &taped{Runtime: rt, tape: p} })
	turn(t, s, "go")
	return p, s, o
}

func TestLoopRunsOverARuntimeThatRoundTripsEveryValueThroughJSON(t *testing.T) {
	_, s, _ := recorded(t)
	paired(t, s.Messages())
	require.Equal(t, []string{"One:x+Two:y"}, results(s))
	require.Equal(t, "done", s.Messages()[len(s.Messages())-1].Text())
}

func TestRecordedRunReplaysToTheSameJournal(t *testing.T) {
	p, s, o := recorded(t)
	replayed := &tape{answers: p.answers, play: true}
	require.NoError(t, session.Run(&taped{tape: replayed}, session.Text("go")))
	require.NotEmpty(t, replayed.events)
	require.Equal(t, plain(t, sortedByCall(p.events)), plain(t, sortedByCall(replayed.events)))

	entries, err := o.Store.Load(t.Context(), s.ID())
	require.NoError(t, err)
	var journalled []string
	for _, e := range entries {
		if e.Event != nil && e.Event.Kind == message.CallEnd {
			journalled = append(journalled, e.Event.Use.ID+" "+e.Event.Result.Text())
		}
	}
	var ended []string
	for _, e := range replayed.events {
		if e.Kind == message.CallEnd {
			ended = append(ended, e.Use.ID+" "+e.Result.Text())
		}
	}
	require.ElementsMatch(t, journalled, ended)
}

// sortedByCall orders the events of calls that ran beside each other.
func sortedByCall(events []message.Event) []message.Event {
	out := append([]message.Event(nil), events...)
	slices.SortStableFunc(out, func(a, b message.Event) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Use.ID, b.Use.ID))
	})
	return out
}
