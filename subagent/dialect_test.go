package subagent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Project over user over plugin over built-in, and within a level .peri over .claude over .opencode.
func TestEveryFolderOfADialectHasItsRank(t *testing.T) {
	root, home, plugins := t.TempDir(), t.TempDir(), []string{t.TempDir(), t.TempDir()}
	var from []Place
	for _, p := range plugins {
		from = append(from, Place{Root: p, Path: "agents", Shown: filepath.ToSlash(p)})
	}
	type place struct{ dir, name, layer, file string }
	places := []place{
		{root, ".peri/agents", Project, ".peri/agents/rev.md"},
		{root, ".claude/agents", Project, ".claude/agents/rev.md"},
		{root, ".opencode/agents", Project, ".opencode/agents/rev.md"},
		{root, ".opencode/agent", Project, ".opencode/agent/rev.md"},
		{home, ".peri/agents", User, "~/.peri/agents/rev.md"},
		{home, ".claude/agents", User, "~/.claude/agents/rev.md"},
		{home, ".opencode/agents", User, "~/.opencode/agents/rev.md"},
		{home, ".opencode/agent", User, "~/.opencode/agent/rev.md"},
		{plugins[0], "agents", Plugin, filepath.ToSlash(filepath.Join(plugins[0], "agents/rev.md"))},
		{plugins[1], "agents", Plugin, filepath.ToSlash(filepath.Join(plugins[1], "agents/rev.md"))},
	}
	for _, p := range places {
		dir := filepath.Join(p.dir, filepath.FromSlash(p.name))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rev.md"), []byte(file("model: m")), 0o600))
	}
	for _, p := range places {
		c, _ := Load(LoadOptions{Root: root, Home: home, Others: true, Plugins: from, Extra: []Definition{{Name: "rev", Origin: meta.Origin{Layer: Plugin, File: "extra"}}}})
		d, ok := c.Lookup("rev")
		require.True(t, ok)
		require.Equal(t, p.layer, d.Origin.Layer, p.file)
		require.Equal(t, p.file, d.Origin.File)
		require.NoError(t, os.Remove(filepath.Join(p.dir, filepath.FromSlash(p.name), "rev.md")))
	}
	c, _ := Load(LoadOptions{Root: root, Home: home, Others: true, Extra: []Definition{{Name: "general", Origin: meta.Origin{Layer: Plugin, File: "extra"}}}})
	d, _ := c.Lookup("general")
	require.Equal(t, "extra", d.Origin.File, "over the built-in ones")
}

func TestAnOpencodeFileIsReadByItsOwnWords(t *testing.T) {
	d, diags := loaded(t, ".opencode/agent/rev.md", "---\ndescription: d\nsteps: 3\nmode: all\nmodel: a/b\nhidden: true\nprompt: You review.\n---\n")
	require.Empty(t, diags)
	require.Equal(t, "rev", d.Name, "by its file")
	require.Equal(t, 3, d.MaxTurns)
	require.Equal(t, "You review.", d.Body)
	require.True(t, d.Hidden)
	require.False(t, d.offered())

	d, diags = loaded(t, ".opencode/agent/rev.md", "---\ndescription: d\nmode: primary\ntemperature: 0.1\n---\nx\n")
	require.Len(t, diags, 2)
	require.Equal(t, 3, diags[0].Origin.Line)
	require.False(t, d.offered(), "one of the main session is not offered")

	d, diags = loaded(t, ".opencode/agent/rev.md", "---\ndescription: d\npermission: ask\n---\nx\n")
	require.Empty(t, diags)
	require.Equal(t, []toolview.Ruling{{Selector: toolview.Selector{Text: "*", Origin: meta.Origin{Layer: Project, File: ".opencode/agent/rev.md", Line: 3, Column: 1}}, Action: "ask"}}, d.Rules)

	d, _ = loaded(t, ".opencode/agent/rev.md", "---\ndescription: d\npermission:\n  edit: {'src/*': allow, 'a (b)': deny}\n  jira_*: deny\n  read: {'$HOME/x': deny}\n  bash: {'*': ask}\n---\nx\n")
	var texts []string
	for _, r := range d.Rules {
		texts = append(texts, string(r.Action)+" "+r.Text)
	}
	require.Equal(t, []string{
		"allow edit(src/*)|write(src/*)", `deny edit(a \(b\))|write(a \(b\))`, "deny jira_*|mcp:jira", "deny read(~/x)", "ask bash",
	}, texts)

	d, _ = loaded(t, ".opencode/agent/rev.md", "---\ndescription: d\ntools: {edit: false, bash: true}\n---\nx\n")
	require.Len(t, d.Rules, 2)
	require.Equal(t, toolview.ActionDeny, d.Rules[0].Action)
	require.Nil(t, d.Tools, "switches are no list")
	_, diags = loaded(t, ".claude/agents/rev.md", file("disable: true"))
	require.Equal(t, meta.SeverityError, diags[0].Severity, "elsewhere it is a near miss")
	require.Contains(t, diags[0].Suggestion, "enabled: false")
}

func TestMapsByKindAreListsOfThatKind(t *testing.T) {
	d, diags := loaded(t, ".peri/agents/rev.md", file(
		"tools: {allowed: 'Read, G*', disabled: [Grep], categories: [search, 'file*']}",
		"skills: {allowed: [review-*, '@team/x'], disabled: deploy}", "mcp: {allowed: [git, 'jira/get*', mcp__a__b], disabled: ['*'], required: git}",
	))
	require.Empty(t, diags)
	require.Nil(t, d.Tools)
	texts := func(list []toolview.Selector) (out []string) {
		for _, s := range list {
			out = append(out, s.Text)
		}
		return out
	}
	require.Len(t, d.Kinds, 3)
	tools, skills, mcp := d.Kinds[0], d.Kinds[1], d.Kinds[2]
	require.Equal(t, []string{"Read", "G*"}, texts(tools.Allow))
	require.True(t, tools.Allow[0].Brings)
	require.Equal(t, []string{"Grep"}, texts(tools.Deny))
	require.Equal(t, []string{"search", "file*"}, tools.Categories)
	require.Equal(t, []string{"Skill(review-*)", "@team/x"}, texts(skills.Allow))
	require.Equal(t, []string{"Skill(deploy)"}, texts(skills.Deny))
	require.Equal(t, []string{"mcp:git", "mcp:jira/get*", "mcp__a__b"}, texts(mcp.Allow))
	require.Equal(t, []string{"mcp:*"}, texts(mcp.Deny))
	require.Equal(t, []string{"git"}, d.Servers)
	require.Equal(t, 5, skills.Origin.Line)

	d, _ = loaded(t, ".peri/agents/rev.md", file("tools: {allowed: []}"))
	require.NotNil(t, d.Kinds[0].Allow, "empty is not none")
	require.Empty(t, d.Kinds[0].Allow)
	d, _ = loaded(t, ".claude/agents/rev.md", file("tools: {allowed: [edit]}"))
	require.False(t, d.Kinds[0].Allow[0].Brings, "a literal brings nothing there")
	d, diags = loaded(t, ".claude/agents/rev.md", file("mcpServers: [git, jira]", "background: true"))
	require.Empty(t, diags, "a name reuses the session's connection")
	require.True(t, d.Background)
	require.True(t, d.Spawn().Background)
}

func TestDelegatesAndWhereListsStandReachTheSpawn(t *testing.T) {
	d, diags := loaded(t, ".peri/agents/rev.md", file("tools: [Agent]", "disallowedTools: [Edit]", "delegates: [Edit, 'Bash(git *)']"))
	require.Empty(t, diags)
	sp := d.Spawn()
	require.Equal(t, ".peri/agents/rev.md:6:1", sp.Lift()[1].Origin.String())
	l := sp.Lists()
	require.Equal(t, ".peri/agents/rev.md:4:1", l.Allow[0][0].Origin.String())
	require.Equal(t, ".peri/agents/rev.md:5:1", l.Deny[0].Origin.String())
	require.Empty(t, l.Lift, "what is delegated is no right of the agent's")
}
