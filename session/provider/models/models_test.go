package models_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/models"
)

func TestNamesThatMakeNoModelSayWhatIsThere(t *testing.T) {
	f := models.Factory{Env: func(string) string { return "" }}
	for name, want := range map[string]string{
		"elsewhere/some-model": "no adapter for elsewhere/some-model in this build: write offline, script:FILE, or anthropic/MODEL",
		"anthropic/claude":     "set ANTHROPIC_API_KEY",
		"openai/gpt":           "set OPENAI_API_KEY",
		"openai-compatible/x":  "set providers.openai-compatible.base_url in your settings, or OPENAI_BASE_URL",
		"ollama/":              "names no model",
		"script:":              "names no file",
		"script:absent.yaml":   "absent.yaml",
		"Offline":              "no adapter for Offline",
	} {
		_, err := f.Models(name)
		require.ErrorContains(t, err, want)
	}
	for _, name := range []string{"", "offline", "ollama/llama"} {
		m, err := f.Models(name)
		require.NoError(t, err)
		require.NotNil(t, m)
	}
}

func TestAForkPlaysOnWhereItsParentIs(t *testing.T) {
	dir := t.TempDir()
	steps := "steps:\n  - text: first\n  - text: second\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "play.yaml"), []byte(steps), 0o600))
	suite, err := middleware.NewSuite()
	require.NoError(t, err)
	f := &models.Factory{Dir: dir}
	ctx := context.Background()
	s, err := session.New(ctx, session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Model: "script:play.yaml"}, Models: f.Models,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(ctx)) }()
	require.Equal(t, "first", answer(t, s))
	fork, err := s.Fork(ctx)
	require.NoError(t, err)
	require.Equal(t, "second", answer(t, fork))
}

func answer(t *testing.T, s *session.Session) string {
	t.Helper()
	text := ""
	for e, err := range s.Prompt(context.Background(), session.Text("go on")) {
		require.NoError(t, err)
		if e.Kind == message.Reply {
			text = e.Message.Text()
		}
	}
	return text
}
