//go:build unix

package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPipeInAProjectHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain.md"), []byte("x"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	raw, err := fs.ReadFile(folder(dir), "plain.md")
	require.NoError(t, err)
	require.Equal(t, "x", string(raw))

	info, err := fs.Stat(folder(dir), "pipe.md")
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular())
	_, err = fs.ReadFile(folder(dir), "pipe.md")
	require.ErrorContains(t, err, "it is a pipe")
}

func TestAskingForALinkOutOfTheProjectIsRefused(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")))
	_, err := fs.Stat(folder(dir), "link")
	require.ErrorContains(t, err, "escapes")
}
