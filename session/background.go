package session

import (
	"context"
	"fmt"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// background starts a run that lives as long as the session and is collected by its id. The caller has begun the child's
// turn.
func (s *Session) background(ctx context.Context, k *child, prompt string, start message.Event) *message.Result {
	s.kids.mu.Lock()
	defer s.kids.mu.Unlock()
	if s.closed.Load() {
		k.stop(nil)
		k.stop = nil
		k.s.turn.end()
		return message.Fail(ErrClosed.Error())
	}
	done := make(chan struct{})
	k.done, k.result = done, nil
	s.kids.wg.Go(func() {
		end := k.run(ctx, prompt, start, func(e message.Event) {
			// Who watches hears how far it is; each of its words would be too many to keep.
			if e.Kind == message.Progress {
				if e.Parent == "" {
					e.Parent = start.Parent
				}
				s.posted.add(e)
			}
		})
		s.kids.mu.Lock()
		k.result = end.Result
		s.kids.mu.Unlock()
		s.posted.add(end)
		close(done)
	})
	return message.Say(fmt.Sprintf("Started %s in the background as agent run %s.", k.name, k.s.id))
}

// collect returns a background child's result.
func (s *Session) collect(ctx context.Context, sp toolview.Spawn) (*message.Result, error) {
	k, err := s.kid(ctx, sp.Collect)
	if err != nil {
		return message.Fail(err.Error()), nil
	}
	s.kids.mu.Lock()
	done := k.done
	s.kids.mu.Unlock()
	if done == nil {
		return k.told(), nil
	}
	if sp.Wait {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-done:
		s.kids.mu.Lock()
		defer s.kids.mu.Unlock()
		return k.result, nil
	default:
		return message.Say(fmt.Sprintf("Agent run %s is still running.", sp.Collect)), nil
	}
}

// told is the result of a child that this process did not start in the background.
func (k *child) told() *message.Result {
	switch h := k.s.Messages(); {
	case !k.loaded:
		return message.Fail(fmt.Sprintf("agent run %s did not run in the background: its result is where it was called", k.s.id))
	case len(h) == 0 || h[len(h)-1].Role != message.Assistant:
		return message.Fail(fmt.Sprintf("agent run %s was interrupted before it had an answer, when the session ended: it can be continued", k.s.id))
	}
	return k.outcome(nil)
}
