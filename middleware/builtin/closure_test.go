package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
)

// Everything that can be switched on is, so that there is as much as possible to leave behind.
func TestEveryMiddlewareAndEveryPairClosesWhole(t *testing.T) {
	root := write(t, map[string]string{
		"AGENTS.md": "Be brief.\n",
		"go.mod":    "module example.org/x\n\ngo 1.26\n",
		".peri/settings.yaml": `
language: Latin
persona: terse
memory: {provider: files}
`,
		".peri/workflows/sweep.star":   "# Looks at everything.\n[agent(a, agent='reviewer').text for a in args]\n",
		"tide.yaml":                    "openapi: 3.1.0\ninfo: {title: Tide, version: '1'}\nservers: [{url: 'https://tide.example'}]\npaths: {/height: {get: {operationId: height}}}\n",
		".peri/agents/reviewer.md":     "---\nname: reviewer\ndescription: Reads a change.\ntools: Read, Grep\nskills: [style]\n---\nRead the change.\n",
		".peri/skills/style/SKILL.md":  "---\nname: style\ndescription: How code looks here.\n---\nTabs.\n",
		".claude/skills/ship/SKILL.md": "---\nname: ship\ndescription: Brings a release out.\nallowed-tools: Read\ndisable-model-invocation: true\n---\nShip $1.\n",
	})
	home := write(t, map[string]string{
		"plugins/kit/.claude-plugin/plugin.json": `{"name": "kit", "version": "1.0.0", "description": "Does it all."}`,
		"plugins/kit/agents/critic.md":           "---\nname: critic\ndescription: Finds fault.\ntools: Read\n---\nFind fault.\n",
		"plugins/kit/hooks/hooks.json":           `{"hooks": {"PreToolUse": [{"matcher": "NoSuchTool", "hooks": [{"command": "exit 2"}]}]}}`,
		"plugins/kit/commands/send.md":           "---\ndescription: Sends it.\nallowed-tools: Read\n---\nSend $1.\n",
		"plugins/kit/skills/polish/SKILL.md":     "---\nname: polish\ndescription: Polishes it.\n---\nPolish.\n",
		"settings.yaml": `
web: {search: "searxng:https://search.example"}
openapi: {sources: {tide: {document: tide.yaml}}}
lsp: {servers: {any: {command: sh, languages: [go]}}}
hooks:
  PreToolUse: [{matcher: NoSuchTool, hooks: [{command: "exit 2"}]}]
  PermissionRequest: [{matcher: NoSuchTool, hooks: [{command: "exit 2"}]}]
  PostToolUse: [{matcher: NoSuchTool, hooks: [{command: "exit 2"}]}]
  SubagentStart: [{matcher: no-such-agent, hooks: [{command: "exit 2"}]}]
  SubagentStop: [{matcher: no-such-agent, hooks: [{command: "exit 2"}]}]
  Notification: [{matcher: nothing, hooks: [{command: "exit 2"}]}]
`,
	})
	s := load(t, root, home, "workspace.bash_async=true")
	require.Empty(t, s.Diagnostics)
	closuretest.Run(t, closuretest.Config{Middlewares: s.Blueprint.Suite.All(), Root: root, Ways: ways, Pairs: !testing.Short()})
}

func TestTheDefaultSuiteClosesWhole(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{})
	require.NoError(t, err)
	closuretest.Run(t, closuretest.Config{Middlewares: suite.All(), Ways: ways})
}
