// Package storetest is the contract kit of session stores: one call proves that a store keeps journals as sessions need
// them.
package storetest

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
)

// Run checks the store that open makes. open is called for each subtest and may return the same store again: every subtest
// uses ids of its own.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	t.Run("an unknown id is not found", func(t *testing.T) {
		_, err := open(t).Load(t.Context(), "unknown")
		require.ErrorIs(t, err, session.ErrNotFound)
	})
	t.Run("entries come back whole and in order", func(t *testing.T) {
		s := open(t)
		want := sample()
		require.NoError(t, s.Append(t.Context(), "order", want[0]))
		require.NoError(t, s.Append(t.Context(), "order", want[1:]...))
		got, err := s.Load(t.Context(), "order")
		require.NoError(t, err)
		require.Equal(t, text(t, want), text(t, got))
	})
	t.Run("appending nothing makes nothing", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Append(t.Context(), "empty"))
		_, err := s.Load(t.Context(), "empty")
		require.ErrorIs(t, err, session.ErrNotFound)
	})
	t.Run("a loaded journal is the reader's own", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Append(t.Context(), "own", sample()...))
		first, err := s.Load(t.Context(), "own")
		require.NoError(t, err)
		first[0] = session.Entry{Kind: "spoilt"}
		again, err := s.Load(t.Context(), "own")
		require.NoError(t, err)
		require.Equal(t, text(t, sample()), text(t, again))
	})
	t.Run("ids are listed in order", func(t *testing.T) {
		s := open(t)
		for _, id := range []string{"list.b", "list.a", "list.a.1"} {
			require.NoError(t, s.Append(t.Context(), id, sample()[0]))
		}
		ids, err := s.List(t.Context())
		require.NoError(t, err)
		require.IsIncreasing(t, ids)
		require.Subset(t, ids, []string{"list.a", "list.a.1", "list.b"})
	})
	t.Run("sessions append beside each other and lose nothing", func(t *testing.T) {
		s := open(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 50 {
					e := session.Entry{Kind: session.Kept, Owner: "o", Key: strconv.Itoa(n)}
					if err := s.Append(context.Background(), "many"+strconv.Itoa(i), e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for i := range 8 {
			got, err := s.Load(t.Context(), "many"+strconv.Itoa(i))
			require.NoError(t, err)
			require.Len(t, got, 50)
			for n, e := range got {
				require.Equal(t, strconv.Itoa(n), e.Key)
			}
		}
	})
}

// sample is an entry of every kind that a store need not understand.
func sample() []session.Entry {
	use := &message.Use{ID: "u", Name: "Tool", Args: json.RawMessage(`{"a":"ü \u0000 <b>"}`)}
	return []session.Entry{
		{Kind: session.Ordered, Names: []string{"b", "a"}, Parent: "p"},
		{Kind: session.Happened, Event: &message.Event{Kind: message.TurnStart, Message: message.Of(message.User, "line\nline")}},
		{Kind: session.Happened, Event: &message.Event{Kind: message.CallEnd, Step: 3, Use: use, Result: message.Fail("no")}},
		{Kind: session.Kept, Owner: "o", Key: "k", Data: []byte{0, 1, 255}},
		{Kind: session.Switched, Host: &session.Switches{Paused: map[string]bool{"M": true}, Allow: []string{}}},
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
