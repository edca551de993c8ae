package subagent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// write puts files under a new folder, by path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return dir
}

func file(fields ...string) string {
	return "---\nname: rev\ndescription: Reviews.\n" + strings.Join(fields, "\n") + "\n---\nYou review.\n"
}

// loaded is the agent `rev` of a project that holds one file.
func loaded(t *testing.T, path, text string) (*Definition, []meta.Diagnostic) {
	t.Helper()
	c, diags := Load(LoadOptions{Root: write(t, map[string]string{path: text})})
	d, _ := c.Lookup("rev")
	return d, diags
}

func names(c *Catalog) []string {
	out := []string{}
	for _, d := range c.All() {
		out = append(out, d.Name)
	}
	return out
}

// among are the built-in agents with more, less all of them without some.
func among(more ...string) []string {
	return slices.Sorted(slices.Values(append([]string{"coder", "explore", "general", "plan", "reviewer", "verifier", "web-researcher"}, more...)))
}

func less(all []string, some ...string) []string {
	return slices.DeleteFunc(all, func(n string) bool { return slices.Contains(some, n) })
}

func TestTheBuiltInAgentsAreThere(t *testing.T) {
	c, diags := Load(LoadOptions{})
	require.Empty(t, diags)
	require.Equal(t, []string{"coder", "explore", "general", "plan", "reviewer", "verifier", "web-researcher"}, names(c))
	for _, d := range c.All() {
		require.NotEmpty(t, d.Description)
		require.NotEmpty(t, d.Body)
		require.Nil(t, d.Tools)
		require.Equal(t, BuiltIn, d.Origin.Layer)
	}
	require.Empty(t, c.Without(BuiltIn).All())
}

func TestAProjectsDefinitionReplacesABuiltInOneWhole(t *testing.T) {
	c, _ := Load(LoadOptions{})
	for _, builtIn := range c.All() {
		root := write(t, map[string]string{".peri/agents/" + builtIn.Name + ".md": "---\nname: " + builtIn.Name + "\ndescription: Ours.\n---\nOurs.\n"})
		c, diags := Load(LoadOptions{Root: root})
		require.Empty(t, diags)
		require.Equal(t, among(), names(c), "one of a name")
		d, ok := c.Lookup(builtIn.Name)
		require.True(t, ok)
		require.Equal(t, Definition{Name: builtIn.Name, Description: "Ours.", Body: "Ours.", Brings: d.Brings, Origin: d.Origin}, *d, "nothing of the built-in one is left")
		require.Equal(t, Project, d.Origin.Layer)
		d, ok = c.Without(BuiltIn).Lookup(builtIn.Name)
		require.True(t, ok, "and it stays without the built-in ones")
		require.Equal(t, "Ours.", d.Body)
	}
}

// What a built-in agent may do at most is said by fields, and never by a text that names another owner's tools.
func TestTheBuiltInAgentsBodiesNameNoTool(t *testing.T) {
	mention := regexp.MustCompile("`[^`]+`|\\b(Bash|Glob|Grep|LS|LSP|[A-Z][a-z]+[A-Z]\\w*)\\b")
	require.Regexp(t, mention, "Use WebFetch.")
	require.Regexp(t, mention, "Use `Read`.")
	c, _ := Load(LoadOptions{})
	for _, d := range c.All() {
		require.NotRegexp(t, mention, d.Body, d.Name)
		require.NotRegexp(t, mention, d.Description, d.Name)
		require.Less(t, strings.Count(d.Body, "\n"), 60, d.Name)
	}
	looking := []string{"explore", "plan", "reviewer"}
	for _, d := range c.All() {
		require.Equal(t, slices.Contains(looking, d.Name), d.Mode == "plan", d.Name)
		require.Equal(t, d.Name == "verifier" || d.Name == "web-researcher", len(d.Rules) == 1, d.Name)
	}
}

func TestEverySpellingOfAListIsTheSame(t *testing.T) {
	want := []string{"Read", "Grep", "Bash(git log, *)"}
	for name, text := range map[string]string{
		"comma text":   "tools: Read, Grep, Bash(git log, *)",
		"stray commas": "tools: ', Read,, Grep , Bash(git log, *),'",
		"flow list":    `tools: [Read, Grep, "Bash(git log, *)"]`,
		"block list":   "tools:\n  - Read\n  - Grep\n  - Bash(git log, *)",
		"flush list":   "tools:\n- Read\n- \"Grep\"\n- 'Bash(git log, *)'",
		"mixed":        `tools: ["Read, Grep", "Bash(git log, *)"]`,
		"twice":        "tools: Read, Grep, Read, Bash(git log, *)",
	} {
		t.Run(name, func(t *testing.T) {
			d, diags := loaded(t, ".peri/agents/rev.md", file(text))
			require.Empty(t, diags)
			require.NotNil(t, d)
			require.Equal(t, want, d.Tools)
			deny, diags := loaded(t, ".peri/agents/rev.md", file(strings.Replace(text, "tools:", "disallowedTools:", 1)))
			require.Empty(t, diags)
			require.Equal(t, want, deny.Deny)
			require.Nil(t, deny.Tools, "no list is not an empty one")
		})
	}
	d, diags := loaded(t, ".peri/agents/rev.md", file("tools: []"))
	require.Empty(t, diags)
	require.NotNil(t, d.Tools)
	require.Empty(t, d.Tools)
}

func TestEveryEndingOfLinesLoadsTheSame(t *testing.T) {
	plain := file("tools: Read", "permissionMode: plan")
	want, diags := loaded(t, ".peri/agents/rev.md", plain)
	require.Empty(t, diags)
	lines := strings.SplitAfter(plain, "\n")
	for i := range lines {
		if i%2 == 0 {
			lines[i] = strings.Replace(lines[i], "\n", "\r\n", 1)
		}
	}
	for name, text := range map[string]string{
		"BOM":                "\uFEFF" + plain,
		"CRLF":               strings.ReplaceAll(plain, "\n", "\r\n"),
		"lone CR":            strings.ReplaceAll(plain, "\n", "\r"),
		"mixed":              strings.Join(lines, ""),
		"no final newline":   strings.TrimRight(plain, "\n"),
		"blanks at fences":   strings.ReplaceAll(plain, "---\n", "--- \t\n"),
		"BOM and CRLF":       "\uFEFF" + strings.ReplaceAll(plain, "\n", "\r\n"),
		"blank lines behind": plain + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			d, diags := loaded(t, ".peri/agents/rev.md", text)
			require.Empty(t, diags)
			require.Equal(t, want, d)
		})
	}
}

func TestABrokenFileIsReportedAndRegistersNothing(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		says         string
	}{
		{"an unindented description", "---\nname: rev\ndescription: Reviews\nwhat changed\ntools: Read\n---\nx\n", 4, 1, "not YAML"},
		{"a colon in a text", "---\nname: rev\ndescription: use when: asked\n---\nx\n", 3, 22, "not YAML"},
		{"an open list", "---\nname: rev\ntools: [Read\n---\nx\n", 3, 8, "not YAML"},
		{"no end", "---\nname: rev\ntools: Read\n", 1, 1, "does not end"},
		{"a list on top", "---\n- name\n---\nx\n", 2, 1, "no map"},
		{"a field twice", "---\nname: rev\ntools: Read\ntools: Bash\n---\nx\n", 4, 1, "there twice"},
		{"two documents", "---\nname: rev\n...\na: b\n---\nx\n", 4, 1, "second document"},
		{"a merge key", "---\nname: rev\n<<: {tools: Read}\n---\nx\n", 3, 1, "not a field's name"},
		{"nothing behind tools", file("tools:"), 4, 1, "nothing stands behind it"},
		{"null", file("tools: ~"), 4, 1, "nothing stands behind it"},
		{"an empty text", file(`tools: ""`), 4, 8, `found ""`},
		{"commas alone", file(`tools: ", ,"`), 4, 8, "tools: found"},
		{"nothing behind disallowedTools", file("disallowedTools:"), 4, 1, "nothing stands behind it"},
		{"a misspelt key in a map of tools", file("tools:", "  allow: [Read]"), 5, 3, "no field, and ignoring it could widen"},
		{"a map of tools that mixes", file("tools: {read: true, allowed: [Read]}"), 4, 9, "no field"},
		{"nothing behind allowed", file("tools: {allowed: }"), 4, 9, "nothing stands behind it"},
		{"a required list of tools", file("tools: {required: [Read]}"), 4, 9, "no field"},
		{"a selector that is none", file("tools: [Read, '(']"), 4, 1, "a tool's name is missing"},
		{"a scope that does not end", file("disallowedTools: ['Bash(rm *']"), 4, 1, "not closed"},
		{"approval in a deny list", file("disallowedTools: hitl"), 4, 1, "approval is no tool"},
		{"a delegate that is none", file("delegates: ['|']"), 4, 1, "a tool's name is missing"},
		{"a boolean", file("tools: true"), 4, 8, "found true"},
		{"an empty entry", file("tools: [Read, ~]"), 4, 15, "an empty entry"},
		{"blanks between tools", file("tools: Read Grep"), 4, 8, `"Read Grep" is no selector`},
		{"allowed-tools", file("allowed-tools: [Read]"), 4, 1, "would widen"},
		{"allowedTools", file("allowedTools: Read"), 4, 1, "would widen"},
		{"disallowed_tools", file("disallowed_tools: Bash"), 4, 1, "would widen"},
		{"Tools", file("Tools: Read"), 4, 1, "would widen"},
		{"a typing error", file("disalowedTool: Bash"), 4, 1, "no field"},
		{"permission_mode", file("permission_mode: plan"), 4, 1, "would widen"},
		{"mode", file("mode: plan"), 4, 1, "could widen"},
		{"nothing behind requiredMcpServers", file("requiredMcpServers:"), 4, 1, "nothing stands behind it"},
		{"required_mcp_servers", file("required_mcp_servers: [github]"), 4, 1, "no field"},
		{"a misspelt key of mcp", file("mcp: {requires: [github]}"), 4, 7, "no field"},
		{"categories of skills", file("skills: {categories: [a]}"), 4, 10, "not enforced"},
		{"a ruleset with another action", file("permission: {edit: never}"), 4, 20, `found "never"`},
		{"a ruleset about an address", file("permission: {webfetch: {'https://a/*': deny}}"), 4, 14, "by their host"},
		{"a ruleset about nothing", file("permission: {}"), 4, 1, "found a map"},
		{"permissions", file("permissions: {edit: deny}"), 4, 1, "not enforced"},
		{"background as a text", file("background: yes please"), 4, 13, "background"},
		{"hooks of an untrusted project that guard", file("hooks: {PreToolUse: [{hooks: [{command: x}]}]}"), 4, 1, "not trusted"},
		{"an unknown mode", file("permissionMode: careful"), 4, 17, `"careful" is no mode`},
		{"turns", file("maxTurns: many"), 4, 11, "maxTurns"},
		{"enabled as a text", file(`enabled: "false"`), 4, 10, "enabled"},
		{"a model that is false", file("model: false"), 4, 8, "model"},
		{"an illegal name", "---\nname: a/b\ndescription: x\n---\nx\n", 2, 7, "no agent's name"},
		{"no name", "---\ndescription: x\n---\nx\n", 2, 1, "name is missing"},
		{"no text", "---\nname: rev\ndescription: x\n---\n\n", 1, 1, "no text"},
		{"not UTF-8", "---\nname: rev\ndescription: \xff\n---\nx\n", 3, 14, "not UTF-8"},
		{"nesting", "---\nname: rev\nx: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n---\nx\n", 3, 0, "not YAML"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := write(t, map[string]string{
				".peri/agents/rev.md":  c.text,
				".peri/agents/fine.md": "---\nname: fine\ndescription: Works.\n---\nYou work.\n",
			})
			cat, diags := Load(LoadOptions{Root: root})
			require.Contains(t, names(cat), "fine", "a broken file hurts no other")
			require.Equal(t, among("fine"), names(cat))
			require.NotEmpty(t, diags)
			d := diags[0]
			require.Equal(t, meta.SeverityError, d.Severity)
			require.Equal(t, ".peri/agents/rev.md", d.Origin.File)
			require.Contains(t, d.Message, c.says)
			require.NotEmpty(t, d.Suggestion)
			require.Equal(t, c.line, d.Origin.Line, d.String())
			if c.column > 0 {
				require.Equal(t, c.column, d.Origin.Column, d.String())
			}
		})
	}
}

func TestMarkdownWithoutFrontMatterIsNoAgent(t *testing.T) {
	root := write(t, map[string]string{
		".peri/agents/README.md":     "# Agents\n\nNotes.\n\n---\n",
		".peri/agents/notes.txt":     "---\nname: no\n---\n",
		".peri/agents/rev/agent.md":  file(),
		".peri/agents/deep/other.md": file(),
	})
	c, diags := Load(LoadOptions{Root: root})
	require.Equal(t, among("rev"), names(c))
	require.Len(t, diags, 1)
	require.Equal(t, "agent_skipped", diags[0].Code)
	require.Equal(t, ".peri/agents/deep/other.md", diags[0].Origin.File)
}

func TestFieldsThatDoNothingAreReported(t *testing.T) {
	d, diags := loaded(t, ".claude/agents/rev.md", file("color: red", "skills: [a]", "memory: user", "mcpServers: [x, {y: {command: z}}]", "hooks: {Stop: [{hooks: [{command: x}]}]}", "modle: fast"))
	require.NotNil(t, d)
	require.JSONEq(t, `["a"]`, string(d.Extra(toolview.ExtraPreload)), "skills are preloaded")
	require.Len(t, diags, 5)
	for _, x := range diags {
		require.Equal(t, meta.SeverityWarning, x.Severity)
		require.Positive(t, x.Origin.Line)
	}
	require.Contains(t, diags[4].Suggestion, "model")
	d, diags = loaded(t, ".peri/agents/rev.md", "---\nname: rev\n---\nx\n")
	require.NotNil(t, d)
	require.Equal(t, "agent_undescribed", diags[0].Code)
}

func TestAStarInAClaudeFileMeansEveryTool(t *testing.T) {
	d, _ := loaded(t, ".claude/agents/rev.md", file(`tools: "*"`, "model: inherit", "maxTurns: 7"))
	require.Equal(t, []string{"**"}, d.Tools)
	require.Empty(t, d.Model)
	require.Equal(t, 7, d.MaxTurns)
	d, _ = loaded(t, ".peri/agents/rev.md", file(`tools: "*"`, `model: ""`))
	require.Equal(t, []string{"*"}, d.Tools)
	require.Empty(t, d.Model)
}

func TestTheHighestFileCountsWhole(t *testing.T) {
	agent := func(body, extra string) string {
		return "---\nname: rev\ndescription: " + body + "\n" + extra + "---\n" + body + "\n"
	}
	home := write(t, map[string]string{
		".peri/agents/rev.md":   agent("user peri", "model: m1\n"),
		".claude/agents/rev.md": agent("user claude", ""),
		".peri/agents/plan.md":  "---\nname: plan\ndescription: Mine.\n---\nMine.\n",
	})
	steps := []struct{ path, want string }{{"", "user peri"}, {".claude/agents/rev.md", "project claude"}, {".peri/agents/rev.md", "project peri"}}
	files := map[string]string{"x": ""}
	for _, s := range steps {
		if s.path != "" {
			files[s.path] = agent(s.want, "tools: Read\n")
		}
		c, diags := Load(LoadOptions{Root: write(t, files), Home: home, Others: true})
		d, ok := c.Lookup("rev")
		require.True(t, ok)
		require.Equal(t, s.want, d.Body)
		require.Equal(t, s.path != "", d.Model == "", "no field of a lower file shows through")
		for _, x := range diags {
			require.Equal(t, "agent_shadowed", x.Code)
		}
		require.Len(t, diags, len(files), "each that is not used is named")
		plan, _ := c.Lookup("plan")
		require.Equal(t, User, plan.Origin.Layer)
		require.Equal(t, "~/.peri/agents/plan.md", plan.Origin.File)
	}
	c, _ := Load(LoadOptions{Home: write(t, map[string]string{".claude/agents/rev.md": agent("x", "")})})
	_, ok := c.Lookup("rev")
	require.False(t, ok, "a user's .claude is read on request only")
}

func TestABrokenFileDoesNotUncoverALowerOne(t *testing.T) {
	root := write(t, map[string]string{".peri/agents/general.md": "---\nname: general\ntools:\n---\nx\n"})
	c, diags := Load(LoadOptions{Root: root})
	require.Len(t, diags, 1)
	require.Equal(t, less(among(), "general"), names(c))
	root = write(t, map[string]string{".peri/agents/general.md": "---\nname: general\nenabled: false\n---\nx\n"})
	c, diags = Load(LoadOptions{Root: root})
	require.Empty(t, diags)
	require.Equal(t, less(among(), "general"), names(c))
}

func TestLinksAreFollowedInsideTheRootOnly(t *testing.T) {
	outside := write(t, map[string]string{"evil.md": file()})
	root := write(t, map[string]string{
		"shared/one.md":        "---\nname: one\ndescription: x\n---\nx\n",
		".peri/agents/keep.md": "---\nname: keep\ndescription: x\n---\nx\n",
	})
	agents := filepath.Join(root, ".peri", "agents")
	require.NoError(t, os.Symlink(filepath.Join(root, "shared", "one.md"), filepath.Join(agents, "one.md")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "evil.md"), filepath.Join(agents, "rev.md")))
	require.NoError(t, os.Symlink("loop.md", filepath.Join(agents, "loop.md")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".claude"), 0o755))
	require.NoError(t, os.Symlink("../.peri/agents", filepath.Join(root, ".claude", "agents")))
	c, diags := Load(LoadOptions{Root: root})
	require.Equal(t, among("keep", "one"), names(c))
	var said []string
	for _, d := range diags {
		require.Equal(t, "agent_broken", d.Code, "one folder by two ways is no duplicate: %s", d)
		said = append(said, d.Origin.File)
	}
	require.Subset(t, said, []string{".peri/agents/loop.md", ".peri/agents/rev.md"})

	root = write(t, map[string]string{"x": ""})
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".peri"), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, ".peri", "agents")))
	c, diags = Load(LoadOptions{Root: root})
	require.Equal(t, among(), names(c))
	require.Equal(t, "agent_folder", diags[0].Code)
}

func TestAnUntrustedProjectCannotWidenAMode(t *testing.T) {
	for mode, want := range map[string][2]string{ // untrusted, trusted
		"acceptEdits": {"", "acceptEdits"}, "bypass": {"", "bypass"}, "bypassPermissions": {"", "bypass"},
		"plan": {"plan", "plan"}, "dontAsk": {"dontAsk", "dontAsk"}, "default": {"default", "default"},
	} {
		for i, trusted := range []bool{false, true} {
			root := write(t, map[string]string{".peri/agents/rev.md": file("permissionMode: " + mode)})
			c, diags := Load(LoadOptions{Root: root, Trusted: trusted})
			d, ok := c.Lookup("rev")
			require.True(t, ok)
			require.Equal(t, want[i], d.Mode, mode)
			require.Equal(t, want[0] != want[1] && !trusted, len(diags) == 1, mode)
		}
		home := write(t, map[string]string{".peri/agents/rev.md": file("permissionMode: " + mode)})
		c, diags := Load(LoadOptions{Home: home})
		d, _ := c.Lookup("rev")
		require.Equal(t, want[1], d.Mode, "a user's own file is trusted")
		require.Empty(t, diags)
	}
}

func TestSettingsAreLaidOverFieldByField(t *testing.T) {
	p := func(s string) *string { return &s }
	no, turns := false, 3
	root := write(t, map[string]string{".peri/agents/rev.md": file("model: m0", "disallowedTools: Bash", "maxTurns: 9")})
	at := meta.Origin{Layer: Project, File: "settings.yaml", Line: 4}
	c, diags := Load(LoadOptions{Root: root, Overlay: map[string]Fields{
		"rev":     {Model: p("m1"), Tools: &[]string{"Read"}, Origin: at},
		"explore": {MaxTurns: &turns, Mode: p("bypass"), Origin: at},
		"plan":    {Enabled: &no},
		"revv":    {Model: p("x"), Origin: at},
		"general": {Mode: p("fast"), Origin: at},
	}})
	require.Equal(t, less(among("rev"), "general", "plan"), names(c))
	d, _ := c.Lookup("rev")
	require.Equal(t, "m1", d.Model)
	require.Equal(t, []string{"Read"}, d.Tools)
	require.Equal(t, []string{"Bash"}, d.Deny, "what settings do not say stays")
	require.Equal(t, 9, d.MaxTurns)
	e, _ := c.Lookup("explore")
	require.Equal(t, 3, e.MaxTurns)
	require.Equal(t, "plan", e.Mode, "an untrusted project widens nothing")
	require.Len(t, diags, 3)
	require.Equal(t, "agents.explore", diags[0].Key)
	require.Equal(t, "agents.general", diags[1].Key)
	require.Equal(t, "agents.revv", diags[2].Key)
	require.Contains(t, diags[2].Suggestion, "rev")
	require.Equal(t, at, diags[2].Origin)
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{file("tools: Read"), "---\n---\n", "---\r\nname: x\r\n---\r\n", "\uFEFF---\nname: [\n---", "---\na: &a [*a]\n---\nx", "x", "---\n? {a: b}\n: c\n---\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, ok, bad := split(raw)
		if !ok || bad != nil {
			return
		}
		r := define(doc, meta.Origin{Layer: Project, File: "x.md"}, periDialect, false)
		r.complete()
		if len(r.bad) > 0 {
			return
		}
		require.True(t, legal.MatchString(r.def.Name))
		require.False(t, wide(r.def.Mode), "an untrusted file widened its mode")
		for i := 0; i < len(doc.fields); i += 2 {
			if doc.fields[i].Value == "tools" {
				require.NotNil(t, r.def.Tools, "a list became no list")
			}
		}
	})
}

func TestIsolationIsAWorktreeOrTheAgentIsLeftOut(t *testing.T) {
	for _, path := range []string{".peri/agents/rev.md", ".claude/agents/rev.md"} {
		d, diags := loaded(t, path, file("isolation: worktree"))
		require.Empty(t, diags)
		require.Equal(t, "worktree", d.Spawn().Isolation)
		for _, wrong := range []string{"isolation: container", "isolation: true", "isolation:", "isolaton: worktree"} {
			d, diags = loaded(t, path, file(wrong))
			require.Nil(t, d, wrong)
			require.Equal(t, meta.SeverityError, diags[0].Severity, wrong)
			require.Contains(t, diags[0].Message+diags[0].Suggestion, "isolation", wrong)
		}
	}
}
