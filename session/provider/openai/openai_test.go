package openai_test

import (
	"bytes"
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

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
