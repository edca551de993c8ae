package lock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/lock"
)

func TestALockReadsBackAsItWasWritten(t *testing.T) {
	l := lock.Lock{}.
		With(session.Fact{Surface: "tool", Name: "Read", Owner: "W", Detail: "readonly"}).
		With(session.Fact{Surface: "agent", Name: "two words\n", Owner: "S", Detail: "a \x1b[31m b"}).
		With(session.Fact{Surface: "tool", Name: "Read", Owner: "W", Detail: "readonly"})
	require.Equal(t, []string{`agent two\x20words\n S a \x1b[31m b`, "tool Read W readonly"}, l.Lines())
	for name, text := range map[string]string{
		"as written": l.String(), "with CRLF": strings.ReplaceAll(l.String(), "\n", "\r\n"), "with a mark": "\ufeff" + l.String(),
	} {
		back, err := lock.Parse(text)
		require.NoError(t, err, name)
		require.Equal(t, l.Lines(), back.Lines(), name)
	}
}

func TestAnotherFormIsRefused(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "peri-lock 2\ntool Read W\n", "tool Read W\n"} {
		_, err := lock.Parse(text)
		require.ErrorContains(t, err, "lock: it ")
	}
}

func TestAChangedFactsLinesStandTogether(t *testing.T) {
	fact := func(name, detail string) session.Fact {
		return session.Fact{Surface: "tool", Name: name, Owner: "W", Detail: detail}
	}
	before := lock.Lock{}.With(fact("A", "edits")).With(fact("B", "runs")).With(fact("C", ""))
	after := lock.Lock{}.With(fact("A", "readonly")).With(fact("B", "runs")).With(fact("D", ""))
	d := lock.Compare(before, after)
	require.Equal(t, "- tool A W edits\n+ tool A W readonly\n- tool C W\n+ tool D W\n", d.String())
	require.False(t, d.Empty())
	require.True(t, lock.Compare(after, after).Empty())
	require.NotNil(t, lock.Compare(after, after).Gained, "JSON has a list, and no null")
}
