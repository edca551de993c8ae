package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
)

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestTwoSpellingsInOneFolderAreRefused(t *testing.T) {
	s := newSite(t).project("model: a/b\n")
	require.Equal(t, "a/b", s.good().Settings.Model.V)
	s.file(s.at("settings.json"), "{}")
	require.Equal(t, []string{
		".peri/settings.yaml: the same settings stand in .peri/settings.yaml and .peri/settings.json; keep one of them",
	}, s.bad())
}

func TestUpstreamSettingsLoad(t *testing.T) {
	for name, text := range map[string]string{
		"top level":       `{"meta_harness": {"WebMiddleware": false}, "config": {"provider": {"key": null}}}`,
		"inside config":   `{"config": {"meta_harness": {"WebMiddleware": false}, "provider": null}}`,
		"the name of now": `{"meta": {"WebMiddleware": false}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.file(s.at("settings.json"), text)
			st, _ := state(t, s.good())
			require.False(t, st.Enabled("WebMiddleware"))
		})
	}
	s := newSite(t)
	s.file(s.at("settings.json"), "{\n\t\"meta\": {\"WebMiddleware\": true},\n\t\"config\": {\"meta_harness\": {}}\n}")
	require.Equal(t, []string{
		".peri/settings.json:3:13: config.meta_harness: is the same as meta at .peri/settings.json:2:2; keep one of the two, as meta",
	}, s.bad())
}

func TestAliasBesideItsNameIsReportedWithEverythingElse(t *testing.T) {
	s := newSite(t).project("meta:\n  Permission: true\n  PermissionMiddleware: true\nmodel: 1\n")
	s.opts.Keys = testKeys
	got := s.bad()
	require.Len(t, got, 2)
	require.Contains(t, got[0], ".peri/settings.yaml:4:8: model")
	require.Contains(t, got[1], ".peri/settings.yaml:3:3: PermissionMiddleware: PermissionMiddleware is set twice in one layer, first at")
}

func TestBadFilesAreRefusedWithTheirPlace(t *testing.T) {
	deepYAML := "tools: {deny: " + strings.Repeat("[", 120) + strings.Repeat("]", 120) + "}"
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"duplicate key":      {"yaml", "model: a/b\nlanguage: x\nmodel: c/d\n", `:3:1: the key "model" is there twice, first at .peri/settings.yaml:1:1; keep one of the two`},
		"duplicate in JSON":  {"json", "{\"a\": 1,\n \"a\": 2}", `:2:2: the key "a" is there twice, first at .peri/settings.json:1:2; keep one of the two`},
		"second document":    {"yaml", "model: a/b\n---\nmodel: c/d\n", ":2:1: a second document; keep one document a file"},
		"second JSON value":  {"json", "{}\n{}", ":2:1: not JSON: invalid character '{' after top-level value"},
		"merge key":          {"yaml", "x: &x {a: b}\ny:\n  <<: *x\n", ":3:3: merge keys (<<) are not read; use an alias for a whole value: key: *anchor"},
		"key that is a list": {"yaml", "? [a]\n: b\n", ":1:3: a key that is no text; write it in quotes"},
		"number as key":      {"yaml", "agents:\n  7: {}\n", ":2:3: a key that is no text; write it in quotes"},
		"tag":                {"yaml", "model: !secret x\n", ":1:8: unknown tag !secret; remove it"},
		"date":               {"yaml", "language: 2024-01-02\n", ":1:11: 2024-01-02 is read as a timestamp; write it in quotes"},
		"not a map":          {"yaml", "- a\n", ":1:1: found a list; settings are a map of keys"},
		"null document":      {"json", "null", ":1:1: found null; settings are a map of keys"},
		"not UTF-8":          {"yaml", "model: a/b\nlanguage: \xff\n", ":2:11: not UTF-8; save it as UTF-8"},
		"too big":            {"yaml", "# " + strings.Repeat("x", 1<<20), ": over 1 MiB; make it a readable file of up to 1 MiB"},
		"too deep":           {"yaml", deepYAML, ":1:114: nested deeper than 100; flatten it"},
		"far too deep":       {"yaml", strings.Repeat("[", 100_000), "exceeded max depth"},
		"too deep in JSON":   {"jsonc", "/* [ */ {\"a\": \"[\\\"\",\n\"b\": " + strings.Repeat("[", 500_000), ":2:105: nested deeper than 100; flatten it"},
		"alias bomb":         {"yaml", bomb, "aliases stand for more than 10000 values; write the values out"},
		"alias of itself":    {"yaml", "a: &x [*x]\n", "nested deeper than 100"},
		"unknown anchor":     {"yaml", "a: *nobody\n", ":1:4: not YAML: unknown anchor 'nobody' referenced"},
		"too many keys":      {"yaml", "a:\n" + numbered("  k%d: x\n", 4097), ":4098:3: a map of more than 4096 keys; split it"},
		"too many in JSON":   {"json", "{" + numbered("\"k%d\": 1,\n", 4097) + "}", ":4097:1: a map of more than 4096 keys; split it"},
		"long key":           {"yaml", strings.Repeat("k", 1025) + ": 1\n", ":1:1: a key of more than 1024 bytes; write a name"},
		"control character":  {"json", `{"a\u001f": 1}`, `:1:2: a key with a control character, "a\x1f"; write a name`},
		"tab":                {"yaml", "a:\n\tb: 1\n", ":2:1: not YAML: found character that cannot start any token"},
		"broken JSON":        {"jsonc", "{\n  // x\n  \"a\": tru\n}", ":3:8: not JSON: invalid literal: tru"},
		"infinite":           {"yaml", "compact: {budget: .inf}\n", ":1:19: not a finite number; write a number"},
		"huge in JSON":       {"json", `{"compact": {"budget": 1e999}}`, ":1:24: not a finite number; write a number"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			file := s.at("settings." + c.file)
			s.file(file, "{}")
			s.good()
			s.file(file, c.text)
			got := s.bad()
			require.Len(t, got, 1)
			require.Contains(t, got[0], ".peri/settings."+c.file)
			require.Contains(t, got[0], c.want)
		})
	}
}

func TestAnchorsWork(t *testing.T) {
	s := newSite(t).project("tools:\n  deny: &list [Bash, Write]\nskills:\n  deny: *list\n")
	got := s.good().Settings
	require.Equal(t, itemTexts(got.Tools.Deny), itemTexts(got.Skills.Deny))
	require.Len(t, got.Skills.Deny, 2)
}

func TestJSONKeepsItsPlacesAndItsText(t *testing.T) {
	s := newSite(t)
	s.file(s.at("settings.jsonc"), "{\n\t// why\n\t\"tools\": {\"deny\": [\"é\", \"\\ud83d\\ude00\\/\",],},\n}\n")
	deny := s.good().Settings.Tools.Deny
	require.Equal(t, []string{"é", "😀/"}, itemTexts(deny))
	require.Equal(t, s.at("settings.jsonc")+":3:26", deny[1].Origin.String(), "columns count characters")
}

func TestLinkedSettingsAreRead(t *testing.T) {
	s := newSite(t)
	real := filepath.Join(s.root, "dotfiles.yaml")
	s.file(real, "model: a/b\n")
	require.NoError(t, os.Symlink(real, filepath.Join(s.home, "settings.yaml")))
	require.Equal(t, "a/b", s.good().Settings.Model.V)
	require.NoError(t, os.Remove(real))
	require.Contains(t, s.bad()[0], "~/settings.yaml: stat: no such file")
}

func TestLayersAreListedWithTheirFiles(t *testing.T) {
	s := newSite(t).global("{}\n").local("permissions: {mode: bypass}\n")
	s.file(s.at("settings.yml"), "model: a/b")
	l := s.good()
	require.Equal(t, []config.LayerFile{
		{Name: "global", File: filepath.Join(s.home, "settings.yaml"), Loaded: true, Trusted: true},
		{Name: "project", File: s.at("settings.yml"), Loaded: true},
		{Name: "local", File: s.at("settings.local.yaml"), Loaded: true},
		{Name: "option", Trusted: true},
	}, l.Layers)
	require.Equal(t, []string{s.root, s.home}, []string{l.Root, l.Home})
}

func TestOverrideFoldersAreOpenedWhereTheyAre(t *testing.T) {
	s := newSite(t)
	require.Empty(t, s.good().Folders)
	for _, dir := range []string{filepath.Join(s.home, "meta"), s.at("meta")} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	l := s.good()
	require.Len(t, l.Folders, 2)
	require.Equal(t, []string{"global", "project"}, []string{l.Folders[0].Layer, l.Folders[1].Layer})
	require.Equal(t, s.at("meta"), l.Folders[1].Dir)
}

func TestRootIsTheNearestProject(t *testing.T) {
	base := t.TempDir()
	mk := func(parts ...string) string {
		dir := filepath.Join(append([]string{base}, parts...)...)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		return dir
	}
	home := mk("user", ".peri")
	deep := mk("user", "repo", "sub", "deep")
	find := func(dir string) string {
		root, err := config.FindRoot(dir, home)
		require.NoError(t, err)
		return root
	}
	require.Equal(t, deep, find(deep), "the home folder makes its parent no project")
	mk("user", "repo", ".git")
	require.Equal(t, filepath.Join(base, "user", "repo"), find(deep))
	mk("user", "repo", "sub", ".peri")
	require.Equal(t, filepath.Join(base, "user", "repo", "sub"), find(deep))
	other, err := config.FindRoot(filepath.Join(base, "user"), filepath.Join(base, "elsewhere"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, "user"), other, "it is a project for another home")
}

func TestHomeFolderIsNotReadTwice(t *testing.T) {
	s := newSite(t)
	s.home = s.at("")
	s.opts.Home = s.home
	s.project("hooks: {Stop: [{hooks: [{command: x}]}]}\n")
	l := s.good()
	require.Len(t, l.Settings.Hooks, 1)
	require.Len(t, l.Layers, 2)
	require.True(t, l.Trust.Trusted)
}

func TestDefaultHomeFollowsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PERI_HOME", dir)
	home, err := config.DefaultHome()
	require.NoError(t, err)
	require.Equal(t, dir, home)
	t.Setenv("PERI_HOME", "")
	t.Setenv("HOME", dir)
	home, err = config.DefaultHome()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, ".peri"), home)
}

func TestWriteFileKeepsLinkAndMode(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, config.WriteFile(target, []byte("one"), 0o600))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, config.WriteFile(link, []byte("two"), 0o644))
	require.Equal(t, "two", readFile(t, target))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(target)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary file stays")
	require.Error(t, config.WriteFile(filepath.Join(dir, "no", "file"), nil, 0o600))
}
