package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
)

// Everything that can be switched on is, so that there is as much as possible to leave behind.
func TestEveryMiddlewareAndEveryPairClosesWhole(t *testing.T) {
	root := write(t, map[string]string{
		"AGENTS.md": "Be brief.\n",
		".peri/settings.yaml": `
language: Latin
persona: terse
web: {search: "searxng:https://search.example"}
`,
		".peri/agents/reviewer.md": "---\nname: reviewer\ndescription: Reads a change.\ntools: Read, Grep\n---\nRead the change.\n",
	})
	s := load(t, root, t.TempDir(), "workspace.bash_async=true")
	require.Empty(t, s.Diagnostics)
	closuretest.Run(t, closuretest.Config{Middlewares: s.Blueprint.Suite.All(), Root: root, Pairs: !testing.Short()})
}

func TestTheDefaultSuiteClosesWhole(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{})
	require.NoError(t, err)
	closuretest.Run(t, closuretest.Config{Middlewares: suite.All()})
}
