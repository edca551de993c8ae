package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/openai"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

func play(api openai.API, server wire.API, name, model string) func(testing.TB, providertest.Tuning, ...wire.Reply) providertest.Played {
	return func(t testing.TB, tune providertest.Tuning, replies ...wire.Reply) providertest.Played {
		s := wire.New(t, server)
		s.Play(replies...)
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
