package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
)

func TestAChangeByAnotherProgramIsAConflictAndNeverLost(t *testing.T) {
	keys, err := meta.NewKeys([]meta.Key{{Name: "WebMiddleware", Kind: meta.Middleware}})
	require.NoError(t, err)
	root := t.TempDir()
	file := filepath.Join(root, ".peri", "settings.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	e := &Editor{Options: Options{Root: root, Home: filepath.Join(root, "home"), Managed: "-", Keys: keys}}
	in := Edit{Action: Disable, Key: "WebMiddleware"}
	for name, there := range map[string]bool{"a changed file": true, "a new file": false} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(file))
			if there {
				require.NoError(t, os.WriteFile(file, []byte("model: offline\n"), 0o600))
			}
			e.probe = func() { require.NoError(t, os.WriteFile(file, []byte("language: de\n"), 0o600)) }
			r := e.Apply(context.Background(), in)
			require.NotNil(t, r.Failed)
			require.Equal(t, EditConflict, r.Failed.Error.Code)
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "language: de\n", string(raw))
			left, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, left, 1)
			e.probe = nil
			require.NoError(t, e.Apply(context.Background(), in).Err(), "the next try goes on from there")
		})
	}
}
