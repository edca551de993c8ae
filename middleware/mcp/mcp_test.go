//go:build unix

package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/mcp"
)

func TestAServersToolsAreThereAndRunWithTheirArgumentsAsTheyWereSent(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}})
	require.Contains(t, d.tools(), "mcp__a__echo")
	echo, deferred := d.inst.Deferred.Tools().Lookup("mcp__a__echo")
	require.True(t, deferred)
	require.JSONEq(t, `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}}`, string(echo.Schema))
	require.Equal(t, `echo {"n":12345678901234567,"text":"hi"}`, d.call("mcp__a__echo", map[string]any{"text": "hi", "n": 12345678901234567}).Text())
	require.Contains(t, d.detail("a"), "ready stdio, 10 tools, 1 prompts")
	require.Contains(t, d.route("mcp", "").Text, "a: ready")
}

func TestWithoutAServerItIsUnsupportedAndSaysWhatToDo(t *testing.T) {
	require.Contains(t, open(t, mcp.Options{}).inst.Unsupported, "add one to mcp.servers")
	off := server(t, "a", "good")
	off.Disabled = true
	require.Contains(t, open(t, mcp.Options{Servers: []mcp.Server{off}}).inst.Unsupported, "switched off")
	require.Empty(t, pids(t, off))
}
