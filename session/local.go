package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// local is the Runtime of a turn in this process. Its methods run on the turn's goroutine; workers have one of their own
// that shares it.
type local struct {
	s      *Session
	ctx    context.Context // of this turn
	cancel context.CancelFunc
	judge  *middleware.Judge
	crew   crew

	out      func(message.Event, error) bool
	silent   bool // the caller left, or is leaving: nothing more is yielded; the turn's goroutine alone looks
	left     atomic.Bool
	panicked any

	step    middleware.Step
	req     middleware.Request
	pending []*message.Use // uses of the last reply that have no result in the transcript yet

	mu      sync.Mutex // guards what workers write
	calls   []*toolview.Call
	settled map[string]*message.Result // results of pending uses, when there are several
	only    *message.Result            // the same, when there is one
	usage   message.Usage              // of the turn and of the children that ended in it
	failed  error                      // the journal failed: the turn cannot go on
}

func (s *Session) newLocal(ctx context.Context, yield func(message.Event, error) bool) *local {
	rt := &local{s: s, out: yield, judge: s.chain.NewJudge(s.opt.GateBudget)}
	ctx = toolview.WithAsker(toolview.WithProgress(ctx, rt.progress), s.ask)
	rt.ctx, rt.cancel = context.WithCancel(ctx)
	// A session that closes ends its turn.
	rt.crew.stop = context.AfterFunc(s.ctx, rt.cancel)
	return rt
}

// finish leaves the session fit for the next turn, however this one ended.
func (rt *local) finish() {
	rt.cancel()
	rt.crew.stop()
	rt.settle()
	rt.crew.close()
	rt.judge.Close()
	if rt.panicked != nil {
		panic(rt.panicked)
	}
}

// settle gives every pending use its one result and records them.
func (rt *local) settle() {
	if len(rt.pending) == 0 {
		return
	}
	results := make([]*message.Result, len(rt.pending))
	for i, u := range rt.pending {
		if results[i] = rt.resultOf(u.ID); results[i] == nil {
			results[i] = message.Fail("Cancelled: the turn ended before this call had a result.")
			results[i].UseID = u.ID
			rt.record(message.Event{Kind: message.CallEnd, Step: rt.step.N, Use: u, Result: results[i]})
		}
	}
	rt.append(transcript(results))
	rt.pending = nil
}

func (rt *local) resultOf(id string) *message.Result {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.only != nil && rt.only.UseID == id {
		return rt.only
	}
	return rt.settled[id]
}

// end yields the end of the turn, or its error.
func (rt *local) end(err error) {
	rt.notices() // children that ended in the background count
	e := message.Event{Kind: message.TurnEnd, Step: rt.step.N, Reason: reason(err)}
	if err != nil {
		e.Text = err.Error()
	}
	rt.mu.Lock()
	if rt.usage != (message.Usage{}) {
		spent := rt.usage
		e.Usage = &spent
	}
	rt.mu.Unlock()
	rt.Emit(e)
	if err != nil && !errors.Is(err, ErrLeft) {
		rt.yield(message.Event{}, err)
	}
}

// yield hands one event to the caller. A panic of the caller is kept until the turn is in order, and nothing more is
// yielded; it must not be taken for a panic of the middleware in whose hook it surfaced.
func (rt *local) yield(e message.Event, err error) {
	if rt.silent {
		return
	}
	rt.silent = true
	defer func() {
		if p := recover(); p != nil {
			rt.panicked = p
			rt.cancel()
		}
	}()
	rt.s.turn.enter()
	defer rt.s.turn.leave()
	if rt.out(e, err) {
		rt.silent = false
	} else {
		rt.left.Store(true)
		rt.cancel()
	}
}

// Emit records an event that the journal keeps and yields it.
func (rt *local) Emit(e message.Event) {
	e = rt.record(e)
	rt.notices()
	rt.yield(e, nil)
}

// notices yields what was posted from other goroutines since.
func (rt *local) notices() {
	for _, e := range rt.s.posted.drain() {
		if e.Session == "" {
			e.Session, e.Agent, e.Step = rt.s.id, rt.s.agent.Name, rt.step.N
		} else if e.Kind == message.ChildEnd {
			rt.spend(e.Usage)
		}
		rt.yield(e, nil)
	}
}

// spend counts usage into the turn's.
func (rt *local) spend(u *message.Usage) {
	if u == nil {
		return
	}
	rt.mu.Lock()
	rt.usage.Add(u)
	rt.mu.Unlock()
}

// record stamps an event and journals the kinds that a transcript is rebuilt from.
func (rt *local) record(e message.Event) message.Event {
	if e.Session != "" {
		return e // a child's, which its own journal has
	}
	e.Session, e.Agent = rt.s.id, rt.s.agent.Name
	switch e.Kind {
	case message.CallEnd:
		if e.Parent == "" {
			rt.keepResult(e.Result)
		}
	case message.TurnStart, message.Reply, message.TurnEnd:
	default:
		return e
	}
	if rt.s.journal.to != nil {
		kept := e
		if err := rt.s.journal.add(rt.ctx, Entry{Kind: Happened, Event: &kept}); err != nil {
			rt.fail(err)
		}
	}
	return e
}

// fail ends the turn: what happened could not be journalled.
func (rt *local) fail(err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.failed = err
}

func (rt *local) keepResult(r *message.Result) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if len(rt.pending) == 1 {
		rt.only = r
		return
	}
	if rt.settled == nil {
		rt.settled = map[string]*message.Result{}
	}
	rt.settled[r.UseID] = r
}

// append adds a message to the transcript.
func (rt *local) append(m *message.Message) {
	rt.s.mu.Lock()
	rt.s.history = append(rt.s.history, m)
	rt.s.mu.Unlock()
}

func (rt *local) NewID() string { return rt.s.opt.NewID() }

func (rt *local) Err() error {
	if rt.left.Load() {
		return ErrLeft
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.failed != nil {
		return rt.failed
	}
	if err := rt.ctx.Err(); err != nil {
		if cause := context.Cause(rt.ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("session: the turn was cancelled: %w", err)
	}
	return nil
}

// transcript is the message that carries results.
func transcript(results []*message.Result) *message.Message {
	m := &message.Message{Role: message.Tool, Parts: make([]message.Part, len(results))}
	for i, r := range results {
		m.Parts[i] = message.Part{Kind: message.ToolResult, Result: r}
	}
	return m
}
