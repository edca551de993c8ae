//go:build external && unix

package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/prompt/message"
)

// theirs are the reference servers from npm. PERI_MCP_SERVERS is the folder they were installed into with npm's --prefix.
func theirs(t *testing.T, folder string) []mcp.Server {
	t.Helper()
	at := os.Getenv("PERI_MCP_SERVERS")
	require.NotEmpty(t, at, "set PERI_MCP_SERVERS to a folder with @modelcontextprotocol/server-{everything,filesystem,memory}")
	bin := func(name string) string {
		path := filepath.Join(at, "node_modules", ".bin", "mcp-server-"+name)
		require.FileExists(t, path)
		return path
	}
	return []mcp.Server{
		{Name: "everything", Command: bin("everything"), Args: []string{"stdio"}},
		{Name: "files", Command: bin("filesystem"), Args: []string{folder}, Trusted: true},
		{Name: "memory", Command: bin("memory"), Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.json")}},
	}
}

func TestTheReferenceServersWork(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	d := open(t, mcp.Options{Servers: theirs(t, folder), Budget: time.Minute})
	for _, name := range []string{"everything", "files", "memory"} {
		require.Contains(t, d.detail(name), "ready", d.said())
	}
	require.Contains(t, d.call("mcp__everything__echo", map[string]any{"message": "hello"}).Text(), "hello")
	// It takes the session's root for what it may reach, whatever it was started with.
	require.NoError(t, os.WriteFile(filepath.Join(d.root, "a.txt"), []byte("inside"), 0o600))
	soon(t, "it has asked for the roots", func() bool {
		return strings.Contains(d.call("mcp__files__read_text_file", map[string]any{"path": filepath.Join(d.root, "a.txt")}).Text(), "inside")
	})
	outside := d.call("mcp__files__read_text_file", map[string]any{"path": "/etc/hostname"})
	require.True(t, outside.Error, outside.Text())
	made := d.call("mcp__memory__create_entities", map[string]any{"entities": []map[string]any{{"name": "peri", "entityType": "project", "observations": []string{"tested"}}}})
	require.False(t, made.Error, made.Text())
	require.Contains(t, d.call("mcp__memory__read_graph", map[string]any{}).Text(), "tested")

	image := d.call("mcp__everything__get-tiny-image", map[string]any{})
	var media int
	for _, p := range image.Parts {
		if p.Kind == message.Image {
			media += len(p.Data)
		}
	}
	require.Positive(t, media, image.Text())
	require.Contains(t, strings.Join(d.tools(), " "), "mcp__everything__read_resource")
	require.Contains(t, d.call("mcp__everything__list_resources", map[string]any{}).Text(), "://")
	require.NotEmpty(t, d.inst.LiveRoutes())
	d.close()
}
