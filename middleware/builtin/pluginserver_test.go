package builtin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/script"
)

func TestAPluginsServerStartsWithItAndNotWithoutIt(t *testing.T) {
	for _, settings := range []string{"", "meta: {PluginMiddleware: false}\n", "meta: {McpMiddleware: false}\n"} {
		f, dir := plugged(t, settings)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "serve.sh"), []byte("echo started > \"$1\"\n"), 0o600))
		mark := filepath.Join(f.root, "started")
		text := `{"mcpServers": {"db": {"type": "stdio", "command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/serve.sh", "` + mark + `"]},
			"odd": {"type": "pigeon", "command": "x"}}}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(text), 0o600))
		f.open(script.New(), "main")
		_, err := os.Stat(mark)
		require.Equal(t, settings == "", err == nil, settings)
	}
}
