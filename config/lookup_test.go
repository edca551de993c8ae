package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
)

func TestAKeyIsExplainedWithItsPlaceAndItsDefaultAndWithoutSecrets(t *testing.T) {
	s := newSite(t)
	s.project("workspace: {sandbox: false}\ntools: {deny: [Bash]}\nmcp: {servers: {a: {command: x, args: [--key, hush], env: {TOKEN: hush}}, h: {url: \"https://me:hush@example.org/x?token=hush\"}}}\n")
	s.global("tools: {deny: [Write]}\n")
	require.NoError(t, config.Trust(s.home, s.root, s.good().Trust.Digest))
	l := s.good()

	k, ok := l.Lookup("workspace.sandbox")
	require.True(t, ok)
	require.Equal(t, []string{"true or false", "true", "false"}, []string{k.Allowed, k.Default, k.Value})
	require.Equal(t, 1, k.At[0].Line)
	k, _ = l.Lookup("workspace.allow_home")
	require.Equal(t, []string{"true", ""}, []string{k.Default, k.Value}, "nobody wrote it")
	k, _ = l.Lookup("tools.deny")
	require.Equal(t, "[Write, Bash]", k.Value)
	require.Len(t, k.At, 2)
	k, _ = l.Lookup("mcp.servers.a.command")
	require.Equal(t, "x", k.Value)
	for _, secret := range []string{"mcp.servers.a.env", "mcp.servers.a.env.TOKEN", "mcp.servers.a.args"} {
		k, ok = l.Lookup(secret)
		require.True(t, ok, secret)
		require.Equal(t, "written, and not shown", k.Value, secret)
	}
	k, _ = l.Lookup("mcp.servers.h.url")
	require.Equal(t, "https://example.org/x (the rest is not shown)", k.Value)
	for _, unknown := range []string{"", "workspace.sandbocks", "mcp.servers.b", "workspace..sandbox"} {
		_, ok = l.Lookup(unknown)
		require.False(t, ok, unknown)
	}
	require.Contains(t, l.Keys(), "workspace.sandbox")
}
