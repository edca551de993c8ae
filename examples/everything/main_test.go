package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Also where nothing is installed it runs, names what is missing, and shows the rest.
func TestItRunsWithWhatIsThere(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, ""))
	require.Contains(t, out.String(), "not here: the MCP server filesystem")
	for _, want := range []string{
		"search api__shop__getOrder OpenAPIMiddleware", "route /release SkillsMiddleware", "route /greet PluginMiddleware",
		`"item":"lamp"`, "Run the tests, write the changelog entry",
	} {
		require.Contains(t, out.String(), want)
	}
}
