package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/providertest/wire"
)

// peri runs the program in a project of its own.
func peri(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer in.Close()
	var o, e strings.Builder
	p := &program{in: in, out: &o, err: &e}
	code = p.run(t.Context(), append(args, "--root", t.TempDir(), "--home", filepath.Join(t.TempDir(), "home")))
	return code, o.String(), e.String()
}

func TestRunAnswersWithEachVendorsModel(t *testing.T) {
	for model, c := range map[string]struct {
		api  wire.API
		vars [2]string // of the base URL and of the key
	}{
		"anthropic/claude":        {wire.Messages, [2]string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}},
		"openai/gpt-5.6":          {wire.Responses, [2]string{"OPENAI_BASE_URL", "OPENAI_API_KEY"}},
		"openai-compatible/llama": {wire.Chat, [2]string{"OPENAI_BASE_URL", "OPENAI_API_KEY"}},
		"ollama/llama":            {wire.Chat, [2]string{"OLLAMA_HOST", "OLLAMA_API_KEY"}},
	} {
		t.Run(model, func(t *testing.T) {
			s := wire.New(t, c.api)
			t.Setenv(c.vars[0], s.URL)
			t.Setenv(c.vars[1], wire.Key)
			s.Play(wire.Reply{Calls: []wire.Call{{Name: "Now", Args: `{"zone":"UTC"}`}}}, wire.Reply{Text: "It is late."})
			code, out, errs := peri(t, "run", "--model", model, "what time is it?")
			require.Equal(t, "It is late.\n", out, errs)
			require.Contains(t, errs, "call Now")
			require.Zero(t, code)

			s.Play(wire.Reply{Text: "once more"})
			code, out, errs = peri(t, "run", "--json", "--model", model, "again")
			require.Zero(t, code, errs)
			require.Contains(t, out, "once more")
			require.NotContains(t, out+errs, wire.Key)
		})
	}
}

func TestAKeyThatIsRefusedIsNotShown(t *testing.T) {
	s := wire.New(t, wire.Messages)
	const wrong = "sk-wrong-5555-key"
	t.Setenv("ANTHROPIC_BASE_URL", s.URL)
	t.Setenv("ANTHROPIC_API_KEY", wrong)
	for _, args := range [][]string{
		{"run", "--model", "anthropic/claude", "hi"},
		{"run", "--json", "--model", "anthropic/claude", "hi"},
		{"doctor", "--set", "model=anthropic/claude"},
		{"inspect", "--json", "--set", "model=anthropic/claude"},
	} {
		code, out, errs := peri(t, args...)
		if args[0] != "inspect" {
			require.Equal(t, exitNo, code)
			require.Contains(t, errs, "the key was refused")
		}
		require.NotContains(t, out+errs, "wrong-5555")
	}
}

func TestDoctorTellsWhetherTheModelIsThere(t *testing.T) {
	code, out, errs := peri(t, "doctor")
	require.Zero(t, code, errs)
	require.Contains(t, out, "model offline: there")
	t.Setenv("OPENAI_API_KEY", "")
	code, out, errs = peri(t, "doctor", "--set", "model=openai/gpt-5.6")
	require.Equal(t, exitNo, code)
	require.Contains(t, out, "model openai/gpt-5.6: no")
	require.Contains(t, errs, "set OPENAI_API_KEY")
	t.Setenv("OLLAMA_HOST", "http://127.0.0.1:1")
	code, _, errs = peri(t, "doctor", "--set", "model=ollama/llama")
	require.Equal(t, exitNo, code)
	require.Contains(t, errs, "cannot be reached")
}
