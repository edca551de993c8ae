package anthropic_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
	"github.com/metaharness/peri/toolview"
)

func play(t testing.TB, tune providertest.Tuning, replies ...wire.Reply) providertest.Played {
	s := wire.New(t, wire.Messages)
	s.Play(replies...)
	t.Cleanup(func() {
		for _, r := range s.Requests() {
			known(t, r.Body)
		}
	})
	key := wire.Key
	if tune.Key != "" {
		key = tune.Key
	}
	p, err := anthropic.New(anthropic.Options{Key: key, BaseURL: s.URL, Retry: tune.Retry, Continue: tune.Continue})
	require.NoError(t, err)
	m, err := p.Models("anthropic/claude-wire")
	require.NoError(t, err)
	return providertest.Played{Model: m, Server: s}
}

func TestAnthropicKeepsTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{Play: play, Marks: true})
}

// known holds a request against the SDK's own type: what that does not know is lost on the way through it.
func known(t testing.TB, body []byte) {
	var p sdk.MessageNewParams
	require.NoError(t, json.Unmarshal(body, &p))
	back, err := json.Marshal(p)
	require.NoError(t, err)
	var sent, kept map[string]any
	require.NoError(t, json.Unmarshal(body, &sent))
	require.NoError(t, json.Unmarshal(back, &kept))
	delete(sent, "stream") // the SDK adds it by itself
	require.Equal(t, sent, kept)
}

// The API takes four breakpoints: the last direct tool, the system's cached zone, what the last request ended with, and
// what this one ends with.
func TestBreakpointsStandWhereTheAPIHasThem(t *testing.T) {
	p := play(t, providertest.Tuning{}, wire.Reply{Text: "x"})
	set := toolview.MustSet(leaf("A"), leaf("B"))
	r := &middleware.Request{
		View:   toolview.NewDeriver([]toolview.Band{{Owner: "O", Set: set}}, nil, nil).View(&toolview.Policy{}, nil),
		System: []prompt.Block{{Text: "cached", EndsCache: true}, {Text: "live"}},
		Messages: []*message.Message{
			message.Of(message.User, "first"), message.Of(message.Assistant, "answer"), message.Of(message.User, "second"),
			message.Of(message.Assistant, "answer two"), message.Of(message.User, "third"),
		},
		Tail: []prompt.Contribution{{Text: "tail"}},
	}
	_, err := p.Model(t.Context(), r, func(message.Event) {})
	require.NoError(t, err)
	sent := string(p.Server.Requests()[0].Body)
	const mark = `,"cache_control":{"type":"ephemeral"}`
	require.Equal(t, 4, strings.Count(sent, mark))
	for _, at := range []string{`"name":"B","description":"Does.","input_schema":{"type":"object","properties":{}}`, `"text":"cached"`, `"text":"second"`, `"text":"third"`} {
		require.Contains(t, sent, at+mark)
	}
}

func leaf(name string) toolview.Tool {
	return toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: "Does.", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		Run: func(context.Context, *toolview.Call) (*message.Result, error) { return message.Say("x"), nil },
	}
}

func TestOptionsReachTheWire(t *testing.T) {
	for want, o := range map[string]anthropic.Options{
		`"max_tokens":32000`: {}, `"max_tokens":5`: {MaxTokens: 5}, `"thinking":{"type":"adaptive"}`: {Thinking: "adaptive"},
		`"thinking":{"type":"enabled","budget_tokens":2048}`: {Thinking: "2048"}, `"ttl":"1h"`: {TTL: "1h"},
	} {
		s := wire.New(t, wire.Messages)
		s.Play(wire.Reply{Text: "x"})
		o.Key, o.BaseURL = wire.Key, s.URL
		p, err := anthropic.New(o)
		require.NoError(t, err)
		m, err := p.Models("claude")
		require.NoError(t, err)
		r := &middleware.Request{System: []prompt.Block{{Text: "s", EndsCache: true}}, Messages: []*message.Message{message.Of(message.User, "x")}}
		_, err = m(t.Context(), r, func(message.Event) {})
		require.NoError(t, err)
		require.Contains(t, string(s.Requests()[0].Body), want)
		require.Equal(t, "2023-06-01", s.Requests()[0].Header.Get("Anthropic-Version"), "a server of one's own knows the old version")
		require.Equal(t, wire.Key, s.Requests()[0].Header.Get("X-Api-Key"))
	}
}
