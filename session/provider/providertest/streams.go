package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

// hurried is a policy that waits for nothing and tells how long it would have.
func hurried(waits *[]time.Duration) Tuning {
	return Tuning{Retry: exchange.Policy{Attempts: 3, Wait: func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}}}
}

func stops(t *testing.T, s Subject) {
	for name, r := range map[string]wire.Reply{
		"end":      {Text: "done"},
		"tool_use": {Text: "so", Calls: []wire.Call{{Name: "Now", Args: "{}"}}},
		"length":   {Text: "cut", Stop: "length"},
		"refusal":  {Text: "I will not.", Stop: "refusal"},
	} {
		tune := Tuning{Continue: -1}
		p := s.Play(t, tune, r)
		m, _, err := answer(t, p, request(p))
		require.NoError(t, err, name)
		require.Equal(t, name, m.Stop)
		require.Equal(t, r.Text, m.Text())
	}
}

func counts(t *testing.T, s Subject) {
	want := message.Usage{Input: 100, Output: 7, CacheRead: 60, CacheWrite: 30}
	p := s.Play(t, Tuning{}, wire.Reply{Text: "x", Usage: want})
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	if p.Server.API == wire.Chat {
		want.CacheWrite = 0 // the API does not tell
	}
	require.Equal(t, &want, m.Usage)
}

func replaysReasoning(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{},
		wire.Reply{Reasoning: "Let me think.", Hidden: true, Text: "I look.", Calls: []wire.Call{{Name: "Now", Args: "{}"}}},
		said, said)
	r := request(p)
	m, events, err := answer(t, p, r)
	require.NoError(t, err)
	require.Equal(t, "Let me think.", texts(events, message.ReasoningDelta))
	require.Equal(t, message.Reasoning, m.Parts[0].Kind)
	require.Equal(t, "I look.", m.Text(), "reasoning is no text")
	// A store keeps it as JSON.
	var kept message.Message
	b, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &kept))
	_, _, err = answer(t, p, next(r, &kept, results(m, "noon")))
	require.NoError(t, err, "the server takes back only what it has signed")
	field := map[wire.API]string{wire.Messages: `"signature":"sig-`, wire.Responses: `"encrypted_content":"enc-`, wire.Chat: `"reasoning_content":"Let me think."`}[p.Server.API]
	require.Contains(t, string(p.Server.Requests()[1].Body), field)
	// What another vendor reasoned is not sent.
	foreign := kept
	foreign.Model = "elsewhere/model"
	_, _, err = answer(t, p, next(r, &foreign, results(m, "noon")))
	require.NoError(t, err)
	require.NotContains(t, string(p.Server.Requests()[2].Body), field)
}

func streamsArguments(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, three)
	m, events, err := answer(t, p, request(p))
	require.NoError(t, err)
	for _, u := range m.Uses() {
		got := ""
		for _, e := range events {
			if e.Kind == message.ArgsDelta && e.Use.ID == u.ID {
				require.Equal(t, u.Name, e.Use.Name)
				got += e.Text
			}
		}
		require.Equal(t, string(u.Args), got)
	}
}

// breaks cuts the stream behind each of its events and inside each, torn and closed.
func breaks(t *testing.T, s Subject) {
	whole := wire.Reply{Reasoning: "Hm, hm.", Text: "The answer is long enough.", Calls: []wire.Call{{Name: "Echo", Args: `{"text":"some words"}`}}}
	events := s.Play(t, Tuning{}).Server.Events(whole)
	require.Greater(t, events, 8)
	again, interrupted := 0, 0
	for cut := 1; cut < events; cut++ {
		for _, how := range []struct {
			split int
			drop  bool
		}{{0, false}, {0, true}, {9, false}, {40, true}} {
			broken := whole
			broken.Cut, broken.Split, broken.Drop = cut, how.split, how.drop
			var waits []time.Duration
			p := s.Play(t, hurried(&waits), broken, whole)
			m, shown, err := answer(t, p, request(p))
			visible := texts(shown, message.TextDelta) + texts(shown, message.ReasoningDelta)
			switch {
			case err != nil:
				interrupted++
				require.ErrorIs(t, err, message.ErrInterrupted)
				require.NotEmpty(t, visible)
				require.Len(t, p.Server.Requests(), 1, "cut %d %+v: what was shown is not said twice", cut, how)
				require.Nil(t, m)
			default:
				require.Equal(t, whole.Text, texts(shown, message.TextDelta), "cut %d %+v", cut, how)
				require.Equal(t, whole.Text, m.Text())
				require.Len(t, m.Uses(), 1)
				require.JSONEq(t, whole.Calls[0].Args, string(m.Uses()[0].Args))
				if len(p.Server.Requests()) == 2 {
					again++
				}
			}
		}
	}
	require.Positive(t, again, "some broke before anything was shown")
	require.Positive(t, interrupted, "some broke after")
}

func failsInStream(t *testing.T, s Subject) {
	overload := map[wire.API]string{wire.Messages: "overloaded_error", wire.Responses: "rate_limit_exceeded", wire.Chat: "rate_limit_exceeded"}
	var waits []time.Duration
	p := s.Play(t, hurried(&waits))
	code := overload[p.Server.API]
	p.Server.Play(wire.Reply{Fail: code}, said)
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Equal(t, said.Text, m.Text())
	require.Len(t, waits, 1)
	p.Server.Play(wire.Reply{Text: "so far", Fail: code}, said)
	_, _, err = answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrInterrupted)
	require.Contains(t, err.Error(), "it failed")
}

func retries(t *testing.T, s Subject) {
	var waits []time.Duration
	p := s.Play(t, hurried(&waits),
		wire.Reply{Status: 503, Code: "server_error", Text: "down"},
		wire.Reply{Status: 429, Code: "rate_limit_error", Text: "slow down", RetryAfter: "7"}, said)
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Equal(t, said.Text, m.Text())
	require.Len(t, waits, 2)
	require.LessOrEqual(t, waits[0], 500*time.Millisecond)
	require.Equal(t, 7*time.Second, waits[1], "the vendor's word counts")
	sent := p.Server.Requests()
	require.Equal(t, string(sent[0].Body), string(sent[2].Body), "what is sent again is the same")
}

func givesUp(t *testing.T, s Subject) {
	down := wire.Reply{Status: 500, Code: "api_error", Text: "down"}
	var waits []time.Duration
	p := s.Play(t, hurried(&waits), down, down, down, said)
	_, _, err := answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrUnavailable)
	require.Len(t, p.Server.Requests(), 3, "as many attempts as the policy has")
	waits = nil
	p = s.Play(t, hurried(&waits), wire.Reply{Status: 429, Code: "rate_limit_error", Text: "later", RetryAfter: "3600"}, said)
	_, _, err = answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrOverload)
	require.Empty(t, waits, "an hour is longer than anyone waits")
	var f *message.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, time.Hour, f.RetryAfter)
}

func types(t *testing.T, s Subject) {
	for _, c := range []struct {
		reply wire.Reply
		want  error
	}{
		{wire.Reply{Status: 400, Code: "invalid_request_error", Text: "messages.3: is wrong"}, message.ErrBadRequest},
		{wire.Reply{Status: 404, Code: "not_found_error", Text: "no such model"}, message.ErrBadRequest},
		{wire.Reply{Status: 400, Code: "invalid_request_error", Text: "prompt is too long: 210000 tokens > 200000 maximum"}, message.ErrContextLength},
		{wire.Reply{Status: 413, Code: "request_too_large", Text: "too large"}, message.ErrContextLength},
		{wire.Reply{Status: 403, Code: "permission_error", Text: "not for you"}, message.ErrAuth},
		{wire.Reply{Status: 401, Code: "authentication_error", Text: "who are you"}, message.ErrAuth},
		{wire.Reply{Status: 429, Code: "rate_limit_error", Text: "too often"}, message.ErrOverload},
		{wire.Reply{Status: 529, Code: "overloaded_error", Text: "overloaded"}, message.ErrOverload},
		{wire.Reply{Status: 502, Code: "api_error", Text: "bad gateway"}, message.ErrUnavailable},
	} {
		p := s.Play(t, Tuning{Retry: exchange.Policy{Attempts: 1}}, c.reply)
		_, _, err := answer(t, p, request(p))
		require.ErrorIs(t, err, c.want, "%+v", c.reply)
		var f *message.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, c.reply.Status, f.Status)
		require.Contains(t, err.Error(), c.reply.Text)
		require.Len(t, p.Server.Requests(), 1)
	}
}

func hidesKey(t *testing.T, s Subject) {
	const wrong = "sk-wrong-9876543210-secret"
	// The server repeats the key in its answer, as vendors do in part.
	p := s.Play(t, Tuning{Key: wrong}, said)
	_, _, err := answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrAuth)
	for e := err; e != nil; e = errors.Unwrap(e) {
		require.NotContains(t, strings.ToLower(e.Error()), "9876543210")
	}
	require.Contains(t, err.Error(), "[key]", "the vendor's word is there, without it")
	_, err = json.Marshal(err)
	require.NoError(t, err)
}
