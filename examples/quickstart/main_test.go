package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
)

func TestQuickstartLooksAroundOffline(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "notes.md"), []byte("# notes\n"), 0o600))
	var out strings.Builder
	where := config.Options{Root: root, Home: t.TempDir(), Managed: "-"}
	require.NoError(t, run(t.Context(), &out, where, `call Read {"path":"notes.md"}`))
	require.Contains(t, out.String(), `→ Read {"path":"notes.md"}`)
	require.Contains(t, out.String(), "# notes")
	require.Contains(t, out.String(), "(done)")
}

func TestQuickstartLinksNoModelSDK(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, string(deps))
	require.Contains(t, string(deps), "peri/session/provider/offline", "presence first")
	for _, sdk := range []string{"anthropic", "openai"} {
		require.NotContains(t, string(deps), sdk)
	}
}
