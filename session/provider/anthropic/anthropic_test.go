package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

func play(t testing.TB, tune providertest.Tuning, replies ...wire.Reply) providertest.Played {
	s := wire.New(t, wire.Messages)
	s.Play(replies...)
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
