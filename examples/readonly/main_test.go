package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
)

func TestReadonlySessionLooksAndCannotTouch(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "seen.txt"), nil, 0o600))
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, root))
	require.Contains(t, out.String(), "Glob (readonly)\nGrep (readonly)\nLS (readonly)\nRead (readonly)\n")
	require.Contains(t, out.String(), "seen.txt")
	require.Contains(t, out.String(), "There is no tool `Write`.")
	require.NoFileExists(t, filepath.Join(root, "x"))
}

func TestReadonlySessionSpeaksOfNothingThatItLacks(t *testing.T) {
	s, err := open(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer s.Close(t.Context())
	var prompt strings.Builder
	for _, b := range s.System() {
		prompt.WriteString(b.Text)
	}
	require.Contains(t, prompt.String(), "# Approval", "presence first")
	for _, word := range []string{"`Agent`", "`AskUserQuestion`", "todo", "`Write`", "`Edit`", "`Bash`"} {
		require.NotContains(t, strings.ToLower(prompt.String()), strings.ToLower(word))
	}
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	require.Len(t, fork.View().Direct(), 4)
	for _, err := range fork.Prompt(t.Context(), session.Text(`call Bash {"command":"touch y"}`)) {
		require.NoError(t, err)
	}
	require.Contains(t, fork.Messages()[len(fork.Messages())-1].Text(), "There is no tool `Bash`.")
}
