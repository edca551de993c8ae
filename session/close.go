package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// turns lets one turn run at a time, and a closer wait for it. The zero value is idle.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	running bool
	// body says that the turn is in the body of its caller's range, where it can only go on when that returns.
	body    atomic.Bool
	waiting atomic.Bool
}

// begin takes the turn, unless one is running.
func (t *turns) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return false
	}
	t.running = true
	return true
}

func (t *turns) end() {
	t.mu.Lock()
	t.running = false
	t.mu.Unlock()
	t.wake()
}

// enter and leave frame the caller's body.
func (t *turns) enter() {
	t.body.Store(true)
	if t.waiting.Load() {
		t.wake()
	}
}

func (t *turns) leave() { t.body.Store(false) }

func (t *turns) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed.L != nil {
		t.changed.Broadcast()
	}
}

// wait returns when no turn runs, when the running one is in its caller's body, or when ctx ends.
func (t *turns) wait(ctx context.Context) (idle bool) {
	t.waiting.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.L = &t.mu
	stop := context.AfterFunc(ctx, t.wake)
	defer stop()
	for t.running && !t.body.Load() && ctx.Err() == nil {
		t.changed.Wait()
	}
	return !t.running
}

// Close ends the session: it cancels what runs, in the background too, awaits it, runs the end hooks and closes the chain
// in reverse. A session closes its children first. It is idempotent and joins the errors. While a turn is in the body of
// its caller's range, also when Close is called from there, the session closes as that turn ends and Close does not wait;
// when ctx ends first, Close returns its error and the session closes all the same.
func (s *Session) Close(ctx context.Context) error {
	s.closed.Store(true)
	s.cancel()
	if s.turn.wait(ctx) {
		return s.shut(ctx)
	}
	return ctx.Err()
}

// shut closes what a session holds, once. No turn runs.
func (s *Session) shut(ctx context.Context) error {
	s.closing.Do(func() {
		errs := []error{s.kids.close(ctx)}
		if s.started {
			s.chain.End(ctx)
		}
		errs = append(errs, s.chain.Close(ctx))
		if _, err := s.tree.settle(ctx); err != nil {
			errs = append(errs, err)
		}
		s.shutErr = errors.Join(errs...)
	})
	return s.shutErr
}

// rest ends a turn, and the session when it was closed meanwhile.
func (s *Session) rest(ctx context.Context) {
	s.turn.end()
	if s.closed.Load() {
		_ = s.shut(context.WithoutCancel(ctx)) // kept for the next Close
	}
}
