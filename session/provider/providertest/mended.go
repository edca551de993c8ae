package providertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

func continues(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{},
		wire.Reply{Reasoning: "Hm.", Text: "one, two", Stop: "length"}, wire.Reply{Text: ", three", Stop: "length"},
		wire.Reply{Text: ", four."}, said)
	r := request(p)
	r.Tail = append(r.Tail, contribution)
	m, events, err := answer(t, p, r)
	require.NoError(t, err)
	require.Equal(t, "one, two, three, four.", m.Text())
	require.Equal(t, m.Text(), texts(events, message.TextDelta))
	require.Equal(t, "end", m.Stop)
	texts := 0
	for _, part := range m.Parts {
		if part.Kind == message.Text {
			texts++
		}
	}
	require.Equal(t, 1, texts, "it is one answer")
	require.Contains(t, p.Server.Requests()[1].Last, "cut off")
	// The transcript has nothing of how it was got.
	_, _, err = answer(t, p, next(r, m, message.Of(message.User, "thanks")))
	require.NoError(t, err)
	require.NotContains(t, string(p.Server.Requests()[3].Body), "cut off")
}

func staysCut(t *testing.T, s Subject) {
	cut := wire.Reply{Text: "and on ", Stop: "length"}
	p := s.Play(t, Tuning{Continue: 2}, cut, cut, cut, said)
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Equal(t, "and on and on and on ", m.Text())
	require.Equal(t, "length", m.Stop, "its reader sees that it is not all")
	require.Len(t, p.Server.Requests(), 3, "as often as the budget has it")

	p = s.Play(t, Tuning{}, cut, wire.Reply{Status: 400, Code: "invalid_request_error", Text: "no"})
	m, _, err = answer(t, p, request(p))
	require.NoError(t, err, "what was shown is not lost for what did not follow")
	require.Equal(t, "and on ", m.Text())
}

func dropsCutCall(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{},
		wire.Reply{Stop: "length", Calls: []wire.Call{{Name: "Echo", Args: `{"text":"much too lo`}}},
		wire.Reply{Calls: []wire.Call{{Name: "Echo", Args: `{"text":"short"}`}}})
	m, _, err := answer(t, p, request(p))
	require.NoError(t, err)
	require.Len(t, m.Uses(), 1)
	require.JSONEq(t, `{"text":"short"}`, string(m.Uses()[0].Args))
	require.Contains(t, p.Server.Requests()[1].Last, "`Echo`", "the model is told which")

	// A call that was whole before is made.
	p = s.Play(t, Tuning{}, wire.Reply{Stop: "length", Calls: []wire.Call{{Name: "Now", Args: `{}`}, {Name: "Echo", Args: `{"te`}}})
	m, _, err = answer(t, p, request(p))
	require.NoError(t, err)
	require.Len(t, m.Uses(), 1)
	require.Equal(t, "Now", m.Uses()[0].Name)
}

func refusesEmpty(t *testing.T, s Subject) {
	var waits []time.Duration
	p := s.Play(t, hurried(&waits), wire.Reply{}, wire.Reply{Text: " \n"}, said)
	m, _, err := answer(t, p, request(p))
	if err == nil {
		t.Fatalf("blank text was shown, and then %q", m.Text())
	}
	require.ErrorIs(t, err, message.ErrEmpty)
	p = s.Play(t, hurried(&waits), wire.Reply{}, wire.Reply{}, said)
	m, _, err = answer(t, p, request(p))
	require.NoError(t, err)
	require.Equal(t, said.Text, m.Text())
	p = s.Play(t, hurried(&waits), wire.Reply{}, wire.Reply{}, wire.Reply{}, said)
	m, _, err = answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrEmpty)
	require.Nil(t, m)
	p = s.Play(t, hurried(&waits), wire.Reply{Stop: "refusal"}, said)
	_, _, err = answer(t, p, request(p))
	require.ErrorIs(t, err, message.ErrRefused, "a refusal is not asked again")
}
