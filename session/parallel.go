package session

import (
	"golang.org/x/sync/errgroup"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// crew is the workers of a turn. They start when two or more calls run beside each other and live until the turn ends.
type crew struct {
	stop   func() bool // detaches the turn from the session's end
	jobs   chan func()
	events chan message.Event
	count  int
}

// crewSize bounds how many calls of a turn run at once.
const crewSize = 16

func (c *crew) close() {
	if c.jobs != nil {
		close(c.jobs)
	}
}

func (c *crew) hire(n int) {
	if c.jobs == nil {
		c.jobs, c.events = make(chan func()), make(chan message.Event, 4*crewSize)
	}
	for ; c.count < min(n, crewSize); c.count++ {
		go c.work()
	}
}

// work runs jobs until the turn ends. A job that ends its goroutine is survived by another worker.
func (c *crew) work() {
	clean := false
	defer func() {
		if !clean {
			go c.work()
		}
	}()
	for job := range c.jobs {
		job()
	}
	clean = true
}

// Parallel runs f on the crew and yields the workers' events here, on the turn's goroutine.
func (rt *local) Parallel(n int, f func(Runtime, int)) {
	rt.crew.hire(n)
	done := make(chan struct{}, n)
	next, finished := 0, 0
	// What was said before the last call finished is yielded before the step goes on.
	defer func() {
		for len(rt.crew.events) > 0 {
			rt.yield(<-rt.crew.events, nil)
		}
	}()
	for finished < n {
		var jobs chan func()
		var job func()
		if next < n {
			i := next
			jobs, job = rt.crew.jobs, func() {
				defer func() { done <- struct{}{} }()
				f(worker{rt}, i)
			}
		}
		select {
		case jobs <- job:
			next++
		case e := <-rt.crew.events:
			rt.yield(e, nil)
		case <-done:
			finished++
		}
	}
}

// worker is the Runtime of a call that runs beside others: its events are yielded by the turn's goroutine.
type worker struct{ *local }

// Emit hands an event to the turn's goroutine, which waits in Parallel.
func (w worker) Emit(e message.Event) { w.crew.events <- w.record(e) }

// Parallel of a flow within a parallel call runs on goroutines of its own: the crew may be busy with its callers.
func (w worker) Parallel(n int, f func(Runtime, int)) {
	var g errgroup.Group
	g.SetLimit(crewSize)
	for i := range n {
		g.Go(func() error { f(w, i); return nil })
	}
	// f has no error to return; Wait only waits.
	_ = g.Wait()
}

// Child runs a child whose events come out of this worker.
func (w worker) Child(r *Ready, sp toolview.Spawn) (*message.Result, error) {
	return w.s.spawn(w.ctx, w, r, sp)
}

// Child runs, continues or collects a child session.
func (rt *local) Child(r *Ready, sp toolview.Spawn) (*message.Result, error) {
	return rt.s.spawn(rt.ctx, rt, r, sp)
}

// progress is what a running call says, from any goroutine.
func (rt *local) progress(c *toolview.Call, text string) {
	rt.s.posted.add(message.Event{
		Kind: message.Progress, Owner: c.Owner(), Text: text, Use: &message.Use{ID: c.ID(), Name: c.Name()},
	})
}
