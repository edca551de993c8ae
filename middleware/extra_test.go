package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// folder brings one extra, which is its policy.
func folder(name, policy string) middleware.Middleware {
	m := named(name)
	m.Policy = json.RawMessage(policy)
	m.Extras = func(p json.RawMessage) ([]toolview.Extra, error) {
		return []toolview.Extra{{Kind: "hooks", Value: p}, {Kind: "other"}}, nil
	}
	return m
}

// taker notes the hooks that others bring, of a session and of every child.
func taker(got *[]toolview.Extra) middleware.Middleware {
	m := named("Taker")
	m.Open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		*got = env.Extras("hooks")
		return &middleware.Instance{Child: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			*got = env.Extras("hooks")
			return &middleware.Instance{}, nil
		}}, nil
	}
	return m
}

func TestAMiddlewareBringsWhatThoseBehindItRunAndTakesItAlongWhenClosed(t *testing.T) {
	var got []toolview.Extra
	s := suite(t, folder("First", `"1"`), taker(&got), folder("Last", `"2"`))
	open := func(o middleware.Opening) {
		c, err := s.Open(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, c.Close(t.Context()))
	}
	open(middleware.Opening{State: state(t, s, nil)})
	require.Equal(t, []toolview.Extra{{Kind: "hooks", Value: json.RawMessage(`"1"`), Owner: "First"}}, got, "what stands behind brings nothing")

	open(middleware.Opening{
		State: state(t, s, nil), Only: map[string]bool{"First": true, "Taker": true},
		Policies: map[string]json.RawMessage{"First": json.RawMessage(`"as it was"`)},
	})
	require.Equal(t, `"as it was"`, string(got[0].Value), "a resumed session has what was frozen")

	open(middleware.Opening{State: state(t, s, map[string]bool{"First": false})})
	require.Empty(t, got)
}

func TestWhatAMiddlewareCannotBringFailsTheSessionAndClosesWhatWasOpen(t *testing.T) {
	var log []string
	broken := folder("Broken", `"1"`)
	broken.Extras = func(json.RawMessage) ([]toolview.Extra, error) { return nil, errors.New("a torn policy") }
	s := suite(t, logged(&log, "Before", nil, nil), broken)
	_, err := s.Open(t.Context(), middleware.Opening{State: state(t, s, nil)})
	require.ErrorContains(t, err, "Broken")
	require.ErrorContains(t, err, "a torn policy")
	require.Equal(t, []string{"open Before", "close Before"}, log)
}

func TestAnAgentThatBringsWhatCouldStopACallNeedsSomebodyWhoRunsIt(t *testing.T) {
	brings := func(needed bool) middleware.Env {
		x := toolview.Extra{Kind: "hooks", Value: json.RawMessage(`[]`), Needed: needed}
		return middleware.Env{Agent: middleware.Agent{Name: "scout", Depth: 1, Extras: []toolview.Extra{x}}}
	}
	var got []toolview.Extra
	k, err := chain(t, taker(&got)).Child(t.Context(), brings(true), nil)
	require.NoError(t, err)
	require.NoError(t, k.Close(t.Context()))
	require.Len(t, got, 1)

	_, err = chain(t, named("Plain")).Child(t.Context(), brings(true), nil)
	require.ErrorContains(t, err, "its hooks could stop a call")
	k, err = chain(t, named("Plain")).Child(t.Context(), brings(false), nil)
	require.NoError(t, err, "what only observes is missed, and no danger")
	require.NoError(t, k.Close(t.Context()))
}
