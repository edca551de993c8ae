package builtin_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/script"
)

// A coordinator that must not edit itself says with delegates that its agents may. Without it its denial binds them, and
// the order of rules decides nothing.
func TestACoordinatorThatMayNotEditHandsEditingOnOnlyIfItSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		settings, fields string
		want             bool
	}{
		"denied and no more":          {"", "disallowedTools: [Write]", false},
		"denied and delegated":        {"", "disallowedTools: [Write]\ndelegates: [Write]", true},
		"delegated and denied":        {"", "delegates: [Write]\ndisallowedTools: [Write]", true},
		"not listed and delegated":    {"", "tools: [Agent, Read]\ndelegates: ['Write', 'LS']", true},
		"not listed":                  {"", "tools: [Agent, Read]", false},
		"the settings deny it to all": {"tools: {deny: [Write]}\n", "disallowedTools: [Write]\ndelegates: [Write]", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, c.settings, "")
			f.writeHome("permissions: {mode: bypass}\nsubagents: {depth: 2}\n")
			f.writeAgent("coordinator", c.fields)
			f.writeAgent("worker", "tools: [Write, LS]")
			sc := script.For(map[string][]script.Step{
				"": {script.Do("Agent", `{"agent":"coordinator","prompt":"go"}`), script.Say("done")},
				"coordinator": {
					script.Do("Write", `{"path":"mine","content":"x"}`), script.Do("Agent", `{"agent":"worker","prompt":"go"}`), script.Say("done"),
				},
				"worker": {script.Do("Write", `{"path":"theirs","content":"x"}`), script.Say("done")},
			})
			play(t, f.open(sc, "main"), "go")
			require.NoFileExists(t, filepath.Join(f.root, "mine"), "itself it never writes")
			reached := false
			for _, sent := range sc.Sent() {
				reached = reached || sent.Agent == "worker"
			}
			require.True(t, reached || !c.want)
			if c.want {
				require.FileExists(t, filepath.Join(f.root, "theirs"))
			} else {
				require.NoFileExists(t, filepath.Join(f.root, "theirs"))
			}
		})
	}
}

// One definition has one set of tools, whether a host opens it or a model starts it, in whichever way.
func TestOneDefinitionGivesOneSetOfToolsHoweverItIsUsed(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		f := newFamily(t, "tools: {deny: [Glob]}\n", "tools: [Read, Grep, Glob, 'Bash(git *)']\ndisallowedTools: [Grep]", "Read", `{"path":"x"}`)
		got := f.start(t, w)
		require.NotEmpty(t, got.shown)
		s := f.open(script.New(), "host")
		kid, err := s.Agent(t.Context(), "kid")
		require.NoError(t, err)
		var opened []string
		for _, tool := range kid.View().Direct() {
			opened = append(opened, tool.Name)
		}
		require.Equal(t, opened, got.shown)
		require.True(t, slices.Contains(opened, "Read") && slices.Contains(opened, "Bash"))
		require.False(t, slices.Contains(opened, "Grep") || slices.Contains(opened, "Glob") || slices.Contains(opened, "Write"))
	})
}
