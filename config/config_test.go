package config_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
)

// site is a home and a project in temporary folders.
type site struct {
	t          testing.TB
	home, root string
	opts       config.Options
}

func newSite(t testing.TB) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &site{t: t, home: filepath.Join(base, "home"), root: filepath.Join(base, "root")}
	require.NoError(t, os.MkdirAll(s.home, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, ".peri"), 0o755))
	s.opts = config.Options{Home: s.home, Root: s.root, Managed: "-"}
	return s
}

func (s *site) global(text string) *site  { return s.file(filepath.Join(s.home, "settings.yaml"), text) }
func (s *site) project(text string) *site { return s.file(s.at("settings.yaml"), text) }
func (s *site) local(text string) *site   { return s.file(s.at("settings.local.yaml"), text) }
func (s *site) at(name string) string     { return filepath.Join(s.root, ".peri", name) }

func (s *site) file(name, text string) *site {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(name, []byte(text), 0o644))
	return s
}

func (s *site) load() (*config.Loaded, []meta.Diagnostic, error) {
	s.t.Helper()
	l, diags, err := config.Load(s.opts)
	if l != nil {
		s.t.Cleanup(func() { require.NoError(s.t, l.Close()) })
	}
	return l, diags, err
}

func (s *site) good() *config.Loaded {
	s.t.Helper()
	l, _, err := s.load()
	require.NoError(s.t, err)
	return l
}

// trusted loads, trusts what is there, and loads again.
func (s *site) trusted() *config.Loaded {
	s.t.Helper()
	require.NoError(s.t, config.Trust(s.home, s.root, s.good().Trust.Digest))
	l := s.good()
	require.True(s.t, l.Trust.Trusted)
	return l
}

// bad loads and gives the error's lines, with the folders left out.
func (s *site) bad() []string {
	s.t.Helper()
	l, _, err := s.load()
	require.Error(s.t, err)
	require.Nil(s.t, l)
	return strings.Split(s.short(err.Error()), "\n")
}

func (s *site) short(text string) string {
	return strings.NewReplacer(s.home+"/", "~/", s.root+"/", "").Replace(text)
}

func itemTexts(items []config.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Text)
	}
	return out
}

func servers(l *config.Loaded) []string {
	var out []string
	for _, s := range l.Settings.MCP {
		out = append(out, s.Name)
	}
	return out
}

var testKeys = func() meta.Keys {
	keys, err := meta.NewKeys([]meta.Key{
		{Name: "TodoMiddleware", Kind: meta.Middleware},
		{Name: "WebMiddleware", Kind: meta.Middleware},
		{Name: "SubAgentMiddleware", Kind: meta.Middleware},
		{Name: "PermissionMiddleware", Kind: meta.Middleware, Aliases: []string{"Permission"}},
	})
	if err != nil {
		panic(err)
	}
	return keys
}()

func state(t testing.TB, l *config.Loaded) (*meta.State, []meta.Diagnostic) {
	t.Helper()
	r, diags, err := meta.Resolve(testKeys, l.Meta...)
	require.NoError(t, err)
	s, more := meta.Freeze(r, l.Folders)
	return s, append(diags, more...)
}

// field case 28
func TestProjectEntryLeavesGlobalEntriesInPlace(t *testing.T) {
	s := newSite(t).
		global("meta: {TodoMiddleware: false}\nmcp: {servers: {a: {command: a}, b: {url: 'http://b'}}}\n").
		project("meta: {WebMiddleware: false}\nmcp: {servers: {c: {command: c}}}\n")
	l := s.trusted()
	require.Equal(t, []string{"a", "b", "c"}, servers(l))
	st, _ := state(t, l)
	require.False(t, st.Enabled("TodoMiddleware"))
	require.False(t, st.Enabled("WebMiddleware"))
	require.True(t, st.Enabled("SubAgentMiddleware"))
}

// field case 29
func TestFlagAloneTurnsOnWhatGlobalDefinesOff(t *testing.T) {
	s := newSite(t).
		global("mcp: {servers: {a: {command: run, args: [x, y], enabled: false}}}\n").
		project("mcp:\n  servers:\n    a: {enabled: true}\n")
	a := s.trusted().Settings.MCP[0]
	require.True(t, a.Enabled.V)
	require.Equal(t, "run", a.Command.V)
	require.Equal(t, []string{"x", "y"}, itemTexts(a.Args))
	require.Equal(t, config.Global, a.Command.Origin.Layer)
	require.Equal(t, s.at("settings.yaml")+":3:9", a.Enabled.Origin.String())
}

// field case 29
func TestOverrideWithoutBaseNamesItsFile(t *testing.T) {
	s := newSite(t).
		global("lsp: {servers: {go: {languages: [go]}}}\nopenapi: {sources: {pets: {enabled: false}}}\n").
		project("mcp:\n  servers:\n    a: {enabled: true}\n    b: {command: x, url: 'http://y'}\n")
	require.Equal(t, []string{
		".peri/settings.yaml:3:5: mcp.servers.a: overrides an entry that no layer defines; write its command or url, or remove it",
		".peri/settings.yaml:4:5: mcp.servers.b: has both a command and a url; keep one of the two",
		"~/settings.yaml:2:21: openapi.sources.pets: overrides an entry that no layer defines; write its document, or remove it",
		"~/settings.yaml:1:17: lsp.servers.go: overrides an entry that no layer defines; write its command, or remove it",
	}, s.bad())
}

// field case 30
func TestNullCannotRemoveAGlobalValue(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"meta key":   {"meta:\n  TodoMiddleware: null\n", ".peri/settings.yaml:2:19: meta.TodoMiddleware: found null; write false; null cannot remove the global value"},
		"tilde":      {"meta:\n  TodoMiddleware: ~\n", ".peri/settings.yaml:2:19: meta.TodoMiddleware: found null; write false; null cannot remove the global value"},
		"nothing":    {"meta:\n", ".peri/settings.yaml:1:6: meta: found null; write a map, or remove the key; null cannot remove a lower layer's value"},
		"model":      {"model: null\n", ".peri/settings.yaml:1:8: model: found null; write a text, or remove the key; null cannot remove a lower layer's value"},
		"tools":      {"tools:\n", ".peri/settings.yaml:1:7: tools: found null; write a map, or remove the key; null cannot remove a lower layer's value"},
		"allow list": {"tools: {allow: }\n", ".peri/settings.yaml:1:16: tools.allow: found null; write [] for nothing, or remove the key; null never means everything"},
		"an item":    {"tools: {deny: [a, null]}\n", ".peri/settings.yaml:1:19: tools.deny[1]: found null; write a text, or remove the key; null cannot remove a lower layer's value"},
		"agent's":    {"agents: {x: {skills: {allowed: ~}}}\n", ".peri/settings.yaml:1:32: agents.x.skills.allowed: found null; write a value, or remove it; null cannot remove a lower layer's value"},
		"flag":       {"workspace: {sandbox: null}\n", ".peri/settings.yaml:1:22: workspace.sandbox: found null; write false; null cannot remove the global value"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t).global("meta: {TodoMiddleware: false}\nmodel: a/b\ntools: {allow: [Read]}\n")
			st, _ := state(t, s.good())
			require.False(t, st.Enabled("TodoMiddleware"))
			require.Equal(t, []string{c.want}, s.project(c.text).bad())
		})
	}
}

// field case 31
func TestMisspeltSectionIsReportedWithTheNearestName(t *testing.T) {
	s := newSite(t).project(`
meta: {SubAgentMidleware: false}
metta: {WebMiddleware: false}
tools: {alow: [Read], deny: [Bash]}
mcp: {servers: {a: {command: x, arg: [y]}}}
hooks: {PreToolUsed: []}
`)
	l, diags, err := s.load()
	require.NoError(t, err)
	st, more := state(t, l)
	require.True(t, st.Enabled("SubAgentMiddleware"), "it is ignored")
	require.Nil(t, l.Settings.Tools.Allow)
	require.Equal(t, []string{"Bash"}, itemTexts(l.Settings.Tools.Deny), "what is right in the same section holds")
	var got []string
	for _, d := range append(diags, more...) {
		if d.Code == "unknown_key" {
			got = append(got, s.short(d.String()))
		}
	}
	require.Equal(t, []string{
		`.peri/settings.yaml:3:1: warning: unknown key "metta" is ignored (did you mean meta?)`,
		`.peri/settings.yaml:4:9: warning: unknown key "tools.alow" is ignored (did you mean allow?)`,
		`.peri/settings.yaml:5:33: warning: unknown key "mcp.servers.a.arg" is ignored (did you mean args?)`,
		`.peri/settings.yaml:6:9: warning: unknown key "hooks.PreToolUsed" is ignored (did you mean PreToolUse?)`,
		`.peri/settings.yaml:2:8: warning: unknown key "SubAgentMidleware" is ignored (did you mean SubAgentMiddleware?)`,
	}, got)
}

// field case 32
func TestOnlyBooleansAreBooleans(t *testing.T) {
	s := newSite(t).project("meta: {TodoMiddleware: false, WebMiddleware: true}\n")
	st, _ := state(t, s.good())
	require.False(t, st.Enabled("TodoMiddleware"))
	for written, want := range map[string]string{
		`"false"`:  `found the text "false"; write false, without quotes`,
		`no`:       `found the text "no"; write false, without quotes`,
		`off`:      `found the text "off"; write false, without quotes`,
		`"true"`:   `found the text "true"; write true, without quotes`,
		`yes`:      `found the text "yes"; write true, without quotes`,
		`0`:        `found the number 0; write false, without quotes`,
		`1`:        `found the number 1; write true, without quotes`,
		`[]`:       `found a list; write true or false`,
		`{}`:       `found a map; write true or false`,
		`disabled`: `found the text "disabled"; write true or false`,
	} {
		s.project("meta:\n  X: " + written + "\n")
		require.Equal(t, []string{".peri/settings.yaml:2:6: meta.X: " + want}, s.bad(), written)
	}
	s.project("meta:\n  X: !!bool no\n")
	require.Contains(t, s.bad()[0], "write true or false")
}

// field case 33
func TestByteOrderMarkIsAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"settings.yaml":  "meta: {TodoMiddleware: false}\n",
		"settings.yml":   "meta: {TodoMiddleware: false}\n",
		"settings.json":  `{"meta": {"TodoMiddleware": false}}`,
		"settings.jsonc": "// why\n{\"meta\": {\"TodoMiddleware\": false,},}\n",
	} {
		for _, bom := range []string{"", "\xEF\xBB\xBF"} {
			s := newSite(t)
			s.file(s.at(name), bom+text)
			st, diags := state(t, s.good())
			require.Empty(t, diags)
			require.False(t, st.Enabled("TodoMiddleware"), name)
			require.Equal(t, s.at(name), st.Why("TodoMiddleware").Origin.File)
		}
	}
}

// field case 34
func TestLineEndingsDoNotMatter(t *testing.T) {
	text := "meta:\n  TodoMiddleware: false\ntools:\n  deny:\n    - Bash\n    - Web*\n"
	want := newSite(t).project(text).good()
	for name, text := range map[string]string{
		"CRLF":             strings.ReplaceAll(text, "\n", "\r\n"),
		"lone CR":          strings.ReplaceAll(text, "\n", "\r"),
		"mixed":            strings.Replace(strings.Replace(text, "\n", "\r\n", 1), "deny:\n", "deny:\r\n", 1),
		"no final newline": strings.TrimSuffix(text, "\n"),
		"trailing blanks":  strings.ReplaceAll(text, "\n", "  \n"),
		"marker":           "---  \n" + text,
	} {
		t.Run(name, func(t *testing.T) {
			l := newSite(t).project(text).good()
			require.Equal(t, itemTexts(want.Settings.Tools.Deny), itemTexts(l.Settings.Tools.Deny))
			a, _ := state(t, want)
			b, _ := state(t, l)
			require.Equal(t, a.Digest(), b.Digest())
		})
	}
}

func TestEveryErrorOfEveryFileIsReportedAtOnce(t *testing.T) {
	s := newSite(t).
		global("workspace: {sandbox: 1}\nsubagents: {depth: -1, max_turns: 1.5}\ntools: {without_search: hid}\n").
		project("model: 3\nagents: {x: {allowed-tools: Read}}\nagents2: 1\n").
		local("a: [1\n")
	s.opts.Set = []string{"compact.budget=2", "nothing"}
	require.Equal(t, []string{
		"~/settings.yaml:1:22: workspace.sandbox: found the number 1; write true, without quotes",
		"~/settings.yaml:2:20: subagents.depth: found the number -1; write a whole number from 0 to 1048576",
		"~/settings.yaml:2:35: subagents.max_turns: found the number 1.5; write a whole number from 1 to 1048576",
		`~/settings.yaml:3:25: tools.without_search: found the text "hid"; write direct, hide, error; did you mean hide?`,
		".peri/settings.yaml:1:8: model: found the number 3; write a text",
		".peri/settings.yaml:2:14: agents.x.allowed-tools: is no field here, and ignoring it would widen what the agent may do; write tools",
		".peri/settings.local.yaml:2:1: not YAML: did not find expected ',' or ']' while parsing a flow sequence",
		"option: compact.budget: found the number 2; write a number from 0.05 to 1",
		"option: nothing: has no =; write path=value, such as meta.WebMiddleware=false",
	}, s.bad())
}

// field case 71
func TestOptionLayerBeatsFilesAndManagedBeatsAll(t *testing.T) {
	s := newSite(t).global("meta: {WebMiddleware: true}\nmodel: a/g\n").project("meta: {WebMiddleware: true}\nmodel: a/p\n")
	st, _ := state(t, s.good())
	require.True(t, st.Enabled("WebMiddleware"))

	s.opts.Set = []string{"meta.WebMiddleware=true", "meta.WebMiddleware=false", "model=a/o", `mcp.servers."x.y".command=run`}
	s.opts.Values = map[string]any{"language": "fr", "model": "a/v", "tools": map[string]any{"deny": []string{"Bash"}}}
	l := s.good()
	st, _ = state(t, l)
	require.False(t, st.Enabled("WebMiddleware"))
	require.Equal(t, config.Option, st.Why("WebMiddleware").Origin.String())
	require.Equal(t, "a/o", l.Settings.Model.V)
	require.Equal(t, "fr", l.Settings.Language.V)
	require.Equal(t, []string{"Bash"}, itemTexts(l.Settings.Tools.Deny))
	require.Equal(t, []string{"x.y"}, servers(l))

	s.opts.Managed = filepath.Join(s.root, "managed.yaml")
	s.file(s.opts.Managed, "meta: {WebMiddleware: true}\nmodel: a/m\n")
	l = s.good()
	st, _ = state(t, l)
	require.True(t, st.Enabled("WebMiddleware"))
	require.Equal(t, "a/m", l.Settings.Model.V)
}

// field cases 69 and 72
func TestLoadingIsASnapshot(t *testing.T) {
	s := newSite(t).project("tools: {deny: [Bash]}\n")
	before := s.good()
	s.project("tools: {deny: [Read]}\n")
	after := s.good()
	require.Equal(t, []string{"Bash"}, itemTexts(before.Settings.Tools.Deny))
	require.Equal(t, []string{"Read"}, itemTexts(after.Settings.Tools.Deny))
}

func TestLoadsMayRunAtTheSameTime(t *testing.T) {
	s := newSite(t).global("mcp: {servers: {a: {command: x}}}\ntools: {deny: [Bash]}\n").project("meta: {Webb: 1}\n")
	_, _, want := config.Load(s.opts)
	require.Error(t, want)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, _, err := config.Load(s.opts); err == nil || err.Error() != want.Error() {
					t.Error("another answer: ", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestGoValuesAreCheckedLikeAFile(t *testing.T) {
	s := newSite(t)
	s.opts.Values = map[string]any{"subagents": map[string]int{"depth": 2}, "meta": map[string]bool{"WebMiddleware": false}}
	require.Equal(t, 2, s.good().Settings.Subagents.Depth.V)
	s.opts.Values = map[string]any{
		"compact": map[string]any{"budget": math.NaN()},
		"model":   nil,
		"meta":    map[string]any{"X": "false"},
		"tools":   map[string]any{"deny": []any{1, func() {}}},
	}
	require.Equal(t, []string{
		"option: compact.budget: found the number NaN; write a number from 0.05 to 1",
		`option: meta.X: found the text "false"; write false, without quotes`,
		"option: model: found null; write a text, or remove the key; null cannot remove a lower layer's value",
		"option: tools.deny[0]: found the number 1; write a text",
		"option: tools.deny[1]: found a Go value of type func(); pass maps with text keys, slices, bool, string or numbers",
	}, s.bad())
}

func ExampleLoad() {
	root, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	loaded, _, err := config.Load(config.Options{
		Root: root, Home: filepath.Join(root, "home"), Managed: "-",
		Set: []string{"meta.WebMiddleware=false", "tools.deny=[Bash]"},
	})
	if err != nil {
		panic(err)
	}
	defer loaded.Close()
	fmt.Println(loaded.Meta[3].Name, loaded.Meta[3].Entries[0].Key, loaded.Settings.Tools.Deny[0].Text)
	// Output: option WebMiddleware Bash
}

func TestNothingWrittenGivesTheDefaults(t *testing.T) {
	l := newSite(t).project("# only a comment\n").good()
	got := l.Settings
	require.Equal(t, "offline", got.Model.V)
	require.Equal(t, "default", got.Permissions.Mode.V)
	require.Equal(t, "direct", got.Tools.WithoutSearch.V)
	require.Nil(t, got.Tools.Allow)
	require.True(t, got.Workspace.Sandbox.V && got.Workspace.AllowHome.V && got.Compact.Auto.V)
	require.False(t, got.Workspace.RestrictSystem.V || got.Workspace.BashAsync.V || got.Web.AllowPrivate.V)
	require.Equal(t, []int{5, 1, 50}, []int{got.Subagents.Multitask.V, got.Subagents.Depth.V, got.Subagents.MaxTurns.V})
	require.Equal(t, 0.8, got.Compact.Budget.V)
	require.False(t, got.Model.Set)
	require.Equal(t, meta.Origin{}, got.Model.Origin)
	require.True(t, l.Trust.Trusted, "there is nothing to trust")
	require.Empty(t, l.Trust.Digest)
}
