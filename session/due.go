package session

import (
	"context"
	"time"

	"github.com/metaharness/peri/prompt/message"
)

// recheck bounds one wait for the clock: that of a machine which slept has moved meanwhile.
const recheck = time.Minute

// Due waits until a schedule of the session is due and returns its prompt, which the host takes with Prompt or leaves. It
// starts no turn, and between its calls nothing runs: what is due while a turn runs is returned by the next call. A host
// that calls it says so in Options.Schedules. It ends with ErrClosed when the session closes, or with ctx.
func (s *Session) Due(ctx context.Context) (Input, error) {
	for {
		woken := s.waking.wait() // before looking, so that nothing is missed
		if s.closed.Load() {
			return Input{}, ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return Input{}, err
		}
		_, _, policy := s.snapshot()
		now := s.opt.Now()
		owner, prompt, next := s.chain.Due(now, policy.Paused)
		if prompt != "" {
			return Input{Parts: []message.Part{{Kind: message.Text, Text: prompt}}, Owner: owner}, nil
		}
		timer := time.NewTimer(untilNext(now, next))
		select {
		case <-ctx.Done():
		case <-s.ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func untilNext(now, next time.Time) time.Duration {
	if next.IsZero() {
		return recheck
	}
	return min(next.Sub(now), recheck)
}
