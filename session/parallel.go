package session

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// crew is the workers of a turn. They start when two or more calls run beside each other and live until the turn ends.
type crew struct {
	stop    func() bool // detaches the turn from the session's end
	batches chan *batch
	count   int
	batch   batch // of the step at hand
}

// crewSize bounds how many calls of a turn run at once.
const crewSize = 16

func (c *crew) close() {
	if c.batches != nil {
		close(c.batches)
	}
}

// hire makes sure that n workers are there, as far as the bound lets it, and says how many that are.
func (c *crew) hire(n int) int {
	if c.batches == nil {
		c.batches = make(chan *batch, crewSize)
		c.batch.news = make(chan struct{}, 1)
	}
	n = min(n, crewSize)
	for ; c.count < n; c.count++ {
		go c.work(nil)
	}
	return n
}

// work runs batches until the turn ends. A call that ends its goroutine is survived by another worker.
func (c *crew) work(b *batch) {
	clean := false
	defer func() {
		if !clean {
			go c.work(b)
		}
	}()
	if b != nil {
		b.run()
	}
	for b = range c.batches {
		b.run()
	}
	clean = true
}

// batch is the calls of one step: who runs which, what they say meanwhile, and how many are done. A turn uses one again
// and again.
type batch struct {
	rt   *local
	n    int
	f    func(Runtime, int)
	next atomic.Int32

	mu     sync.Mutex
	said   []message.Event
	done   int
	left   int           // workers that are still in run
	news   chan struct{} // something was said, or is done
	yields []message.Event
}

// run takes calls until none is left. A worker whose call ends its goroutine does not leave: its successor does.
func (b *batch) run() {
	for i := int(b.next.Add(1)) - 1; i < b.n; i = int(b.next.Add(1)) - 1 {
		b.one(i)
	}
	b.leave()
}

func (b *batch) one(i int) {
	defer func() {
		if p := recover(); p != nil {
			b.rt.fail(fmt.Errorf("session: a call failed outside its tool: panic: %v", p))
		}
		b.mu.Lock()
		b.done++
		b.mu.Unlock()
		b.tell()
	}()
	b.f(worker{b.rt, b}, i)
}

func (b *batch) leave() {
	b.mu.Lock()
	b.left--
	b.mu.Unlock()
	b.tell()
}

func (b *batch) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *batch) say(e message.Event) {
	b.mu.Lock()
	b.said = append(b.said, e)
	b.mu.Unlock()
	b.tell()
}

// Parallel runs f on the crew and yields the workers' events here, on the turn's goroutine.
func (rt *local) Parallel(n int, f func(Runtime, int)) {
	workers := rt.crew.hire(n)
	b := &rt.crew.batch
	b.rt, b.n, b.f, b.done, b.left = rt, n, f, 0, workers
	b.next.Store(0)
	for range workers {
		rt.crew.batches <- b
	}
	for over := false; !over; {
		<-b.news
		b.mu.Lock()
		b.said, b.yields = b.yields[:0], b.said
		// The batch is used again only when no worker looks at it any more.
		over = b.done == n && b.left == 0
		b.mu.Unlock()
		for i := range b.yields {
			rt.yield(b.yields[i], nil)
		}
	}
}

// worker is the Runtime of a call that runs beside others: its events are yielded by the turn's goroutine.
type worker struct {
	*local
	batch *batch
}

// Emit hands an event to the turn's goroutine, which waits in Parallel.
func (w worker) Emit(e message.Event) { w.batch.say(w.record(e)) }

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
