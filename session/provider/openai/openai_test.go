package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
	"github.com/metaharness/peri/session/provider/openai"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

func play(api openai.API, server wire.API, name, model string) func(testing.TB, providertest.Tuning, ...wire.Reply) providertest.Played {
	return func(t testing.TB, tune providertest.Tuning, replies ...wire.Reply) providertest.Played {
		s := wire.New(t, server)
		s.Play(replies...)
		t.Cleanup(func() {
			for _, r := range s.Requests() {
				if api == openai.Chat {
					known[sdk.ChatCompletionNewParams](t, r.Body)
				} else {
					known[responses.ResponseNewParams](t, r.Body)
				}
			}
		})
		key := wire.Key
		if tune.Key != "" {
			key = tune.Key
		}
		p, err := openai.New(openai.Options{
			Name: name, API: api, Key: key, BaseURL: s.URL, Retry: tune.Retry, Continue: tune.Continue,
		})
		require.NoError(t, err)
		m, err := p.Models(model)
		require.NoError(t, err)
		return providertest.Played{Model: m, Server: s}
	}
}

func TestResponsesKeepTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Play: play(openai.Responses, wire.Responses, "openai", "openai/gpt-5.6-wire"), Marks: true,
	})
}

func TestResponsesOfOlderModelsKeepTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{Play: play(openai.Responses, wire.Responses, "openai", "openai/gpt-5.1")})
}

func TestChatKeepsTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{Play: play(openai.Chat, wire.Chat, "ollama", "ollama/wire:8b")})
}

// known holds a request against the SDK's own type: what that does not know is lost on the way through it.
func known[T any](t testing.TB, body []byte) {
	// The one field that no SDK knows goes back to the server that it came from.
	body = bytes.ReplaceAll(body, []byte(`,"reasoning_content":"Let me think."`), nil)
	var p T
	require.NoError(t, json.Unmarshal(body, &p))
	back, err := json.Marshal(p)
	require.NoError(t, err)
	var sent, kept map[string]any
	require.NoError(t, json.Unmarshal(body, &sent))
	require.NoError(t, json.Unmarshal(back, &kept))
	delete(sent, "stream") // the SDK adds it by itself
	require.Equal(t, sent, kept)
}

// Templates of some models want roles to alternate.
func TestPromptsThatFollowEachOtherAreOneMessage(t *testing.T) {
	p := play(openai.Chat, wire.Chat, "ollama", "ollama/wire")(t, providertest.Tuning{}, wire.Reply{Text: "yes"})
	p.Server.Alternate = true
	r := &middleware.Request{
		Messages: []*message.Message{
			message.Of(message.User, "one"), message.Of(message.User, "two \"quoted\""), message.Of(message.Assistant, "hm"), message.Of(message.User, "three"),
		},
		Tail: []prompt.Contribution{{Owner: "o", Text: "behind"}},
	}
	_, err := p.Model(t.Context(), r, func(message.Event) {})
	require.NoError(t, err)
	sent := string(p.Server.Requests()[0].Body)
	require.Contains(t, sent, `"content":"one\n\ntwo \"quoted\""`)
	require.Contains(t, sent, `"content":"three\n\nbehind"`)
}

func TestModelsAreAskedForWhatTheyKnow(t *testing.T) {
	for model, want := range map[string][2]bool{ // breakpoints, encrypted reasoning
		"gpt-5.6": {true, true}, "gpt-5.6-mini": {true, true}, "gpt-6": {true, true}, "gpt-5.1-codex": {false, true}, "gpt-5": {false, true},
		"gpt-4o": {false, false}, "gpt-4.1-mini": {false, false}, "ft:gpt-4o:org": {false, false}, "o3": {false, true}, "o4-mini": {false, true},
		"chatgpt-4o-latest": {false, false}, "something-new": {true, true},
	} {
		p := play(openai.Responses, wire.Responses, "openai", "openai/"+model)(t, providertest.Tuning{}, wire.Reply{Text: "yes"})
		r := &middleware.Request{
			System: []prompt.Block{{Text: "s", EndsCache: true}}, Messages: []*message.Message{message.Of(message.User, "x")},
		}
		_, err := p.Model(t.Context(), r, func(message.Event) {})
		require.NoError(t, err)
		sent := string(p.Server.Requests()[0].Body)
		require.Equal(t, want[0], strings.Contains(sent, "prompt_cache_breakpoint"), model)
		require.Equal(t, want[1], strings.Contains(sent, "encrypted_content"), model)
	}
}

// chunked is a server that sends what some compatible servers do.
func chunked(t *testing.T, body string) middleware.ModelFunc {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(h.Close)
	p, err := openai.New(openai.Options{Name: "ollama", API: openai.Chat, BaseURL: h.URL + "/v1", Retry: exchange.Policy{Attempts: 1}})
	require.NoError(t, err)
	m, err := p.Models("x")
	require.NoError(t, err)
	return m
}

func TestOddStreamsOfCompatibleServersAreRead(t *testing.T) {
	r := &middleware.Request{Messages: []*message.Message{message.Of(message.User, "x")}}
	ignore := func(message.Event) {}
	// Calls that all have the index 0, whole, with the wrong reason and without an end mark.
	m, err := chunked(t, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\":1}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"U","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4}}

`)(t.Context(), r, ignore)
	require.NoError(t, err)
	require.Equal(t, "tool_use", m.Stop)
	require.Len(t, m.Uses(), 2)
	require.Equal(t, "U", m.Uses()[1].Name)
	require.Equal(t, &message.Usage{Input: 9, Output: 2, CacheRead: 4}, m.Usage)

	for body, want := range map[string]error{
		"data: {\"error\":\"model requires more system memory\"}\n\n":                                         message.ErrUnavailable,
		"data: {\"error\":{\"message\":\"the request exceeds the available context size\",\"code\":400}}\n\n": message.ErrContextLength,
		"data: {\"object\":\"error\",\"error\":{\"message\":\"no\",\"code\":\"invalid_api_key\"}}\n\n":        message.ErrAuth,
		"data: not json\n\n": message.ErrUnavailable,
		"":                   message.ErrUnavailable,
	} {
		_, err := chunked(t, body)(t.Context(), r, ignore)
		require.ErrorIs(t, err, want, body)
	}
}
