package mcp_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/mcp"
)

func TestWhatAServerWritesWhenItEndsTellsNoKeyAndTurnsNoTerminal(t *testing.T) {
	t.Setenv("MCP_TEST_TOKEN", "sk-out-of-the-environment")
	s := server(t, "gone", "blab")
	s.Env["FROM"], s.Env["API_KEY"] = "${MCP_TEST_TOKEN}", "sk-spelled-out"
	d := open(t, mcp.Options{Servers: []mcp.Server{s}})
	for where, text := range map[string]string{
		"notices": d.said(), "diagnostics": d.inst.Diagnostics()[0].Message, "route": d.route("mcp", "gone").Text,
		"facts": d.inst.Facts()[0].Doc,
	} {
		require.Contains(t, text, "no licence for [hidden] or [hidden]", where)
		require.NotContains(t, text, "sk-", where)
		require.NotContains(t, text, "\x1b", where)
		require.NotContains(t, text, "\u009b", where)
	}
}

func TestAnAddressThatCannotBeReachedIsToldWithoutItsKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	t.Setenv("MCP_TEST_TOKEN", "sk-out/of the+environment")
	for name, query := range map[string]string{"a variable": "?key=${MCP_TEST_TOKEN}", "spelled out": "?key=sk-spelled-out"} {
		s := mcp.Server{Name: "web", URL: at + "/mcp" + query}
		d := open(t, mcp.Options{Servers: []mcp.Server{s}, Budget: 5 * time.Second, Grace: 100 * time.Millisecond})
		require.Contains(t, d.said(), "refused", name)
		require.NotContains(t, d.said()+d.route("mcp", "web").Text, "sk-", name)
	}
}
