// Package presence_test is a team's suite about what its agents have and what they must not have. README.md is the page.
package presence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
)

// facts are those of a session of this folder, more settings being laid over its own.
func facts(t *testing.T, set ...string) session.Surface {
	t.Helper()
	setup, _, err := builtin.LoadShared(config.Options{Root: ".", Set: set})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, setup.Close()) })
	s, err := session.New(t.Context(), session.Options{
		Blueprint: setup.Blueprint, Models: func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	return s.Surface()
}

func TestOurAgents(t *testing.T) {
	ours, open := facts(t), facts(t, "meta.WebMiddleware=true")
	for sentence, want := range map[string]struct{ surface, name string }{
		"read files":           {"tool", "Read"},
		"are judged":           {"hook", "gate"},
		"have our reviewer":    {"agent", "reviewer"},
		"keep a list of tasks": {"tool", "TodoWrite"},
	} {
		t.Run(sentence, func(t *testing.T) { require.True(t, ours.Has(want.surface, want.name)) })
	}
	for sentence, tool := range map[string]string{"never reach the web": "WebFetch"} {
		t.Run(sentence, func(t *testing.T) {
			require.True(t, open.Has("tool", tool), "the test would prove nothing")
			require.False(t, ours.Has("tool", tool))
		})
	}
	t.Run("are as agreed", func(t *testing.T) { closuretest.Golden(t, "testdata/agents.txt", ours.Of("SubAgentMiddleware")) })
}
