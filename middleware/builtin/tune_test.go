package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

func TestTuneChangesLiveSettingsAsOneChangeAndHoldsAfterAResume(t *testing.T) {
	site := newSite(t, "permissions: {mode: plan}\nworkspace: {allow_home: false}\n")
	outside := filepath.Join(t.TempDir(), "out.txt")
	require.NoError(t, os.WriteFile(outside, []byte("beyond"), 0o600))
	read := script.Do("Read", `{"path":"`+filepath.ToSlash(outside)+`"}`)
	sc := script.New(read, script.Say("a"), read, script.Say("b"), read, script.Say("c"), read, script.Say("d"))
	s := site.open(sc, "tuned")
	result := func(s *session.Session) string {
		h := s.Messages()
		return h[len(h)-2].Results()[0].Text()
	}
	play(t, s, "go")
	require.Contains(t, result(s), "outside of what may be used")
	tools := len(s.View().Direct())

	require.ErrorContains(t, s.Tune(map[string]any{"workspace.sandbox": false, "workspace.sandbx": true}), "workspace.sandbx")
	require.ErrorContains(t, s.Tune(map[string]any{"workspace.sandbox": "no"}), "write a bool")
	play(t, s, "go")
	require.Contains(t, result(s), "outside of what may be used", "a refused change changes nothing")

	require.NoError(t, s.Tune(map[string]any{"workspace.sandbox": false}))
	play(t, s, "go")
	require.Contains(t, result(s), "beyond")
	require.Len(t, s.View().Direct(), tools, "the sandbox changes behaviour, never the tool set")

	again, err := session.Resume(t.Context(), site.options(sc, ""), "tuned")
	require.NoError(t, err)
	defer again.Close(context.Background())
	play(t, again, "go")
	require.Contains(t, result(again), "beyond")

	require.False(t, s.View().Explain("BashStart").Visible)
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Tune(map[string]any{"workspace.bash_async": true}))
	require.True(t, s.View().Explain("BashStart").Visible)
	require.True(t, fork.View().Explain("BashStart").Visible, "a child follows")
	require.NoError(t, s.Tune(map[string]any{"workspace.bash_async": false}))
	require.False(t, fork.View().Explain("BashStart").Visible)

	require.False(t, fork.View().Explain("Agent").Visible, "at the depth limit")
	require.NoError(t, s.Tune(map[string]any{"subagents.depth": 2, "subagents.multitask": 7, "subagents.max_turns": 3}))
	require.True(t, fork.View().Explain("Agent").Visible)
	require.ErrorContains(t, s.Tune(map[string]any{"subagents.depth": 0}), "1 or more")
}
