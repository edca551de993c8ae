package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

var said = wire.Reply{Text: "Grüße, this is <the> answer & 世界."}

func streamsText(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said)
	m, events, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Contains(t, []message.Role{"", message.Assistant}, m.Role)
	require.Equal(t, "end", m.Stop)
	require.NotEmpty(t, m.Model)
	require.NotEmpty(t, m.Text())
	require.Equal(t, m.Text(), texts(events, message.TextDelta), "what streamed in is the answer")
	if !s.Inexact {
		require.Equal(t, said.Text, m.Text())
	}
}

var three = wire.Reply{Calls: []wire.Call{
	{Name: "Echo", Args: `{"text":"a <b> \"c\" \\ é 世界"}`},
	{Name: "Echo", Args: `{"text":"second"}`},
	{Name: "Now", Args: `{}`},
}}

func makesCalls(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, three)
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Equal(t, "tool_use", m.Stop)
	uses := m.Uses()
	require.Len(t, uses, 3)
	ids := map[string]bool{}
	for i, u := range uses {
		require.Equal(t, three.Calls[i].Name, u.Name)
		require.JSONEq(t, three.Calls[i].Args, string(u.Args))
		require.NotEmpty(t, u.ID)
		ids[u.ID] = true
	}
	require.Len(t, ids, 3, "each call has an id of its own")
}

func leavesRequest(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said)
	r := request(p)
	before, err := json.Marshal([]any{r.Model, r.System, r.Messages, r.Tail})
	require.NoError(t, err)
	v, last := r.View, r.Messages[0]
	_, _, err = answer(t, p, r)
	require.NoError(t, err)
	after, err := json.Marshal([]any{r.Model, r.System, r.Messages, r.Tail})
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Same(t, v, r.View)
	require.Same(t, last, r.Messages[0])
}

func sinksOnCaller(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said)
	here, n := goroutine(), 0
	_, err := p.Model(t.Context(), request(p), func(message.Event) {
		n++
		require.Equal(t, here, goroutine())
	})
	require.NoError(t, err)
	require.Positive(t, n, "something streamed in")
}

func goroutine() string {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)]
	return string(bytes.Fields(b)[1])
}

func endsWithContext(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said, said)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := p.Model(ctx, request(p), func(message.Event) { t.Error("something was shown") })
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, m)
	if p.Server == nil {
		return
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	_, err = p.Model(ctx, request(p), func(message.Event) { cancel() })
	require.ErrorIs(t, err, context.Canceled, "also in the middle of an answer")
	require.Len(t, p.Server.Requests(), 1, "and it is not sent again")
}

func concurrent(t *testing.T, s Subject) {
	const sessions, steps = 8, 4
	var replies []wire.Reply
	for range sessions * steps {
		replies = append(replies, said)
	}
	p := s.Play(t, Tuning{}, replies...)
	shared := request(p)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			r := shared // half of them are one session's
			if i%2 == 0 {
				r = request(p)
			}
			for range steps {
				m, err := p.Model(t.Context(), r, func(message.Event) {})
				if err != nil || m.Text() == "" {
					t.Errorf("session %d: %v", i, err)
					return
				}
				r = grow(s, r, m)
			}
		})
	}
	wg.Wait()
}

func grow(s Subject, r *middleware.Request, m *message.Message) *middleware.Request {
	if s.Inexact {
		return r
	}
	return next(r, m, message.Of(message.User, strings.Repeat("more ", 3)))
}
