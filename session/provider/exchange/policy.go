package exchange

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/metaharness/peri/prompt/message"
)

// Policy says how often and how long after a request is sent again. The zero value is its defaults.
type Policy struct {
	// Attempts is how often a request is sent in all; 0 = 5.
	Attempts int
	// Base is the first wait, doubled each time up to Most; 0 = 500 ms and 30 s. A quarter of it is left to chance.
	Base, Most time.Duration
	// Patience is the longest Retry-After that is waited for; a longer one ends the request. 0 = 1 minute.
	Patience time.Duration
	// Wait sleeps; nil = a timer. It returns when ctx ends.
	Wait func(ctx context.Context, d time.Duration) error
}

func (p Policy) withDefaults() Policy {
	if p.Attempts <= 0 {
		p.Attempts = 5
	}
	if p.Base <= 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Most <= 0 {
		p.Most = 30 * time.Second
	}
	if p.Patience <= 0 {
		p.Patience = time.Minute
	}
	if p.Wait == nil {
		p.Wait = wait
	}
	return p
}

// delay is how long to wait after the n-th failure (0 = the first); ok is false for one that waiting does not mend.
func (p Policy) delay(n int, err error) (d time.Duration, ok bool) {
	if !passing(err) {
		return 0, false
	}
	d = min(p.Base<<min(n, 20), p.Most)
	d -= time.Duration(rand.Int64N(int64(d)/4 + 1))
	var f *message.Failure
	if errors.As(err, &f) && f.RetryAfter > 0 {
		if f.RetryAfter > p.Patience {
			return 0, false
		}
		d = max(d, f.RetryAfter)
	}
	return d, true
}

// passing reports whether a failure may be gone the next time.
func passing(err error) bool {
	for _, kind := range []error{message.ErrOverload, message.ErrUnavailable, message.ErrInterrupted, message.ErrEmpty} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
