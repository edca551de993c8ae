package builtin_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

var update = flag.Bool("update", false, "write the goldens")

// write makes files below a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func load(t *testing.T, root, home string, set ...string) *builtin.Setup {
	t.Helper()
	s, _, err := builtin.Load(config.Options{Root: root, Home: home, Managed: "-", Set: set})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTheOrderIsWhatIsWrittenDown(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{})
	require.NoError(t, err)
	var b strings.Builder
	for _, m := range suite.All() {
		b.WriteString(m.Name + "\n")
		for _, s := range m.Segments {
			b.WriteString("  segment " + s.ID + " " + s.Zone.String() + "\n")
		}
		for _, x := range m.Tools.All() {
			b.WriteString("  direct " + x.Name + "\n")
		}
		for _, x := range m.Deferred.All() {
			b.WriteString("  deferred " + x.Name + "\n")
		}
		for _, r := range m.Routes {
			b.WriteString("  route /" + r.Name + "\n")
		}
	}
	golden := filepath.Join("testdata", "order.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "the order or what a middleware owns changed: read it, then -update")
}

func TestAProgramsOwnMiddlewareStandsBeforeTheToolSearch(t *testing.T) {
	own := middleware.Middleware{Name: "OwnMiddleware", Doc: "a program's own"}
	suite, err := builtin.Suite(builtin.Options{More: []middleware.Middleware{own}})
	require.NoError(t, err)
	all := suite.All()
	require.Equal(t, "OwnMiddleware", all[len(all)-2].Name)
	require.Equal(t, "ToolSearchMiddleware", all[len(all)-1].Name)

	s, diags, err := builtin.Load(config.Options{
		Root: t.TempDir(), Home: t.TempDir(), Managed: "-", Set: []string{"meta.OwnMiddleware=false"},
	}, own)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Empty(t, diags, "its key is known")
}

func TestEveryUpstreamNameIsAnsweredWithOurs(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{})
	require.NoError(t, err)
	for upstream, ours := range map[string]string{
		"FilesystemMiddleware":  "WorkspaceMiddleware",
		"TerminalMiddleware":    "WorkspaceMiddleware",
		"ImageMiddleware":       "AtMentionMiddleware",
		"AgentDefineMiddleware": "SubAgentMiddleware",
	} {
		_, diags, err := meta.Resolve(suite.Keys(), meta.Layer{Name: "project", Entries: []meta.Entry{{Key: upstream}}})
		require.NoError(t, err)
		require.Len(t, diags, 1, upstream)
		require.Contains(t, diags[0].Suggestion, ours)
	}
	for _, alias := range []string{"ToolSearch", "meta_harness"} {
		k, ok := suite.Keys().Lookup(alias)
		require.True(t, ok, alias)
		require.Equal(t, "ToolSearchMiddleware", k.Name)
	}
}

func TestSettingsReachTheirMiddlewares(t *testing.T) {
	root := write(t, map[string]string{".peri/settings.yaml": `
language: Latin
persona: terse
permissions: {mode: plan, deny: [Bash]}
tools: {allow: [], deny: [Grep], without_search: hide}
workspace: {restrict_system: true}
memory: {provider: files}
subagents: {depth: 0, multitask: 2}
`})
	s := load(t, root, write(t, map[string]string{"settings.yaml": "web: {search: 'searxng:https://search.example'}\n"}))
	require.Empty(t, s.Diagnostics)
	for name, want := range map[string]string{
		"LangMiddleware":                `"Latin"`,
		"DefaultSystemPromptMiddleware": `"terse"`,
		"PermissionMiddleware":          `"mode":"plan","deny":[{"text":"Bash"`,
		"WorkspaceMiddleware":           `"restrict_system":true`,
		"WebMiddleware":                 `searxng:https://search.example`,
		"MemoryMiddleware":              `"provider":"files"`,
		"SubAgentMiddleware":            `"depth":-1,"multitask":2`,
	} {
		m, ok := s.Blueprint.Suite.Lookup(name)
		require.True(t, ok)
		require.Contains(t, string(m.Policy), want, name)
	}
	require.Equal(t, [][]toolview.Selector{{}}, s.Blueprint.Lists.Allow, "an empty allow list is not none")
	require.Equal(t, "Grep", s.Blueprint.Lists.Deny[0].Text)
	require.Equal(t, toolview.Hide, s.Blueprint.WithoutSearch)
}

func TestNoSettingIsSilentlyInert(t *testing.T) {
	root := write(t, map[string]string{".peri/settings.yaml": `
compact: {budget: 0.5, auto: false}
agents: {explore: {memory: user}}
`})
	s := load(t, root, t.TempDir())
	var keys []string
	for _, d := range s.Diagnostics {
		require.Equal(t, "not_honoured", d.Code, d)
		require.NotZero(t, d.Origin.Line, d)
		keys = append(keys, d.Key)
	}
	require.ElementsMatch(t, []string{
		"compact.budget", "compact.auto", "agents.explore.memory",
	}, keys)
}

func TestAFieldThatRestrictsAnAgentIsHonouredOrTheAgentIsLeftOut(t *testing.T) {
	for field, holds := range map[string]func(d *subagent.Definition) bool{
		"mcp: [a]":                          func(d *subagent.Definition) bool { return d.Kinds[0].Allow[0].Text == "mcp:a" },
		"mcp: {required: [a], allowed: []}": func(d *subagent.Definition) bool { return d.Servers[0] == "a" && d.Kinds[0].Allow != nil },
		"requiredMcpServers: [a]":           func(d *subagent.Definition) bool { return d.Servers[0] == "a" },
		"tools: {allowed: [Read]}":          func(d *subagent.Definition) bool { return d.Tools == nil && d.Kinds[0].Allow[0].Text == "Read" },
		"tools: {categories: [search]}":     func(d *subagent.Definition) bool { return d.Kinds[0].Categories[0] == "search" },
		"disallowedTools: Bash(rm *)":       func(d *subagent.Definition) bool { return d.Deny[0] == "Bash(rm *)" && d.DenyAt.Line == 3 },
		"tools: ','":                        nil,
		"tools: {allow: [Read]}":            nil,
		"mcp: {require: [a]}":               nil,
		"skills: {categories: [a]}":         nil,
		"disallowedTools: ['Bash(rm *']":    nil,
		"disallowedTools: [hitl]":           nil,
	} {
		t.Run(field, func(t *testing.T) {
			root := write(t, map[string]string{".peri/settings.yaml": "agents:\n  explore:\n    " + field + "\n"})
			home := write(t, map[string]string{"settings.yaml": ""})
			s := load(t, root, home)
			d, there := s.Catalog.Lookup("explore")
			require.Equal(t, holds != nil, there)
			if there {
				require.True(t, holds(d), "%+v", d)
				return
			}
			require.Equal(t, "agent_broken", s.Diagnostics[0].Code)
			require.Equal(t, 3, s.Diagnostics[0].Origin.Line)
		})
	}
}

func TestAnUntrustedProjectsRulesetIsWithheld(t *testing.T) {
	root := write(t, map[string]string{".peri/settings.yaml": "agents:\n  explore:\n    permission: {edit: deny}\n"})
	s := load(t, root, write(t, map[string]string{"settings.yaml": ""}))
	require.Len(t, s.Diagnostics, 1)
	require.Equal(t, 3, s.Diagnostics[0].Origin.Line)
}

func TestARulesetInSettingsKeepsItsOrder(t *testing.T) {
	for _, order := range []string{"{'*': deny, read: allow}", "{read: allow, '*': deny}"} {
		s := load(t, t.TempDir(), write(t, map[string]string{"settings.yaml": "agents: {explore: {permission: " + order + "}}\n"}))
		d, ok := s.Catalog.Lookup("explore")
		require.True(t, ok)
		require.Equal(t, order[1] == 'r', d.Rules[0].Text == "read")
	}
}

func TestAnAgentsToolsThatMeanNothingAreReported(t *testing.T) {
	root := write(t, map[string]string{
		".peri/agents/good.md": "---\nname: good\ndescription: d\ntools: [Read, web, '@WorkspaceMiddleware']\n---\nDo it.\n",
		".peri/agents/typo.md": "---\nname: typo\ndescription: d\ntools: Raed\n---\nDo it.\n",
	})
	s := load(t, root, t.TempDir())
	require.Len(t, s.Diagnostics, 1)
	d := s.Diagnostics[0]
	require.Equal(t, "agents.typo", d.Key)
	require.Equal(t, ".peri/agents/typo.md", d.Origin.File)
	require.Contains(t, d.String(), `"Raed" selects no tool`)
	require.Contains(t, strings.ToLower(d.Suggestion), "read")
}

func TestAnAgentThatCannotStartIsReportedBeforeItIsStarted(t *testing.T) {
	root := write(t, map[string]string{".peri/agents/bad.md": "---\nname: bad\ndescription: d\ntools: ['(']\n---\nDo it.\n"})
	s := load(t, root, t.TempDir())
	require.Len(t, s.Diagnostics, 1)
	require.Equal(t, meta.SeverityError, s.Diagnostics[0].Severity)
	require.Contains(t, s.Diagnostics[0].String(), `.peri/agents/bad.md:4:1: error: selector "(`)
}

func TestAllThatIsRefusedIsReportedAtOnce(t *testing.T) {
	home := write(t, map[string]string{"settings.yaml": `
permissions: {allow: ["Bash(git *"], deny: [""]}
tools: {deny: ["Web(*"]}
web: {search: nothing}
memory: {folder: notes}
`})
	_, _, err := builtin.Load(config.Options{Root: t.TempDir(), Home: home, Managed: "-"})
	for _, part := range []string{"Bash(git *", "Web(*", "web", "permissions.deny", `settings.yaml:5:10: memory.folder: memory: memory.folder "notes": write an absolute path`} {
		require.ErrorContains(t, err, part)
	}
}

func TestAWideAgentOfAProjectWantsTrustAndKeepsItWhileItIsTheSame(t *testing.T) {
	root := write(t, map[string]string{".peri/agents/wide.md": "---\nname: wide\ndescription: d\npermissionMode: bypass\n---\nDo it.\n"})
	home := t.TempDir()
	mode := func() string {
		s := load(t, root, home)
		d, ok := s.Catalog.Lookup("wide")
		require.True(t, ok)
		return d.Mode
	}
	require.Empty(t, mode())
	s := load(t, root, home)
	require.NotEmpty(t, s.Loaded.Trust.Digest)
	require.Len(t, s.Wants(), 1)
	require.Equal(t, "agent wide", s.Wants()[0].Key)
	require.Equal(t, ".peri/agents/wide.md", s.Wants()[0].Origin.File)
	require.NoError(t, config.Trust(home, root, s.Loaded.Trust.Digest))
	require.Equal(t, "bypass", mode())
	require.Empty(t, load(t, root, home).Wants())

	changed := "---\nname: wide\ndescription: d\npermissionMode: bypass\n---\nDo something else.\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, ".peri/agents/wide.md"), []byte(changed), 0o600))
	require.Empty(t, mode(), "another text wants trust of its own")
}

func TestAnUntrustedProjectThatClosesAGateIsRefusedUntilItIsTrusted(t *testing.T) {
	root := write(t, map[string]string{".peri/settings.yaml": "meta:\n  PermissionMiddleware: false\n  WebMiddleware: false\n"})
	home := t.TempDir()
	s := load(t, root, home)
	refused := s.Refusals()
	require.Len(t, refused, 1, "closing what guards nothing is anybody's right")
	require.Equal(t, "PermissionMiddleware", refused[0].Key)
	require.Equal(t, 2, refused[0].Origin.Line)
	require.NoError(t, config.Trust(home, root, s.Loaded.Trust.Digest))
	require.Empty(t, load(t, root, home).Refusals())
}
