package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

// watched is a middleware that tells when it was closed.
func watched(closed *bool) middleware.Middleware {
	return with("Watched", middleware.Instance{Close: func(context.Context) error { *closed = true; return nil }})
}

func TestCloseInTheBodyOfTheTurnClosesWhenTheTurnEnds(t *testing.T) {
	closed := false
	s, err := session.New(t.Context(), options(t, script.New(script.Do("One", `{}`), script.Say("never")), withTools("Tools", echo("One", 0)), watched(&closed)))
	require.NoError(t, err)
	for e, err := range s.Prompt(t.Context(), session.Text("go")) {
		if e.Kind == message.CallEnd {
			require.NoError(t, s.Close(context.Background()))
			require.False(t, closed, "the turn is still there")
		}
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.True(t, closed)
	paired(t, s.Messages())
	require.NoError(t, s.Close(context.Background()))
}

func TestCloseFromElsewhereWaitsForTheTurn(t *testing.T) {
	began, closed, done := make(chan struct{}), false, make(chan struct{})
	slow := broken("Slow", func(ctx context.Context) (*message.Result, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s, err := session.New(t.Context(), options(t, script.New(script.Do("Slow", `{}`)), withTools("Tools", slow), watched(&closed)))
	require.NoError(t, err)
	go func() {
		defer close(done)
		for range s.Prompt(context.Background(), session.Text("go")) {
			continue
		}
	}()
	<-began
	require.NoError(t, s.Close(context.Background()))
	<-done
	require.NoError(t, s.Close(context.Background()))
	require.True(t, closed)
	paired(t, s.Messages())
}

func TestCloseGivesUpWaitingWithItsContext(t *testing.T) {
	began, free, closed, done := make(chan struct{}), make(chan struct{}), false, make(chan struct{})
	stuck := broken("Stuck", func(context.Context) (*message.Result, error) {
		close(began)
		<-free
		return message.Say("late"), nil
	})
	s, err := session.New(t.Context(), options(t, script.New(script.Do("Stuck", `{}`)), withTools("Tools", stuck), watched(&closed)))
	require.NoError(t, err)
	go func() {
		defer close(done)
		for range s.Prompt(context.Background(), session.Text("go")) {
			continue
		}
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Close(ctx), context.Canceled)
	close(free)
	<-done
	require.True(t, closed, "it closes all the same")
}
