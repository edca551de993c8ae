package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/metaharness/peri/prompt/message"
)

// Prompt takes one turn and yields its events on the caller's goroutine. Leaving the range, or ending ctx, cancels the
// turn; on every path each use of the model has its one result in the transcript. An error is yielded last, once.
func (s *Session) Prompt(ctx context.Context, in Input) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		if !s.turn.begin() {
			yield(message.Event{}, ErrBusy)
			return
		}
		defer s.rest(ctx)
		if s.closed.Load() {
			yield(message.Event{}, ErrClosed)
			return
		}
		s.take(ctx, in, yield)
	}
}

// take runs one turn; the caller holds s.turn.
func (s *Session) take(ctx context.Context, in Input, yield func(message.Event, error) bool) error {
	rt := s.newLocal(ctx, yield)
	defer rt.finish()
	var over Runtime = rt
	if s.wrap != nil {
		over = s.wrap(rt)
	}
	err := Run(over, in)
	rt.end(err)
	return err
}

// Errors that end a turn.
var (
	// ErrLimit ends a turn that took as many steps as it may.
	ErrLimit = errors.New("session: the turn took as many steps as it may")
	// ErrLeft ends a turn whose caller left the range.
	ErrLeft = errors.New("session: the caller left the turn")
	// errStopped ends a child's turn that the host cancelled.
	errStopped = errors.New("the host cancelled this agent run")
)

// reason is what TurnEnd says of an error.
func reason(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, ErrLimit):
		return "limit"
	case errors.Is(err, ErrLeft), errors.Is(err, errStopped), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "failed"
}

// refused wraps the error of a prompt hook.
func refused(err error) error { return fmt.Errorf("session: the prompt was refused: %w", err) }
