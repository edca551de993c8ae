package anthropic_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
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
