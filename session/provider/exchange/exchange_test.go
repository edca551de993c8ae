package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
)

func failure(kind error, after time.Duration) error {
	return &message.Failure{Provider: "p", Kind: kind, RetryAfter: after}
}

// asks fails as often as there are errors, and answers then.
func asks(n *int, errs ...error) exchange.Ask {
	return func(context.Context, []*message.Message, middleware.Sink) (*message.Message, error) {
		*n++
		if *n <= len(errs) {
			return nil, errs[*n-1]
		}
		return message.Of(message.Assistant, "here"), nil
	}
}

func ignore(message.Event) {}

func TestWaitsGrowUpToTheirBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := exchange.Exchange{Retry: exchange.Policy{Attempts: 8, Base: time.Second, Most: 4 * time.Second}}
		var at []time.Duration
		start, n := time.Now(), 0
		_, err := x.Run(t.Context(), func(context.Context, []*message.Message, middleware.Sink) (*message.Message, error) {
			n++
			at = append(at, time.Since(start))
			return nil, failure(message.ErrOverload, 0)
		}, ignore)
		require.ErrorIs(t, err, message.ErrOverload)
		require.Len(t, at, 8)
		for i, most := range []time.Duration{1, 2, 4, 4, 4, 4, 4} {
			waited := at[i+1] - at[i]
			require.LessOrEqual(t, waited, most*time.Second)
			require.GreaterOrEqual(t, waited, most*time.Second*3/4, "a quarter at most is left to chance")
		}
	})
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, start := 0, time.Now()
		_, err := exchange.Exchange{}.Run(ctx, asks(&n, failure(message.ErrOverload, 30*time.Second)), ignore)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, 1, n)
	})
}

func TestOnlyWhatMayPassIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		err   error
		again bool
	}{
		{failure(message.ErrOverload, 0), true},
		{failure(message.ErrUnavailable, 0), true},
		{failure(message.ErrEmpty, 0), true},
		{failure(message.ErrAuth, 0), false},
		{failure(message.ErrBadRequest, 0), false},
		{failure(message.ErrContextLength, 0), false},
		{failure(message.ErrRefused, 0), false},
		{errors.New("a bug"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			_, err := exchange.Exchange{}.Run(t.Context(), asks(&n, c.err), ignore)
			if c.again {
				require.NoError(t, err)
				require.Equal(t, 2, n)
			} else {
				require.ErrorIs(t, err, c.err)
				require.Equal(t, 1, n)
			}
		})
	}
}

func TestAFailureAfterSomethingWasShownIsAnInterruption(t *testing.T) {
	for kind, shown := range map[message.EventKind]bool{message.TextDelta: true, message.ReasoningDelta: true, message.ArgsDelta: false} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			m, err := exchange.Exchange{Provider: "p"}.Run(t.Context(), func(_ context.Context, _ []*message.Message, sink middleware.Sink) (*message.Message, error) {
				if n++; n > 1 {
					return message.Of(message.Assistant, "here"), nil
				}
				sink(message.Event{Kind: kind, Text: "x"})
				return nil, failure(message.ErrUnavailable, 0)
			}, ignore)
			if shown {
				require.ErrorIs(t, err, message.ErrInterrupted)
				require.Equal(t, 1, n)
				return
			}
			require.NoError(t, err, "pieces of a call are not read by anyone")
			require.Equal(t, "here", m.Text())
		})
	}
}

func TestContinuedUsageIsCountedWhole(t *testing.T) {
	n := 0
	m, err := exchange.Exchange{}.Run(t.Context(), func(_ context.Context, more []*message.Message, _ middleware.Sink) (*message.Message, error) {
		n++
		m := message.Of(message.Assistant, fmt.Sprint(n))
		m.Usage = &message.Usage{Input: 10, Output: 1, CacheRead: 5}
		if n < 3 {
			m.Stop = "length"
		}
		if n > 1 {
			require.Equal(t, "12"[:n-1], more[0].Text(), "it continues all that there is")
		}
		return m, nil
	}, ignore)
	require.NoError(t, err)
	require.Equal(t, "123", m.Text())
	require.Equal(t, &message.Usage{Input: 30, Output: 3, CacheRead: 15}, m.Usage)
}

func TestASilentServerIsNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, touch, stop := exchange.Watch(t.Context(), time.Minute)
		defer stop()
		for range 3 {
			time.Sleep(50 * time.Second)
			touch()
		}
		require.NoError(t, ctx.Err(), "what still sends is left alone")
		time.Sleep(61 * time.Second)
		require.ErrorIs(t, context.Cause(ctx), exchange.ErrSilent)
	})
}

func TestRetryAfterReadsSecondsAndDates(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "soon": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, exchange.RetryAfter(header, now), header)
	}
}

func TestScrubTakesAKeyOutInEveryForm(t *testing.T) {
	const key = "k/ey+with=odd signs"
	for _, text := range []string{
		"before " + key + " after", "before k%2Fey%2Bwith%3Dodd+signs after", "before ay9leSt3aXRoPW9kZCBzaWducw== after",
		"before sk-abc***xyz after",
	} {
		got := exchange.Scrub(text, key)
		require.Equal(t, "before [key] after", got)
	}
	require.Equal(t, "as it is", exchange.Scrub("as it is", ""))
	require.Less(t, len(exchange.Scrub(strings.Repeat("x", 1<<20), key)), 1<<12)
}
