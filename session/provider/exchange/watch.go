package exchange

import (
	"context"
	"errors"
	"time"
)

// ErrSilent ends a request to a server that sends nothing for too long.
var ErrSilent = errors.New("nothing came for too long")

// Watch returns a context that ends, with ErrSilent, when touch was not called for idle (0 = 5 minutes). The caller calls
// stop.
func Watch(ctx context.Context, idle time.Duration) (watched context.Context, touch, stop func()) {
	if idle <= 0 {
		idle = 5 * time.Minute
	}
	watched, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(idle, func() { cancel(ErrSilent) })
	return watched, func() { t.Reset(idle) }, func() { t.Stop(); cancel(nil) }
}

// RetryAfter reads a Retry-After header, in seconds or as a date; 0 = it says nothing.
func RetryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if s, err := time.ParseDuration(header + "s"); err == nil {
		return max(s, 0)
	}
	if at, err := time.Parse(time.RFC1123, header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
