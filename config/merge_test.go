package config_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
)

func TestAllowListsIntersectAndDenyListsAddUp(t *testing.T) {
	s := newSite(t).
		global("tools: {allow: [Read, Bash], deny: [Write]}\nskills: {mounts: [a], deny: [x]}\npermissions: {ask: [Bash], deny: ['Bash(rm *)']}\n").
		project("tools: {allow: [], deny: [Edit, Write]}\nskills: {mounts: [b], allow: [y], deny: [z]}\npermissions: {ask: [Edit], deny: [WebFetch]}\n")
	got := s.good().Settings
	require.Len(t, got.Tools.Allow, 2)
	require.Equal(t, []string{"Read", "Bash"}, itemTexts(got.Tools.Allow[0]))
	require.NotNil(t, got.Tools.Allow[1], "an empty list is a list: it allows nothing")
	require.Empty(t, got.Tools.Allow[1])
	require.Equal(t, []string{"Write", "Edit"}, itemTexts(got.Tools.Deny))
	require.Equal(t, []string{"a", "b"}, itemTexts(got.Skills.Mounts))
	require.Len(t, got.Skills.Allow, 1)
	require.Equal(t, []string{"x", "z"}, itemTexts(got.Skills.Deny))
	require.Equal(t, []string{"Bash", "Edit"}, itemTexts(got.Permissions.Ask))
	require.Equal(t, []string{"Bash(rm *)", "WebFetch"}, itemTexts(got.Permissions.Deny))
	require.Equal(t, s.at("settings.yaml")+":1:27", got.Tools.Deny[1].Origin.String())
}

func TestLimitsTakeTheSmallestOfAllLayers(t *testing.T) {
	s := newSite(t).global("subagents: {multitask: 3, depth: 4}\n").project("subagents: {multitask: 9, depth: 2, max_turns: 70}\n")
	got := s.good().Settings.Subagents
	require.Equal(t, []int{3, 2, 70}, []int{got.Multitask.V, got.Depth.V, got.MaxTurns.V})
	require.Equal(t, config.Global, got.Multitask.Origin.Layer)
	require.Equal(t, config.Project, got.Depth.Origin.Layer)
}

func TestEntriesMergePerField(t *testing.T) {
	s := newSite(t).
		global("agents: {a: {model: x/y, tools: Read, hidden: true}}\n" +
			"mcp: {servers: {s: {command: c, env: {A: 1}, tools: {allow: [r], deny: [w]}}}}\n" +
			"lsp: {servers: {go: {command: gopls, languages: [go]}}}\n" +
			"openapi: {sources: {p: {document: d.yaml, auth: {type: bearer}}}}\n").
		project("agents: {a: {tools: [Bash], maxTurns: 4}}\nmcp: {servers: {s: {direct: [q], tools: {allow: [q], deny: [v]}}}}\n")
	s.global(strings.Replace(readFile(t, s.home+"/settings.yaml"), "A: 1", "A: '1'", 1))
	got := s.good().Settings
	require.Len(t, got.Agents, 1)
	fields := map[string]any{}
	for _, f := range got.Agents[0].Fields {
		fields[f.Name] = f.Value
	}
	require.Equal(t, map[string]any{"model": "x/y", "tools": []any{"Bash"}, "hidden": true, "maxTurns": 4.0}, fields)
	srv := got.MCP[0]
	require.Equal(t, "c", srv.Command.V)
	require.Equal(t, "1", srv.Env[0].Text)
	require.True(t, srv.Enabled.V)
	require.False(t, srv.Trusted.V || srv.Enabled.Set)
	require.Equal(t, []string{"q"}, itemTexts(srv.Direct))
	require.Len(t, srv.Tools.Allow, 2)
	require.Equal(t, []string{"w", "v"}, itemTexts(srv.Tools.Deny))
	require.Equal(t, []string{"go"}, itemTexts(got.LSP[0].Languages))
	require.Equal(t, map[string]any{"type": "bearer"}, got.OpenAPI[0].Auth)
}

func TestHooksOfAllLayersRunInLayerOrder(t *testing.T) {
	s := newSite(t).
		global("hooks:\n  Stop:\n    - hooks: [{type: command, command: g-stop}]\n  PreToolUse:\n    - {matcher: Bash, hooks: [{command: g1, timeout: 5}, {type: http, url: 'http://g2', async: true}]}\n").
		project("hooks:\n  PreToolUse:\n    - {matcher: Bash, hooks: [{type: command, command: p1}]}\n")
	var got []string
	for _, h := range s.trusted().Settings.Hooks {
		got = append(got, strings.Join([]string{h.Event, h.Matcher, h.Type, h.Command + h.URL, s.short(h.Origin.String())}, " "))
	}
	require.Equal(t, []string{
		"PreToolUse Bash command g1 ~/settings.yaml:5:31",
		"PreToolUse Bash http http://g2 ~/settings.yaml:5:58",
		"Stop  command g-stop ~/settings.yaml:3:15",
		"PreToolUse Bash command p1 .peri/settings.yaml:3:31",
	}, got)
}

func TestHookThatCouldNotRunIsAnError(t *testing.T) {
	s := newSite(t).global("hooks:\n  Stop:\n    - {matcher: x}\n    - hooks: [{type: http, command: x}, {type: shell, command: y}]\n")
	require.Equal(t, []string{
		`~/settings.yaml:4:48: hooks.Stop[1].hooks[1].type: found the text "shell"; write command, http, prompt`,
		"~/settings.yaml:3:7: hooks.Stop: has a matcher without hooks; write hooks: [{type: command, command: …}]",
		"~/settings.yaml:4:15: hooks.Stop: a hook of type http without url; write its url",
	}, s.bad())
}

func TestOrderInAFileNeverMatters(t *testing.T) {
	lines := []string{
		"meta: {TodoMiddleware: false, WebMiddleware: false}", "model: a/b", "language: fr", "tools: {allow: [Read], deny: [Bash]}",
		"mcp: {servers: {b: {command: x}, a: {url: y}}}", "subagents: {depth: 2}", "workspace: {sandbox: false}", "permissions: {mode: bypass}",
	}
	summary := func(l *config.Loaded) []any {
		st, _ := state(t, l)
		g := l.Settings
		return []any{
			st.Digest(), g.Model.V, g.Language.V, itemTexts(g.Tools.Deny), servers(l), g.Subagents.Depth.V,
			g.Workspace.Sandbox.V, g.Permissions.Mode.V, l.Trust.Digest, l.Trust.Trusted,
		}
	}
	s := newSite(t).project(strings.Join(lines, "\n"))
	want := summary(s.good())
	require.Equal(t, false, want[len(want)-1])
	for range 20 {
		rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		require.Equal(t, want, summary(s.project(strings.Join(lines, "\n")).good()))
	}
}
