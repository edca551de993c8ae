package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

// write makes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// file is a SKILL.md with these lines of front matter.
func file(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\nDo it.\n"
}

func project(root string) catalog.Mount {
	return catalog.Mount{Name: "project", Layer: catalog.Project, Root: root, Dir: ".peri/skills", Shown: ".peri/skills"}
}

func claude(root string) catalog.Mount {
	return catalog.Mount{Name: "claude", Layer: catalog.Project, Root: root, Dir: ".claude/skills", Shown: ".claude/skills"}
}

func load(t testing.TB, rules catalog.Rules, mounts ...catalog.Mount) (*catalog.Catalog, []catalog.Entry, []meta.Diagnostic) {
	t.Helper()
	c, entries, diags, err := catalog.Load(catalog.LoadOptions{Mounts: mounts, Rules: rules})
	require.NoError(t, err)
	return c, entries, diags
}

func ids(c *catalog.Catalog) []string {
	out := []string{}
	for _, s := range c.All() {
		out = append(out, s.ID)
	}
	return out
}

// one loads a single SKILL.md from the folder x.
func one(t *testing.T, text string) (*catalog.Skill, []meta.Diagnostic) {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{".peri/skills/x/SKILL.md": text})
	c, _, diags := load(t, catalog.Rules{}, project(root))
	if len(c.All()) == 0 {
		return nil, diags
	}
	return &c.All()[0], diags
}

func TestFieldsOfTheFormatAreRead(t *testing.T) {
	s, diags := one(t, file("name: review", "description: |", "  Reviews a change.", "  Use it.", "license: MIT", "compatibility: any", "metadata: {a: b}",
		"allowed-tools: Bash(git add *) Read, Grep", "disallowed-tools: [WebFetch]", "disable-model-invocation: true", "user-invocable: false", "argument-hint: '[file]'"))
	require.Empty(t, diags)
	require.Equal(t, "@project/x", s.ID)
	require.Equal(t, "review", s.Name)
	require.Equal(t, "Reviews a change.\nUse it.", s.Description)
	require.Equal(t, []string{"Bash(git add *)", "Read", "Grep"}, s.Allow)
	require.Equal(t, []string{"WebFetch"}, s.Deny)
	require.True(t, s.NoModel)
	require.True(t, s.NoUser)
	require.Equal(t, "[file]", s.Hint)
	require.Equal(t, meta.Origin{Layer: "project", File: ".peri/skills/x/SKILL.md"}, s.Origin)
}

func TestToolsAreTheSameInEverySpelling(t *testing.T) {
	for name, line := range map[string]string{
		"blanks": "allowed-tools: Read Bash(git log *)", "commas": "allowed-tools: Read, Bash(git log *),", "quoted": `allowed-tools: "Read,Bash(git log *)"`,
		"flow": "allowed-tools: [Read, 'Bash(git log *)']", "block": "allowed-tools:\n  - Read\n  - Bash(git log *)",
	} {
		t.Run(name, func(t *testing.T) {
			s, diags := one(t, file("name: x", "description: d", line))
			require.Empty(t, diags)
			require.Equal(t, []string{"Read", "Bash(git log *)"}, s.Allow)
		})
	}
	s, diags := one(t, file("name: x", "description: d", "allowed-tools: []"))
	require.Empty(t, diags)
	require.NotNil(t, s.Allow, "an empty list is nothing, and not no list")
	s, _ = one(t, file("name: x", "description: d"))
	require.Nil(t, s.Allow)
}

func TestBrokenFileIsADiagnosticWithItsPlaceAndNoSkill(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		line, column int
		says         string
	}{
		"no front matter":     {"# Review\n", 1, 1, "does not begin with front matter"},
		"empty":               {"", 1, 1, "does not begin with front matter"},
		"open fence":          {"---\nname: x\n", 1, 1, "does not end"},
		"no YAML":             {file("name: x", "description: a: b"), 3, 15, "not YAML"},
		"no map":              {"---\n- a\n---\nx\n", 2, 1, "no map"},
		"twice":               {file("name: x", "name: y"), 3, 1, "twice"},
		"no body":             {"---\nname: x\ndescription: d\n---\n\n", 1, 1, "no text"},
		"bad name":            {file("name: a b", "description: d"), 2, 7, "no skill's name"},
		"null description":    {file("name: x", "description:"), 3, 13, "found nothing"},
		"null list":           {file("name: x", "allowed-tools:"), 3, 15, "found nothing"},
		"empty text":          {file("name: x", `allowed-tools: ""`), 3, 16, `found ""`},
		"list of maps":        {file("name: x", "allowed-tools: [{a: b}]"), 3, 17, "found a map"},
		"bad selector":        {file("name: x", "allowed-tools: 'Bash(git *'"), 3, 16, "not closed"},
		"approval is no tool": {file("name: x", "disallowed-tools: hitl"), 3, 19, "approval"},
		"flag as text":        {file("name: x", `disable-model-invocation: "true"`), 3, 27, `found "true"`},
		"flag as yes":         {file("name: x", "user-invocable: yes"), 3, 17, `found "yes"`},
		"near miss, camel":    {file("name: x", "allowedTools: [Read]"), 3, 1, "would widen"},
		"near miss, snake":    {file("name: x", "disable_model_invocation: true"), 3, 1, "would widen"},
		"near miss, agent's":  {file("name: x", "tools: Read"), 3, 1, "would widen"},
		"near miss, typo":     {file("name: x", "alowed-tools: Read"), 3, 1, "would widen"},
		"not UTF-8":           {"---\nname: x\ndescription: caf\xe9\n---\nx\n", 3, 17, "not UTF-8"},
		"deep":                {file("name: x", "metadata: "+strings.Repeat("[", 100)+strings.Repeat("]", 100)), 3, 0, "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			s, diags := one(t, c.text)
			require.Nil(t, s)
			require.NotEmpty(t, diags)
			d := diags[0]
			require.Equal(t, meta.SeverityError, d.Severity)
			require.Equal(t, "skill_broken", d.Code)
			require.Equal(t, ".peri/skills/x/SKILL.md", d.Origin.File)
			require.Equal(t, c.line, d.Origin.Line, d.String())
			if c.column > 0 {
				require.Equal(t, c.column, d.Origin.Column, d.String())
			}
			require.Contains(t, d.Message, c.says)
			require.NotEmpty(t, d.Suggestion)
		})
	}
}

func TestFieldsWithoutEffectAreTold(t *testing.T) {
	s, diags := one(t, file("description: d", "model: fast", "context: fork", "descriptoin: e", "colour: red"))
	require.Equal(t, "x", s.Name, "it goes by its folder's name")
	var said []string
	for _, d := range diags {
		require.Equal(t, meta.SeverityWarning, d.Severity)
		require.Positive(t, d.Origin.Line)
		said = append(said, d.String())
	}
	text := strings.Join(said, "\n")
	for _, part := range []string{"name is missing", "model is not honoured", "context is not honoured", "descriptoin is no field", "did you mean description", "colour is no field"} {
		require.Contains(t, text, part)
	}
	s, diags = one(t, file("name: x"))
	require.False(t, s.ForModel())
	require.Equal(t, "skill_undescribed", diags[0].Code)
	s, diags = one(t, file("name: x", "description: "+strings.Repeat("é", 2000)))
	require.Len(t, []rune(s.Description), 1024)
	require.Contains(t, diags[0].Message, "1024")
}

func TestSkillsLoadTheSameUnderEveryEncoding(t *testing.T) {
	plain := file("name: x", "description: d", "allowed-tools: Read")
	for name, text := range map[string]string{
		"LF": plain, "BOM": "\uFEFF" + plain, "CRLF": strings.ReplaceAll(plain, "\n", "\r\n"), "CR": strings.ReplaceAll(plain, "\n", "\r"),
		"BOM and CRLF": "\uFEFF" + strings.ReplaceAll(plain, "\n", "\r\n"), "blanks behind fences": strings.ReplaceAll(plain, "---\n", "--- \t\n"),
		"no final newline": strings.TrimRight(plain, "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, map[string]string{".peri/skills/x/SKILL.md": text})
			c, _, diags := load(t, catalog.Rules{}, project(root))
			require.Empty(t, diags)
			s, ok := c.Lookup("x")
			require.True(t, ok)
			require.Equal(t, []string{"Read"}, s.Allow)
			got, err := c.Read(s)
			require.NoError(t, err)
			require.Equal(t, "Do it.", got.Body)
			require.False(t, got.Changed)
		})
	}
}

func TestHigherPlaceHasTheNameAndTheLowerItsID(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{".peri/skills/a/SKILL.md": file("name: x", "description: p"), ".claude/skills/b/SKILL.md": file("name: X", "description: c")})
	write(t, home, map[string]string{"skills/group/x/SKILL.md": file("name: x", "description: u")})
	user := catalog.Mount{Name: "user", Layer: catalog.User, Root: home, Dir: "skills", Shown: "~/skills"}
	c, entries, diags := load(t, catalog.Rules{}, project(root), claude(root), user)
	require.Equal(t, []string{"@project/a", "@claude/b", "@user/group/x"}, ids(c))
	for name, want := range map[string]string{"x": "@project/a", "/x": "@project/a", "X": "@project/a", "@claude/b": "@claude/b", "@USER/group/x": "@user/group/x"} {
		s, ok := c.Lookup(name)
		require.True(t, ok, name)
		require.Equal(t, want, s.ID, name)
	}
	require.Len(t, diags, 2)
	for _, d := range diags {
		require.Equal(t, "skill_shadowed", d.Code)
		require.Contains(t, d.Message, ".peri/skills/a/SKILL.md")
	}
	require.Equal(t, []string{"x", "claude:b", "user:group:x"}, []string{entries[0].Command, entries[1].Command, entries[2].Command})

	// What is denied has no name to keep from others.
	c, _, diags = load(t, catalog.Rules{Deny: []toolview.Selector{{Text: "@project/a"}}}, project(root), user)
	s, _ := c.Lookup("x")
	require.Equal(t, "@user/group/x", s.ID)
	require.Empty(t, diags)
}

func TestTwoWaysToOneFolderAreOneSkill(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{".agents/skills/x/SKILL.md": file("name: x", "description: d")})
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".peri"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".claude"), 0o700))
	for _, link := range []string{".peri/skills", ".claude/skills"} {
		require.NoError(t, os.Symlink("../.agents/skills", filepath.Join(root, link)))
	}
	c, _, diags := load(t, catalog.Rules{}, project(root), claude(root))
	require.Equal(t, []string{"@project/x"}, ids(c))
	require.Empty(t, diags, "no false duplicate")
	s, _ := c.Lookup("x")
	got, err := c.Read(s)
	require.NoError(t, err)
	require.Equal(t, "Do it.", got.Body)
	real, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(real, ".agents", "skills", "x"), got.Folder)
}

func TestLinksInsideAreFollowedLoopsEndAndThoseThatLeadOutAreTold(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"evil/SKILL.md": file("name: evil", "description: d"), "file.md": file("name: f", "description: d")})
	write(t, root, map[string]string{".peri/skills/a/SKILL.md": file("name: a", "description: d"), "elsewhere/b/SKILL.md": file("name: b", "description: d"), ".peri/skills/c/notes.txt": "x"})
	in := func(name string) string { return filepath.Join(root, ".peri/skills", name) }
	require.NoError(t, os.Symlink("../../elsewhere/b", in("b")))
	require.NoError(t, os.Symlink("..", in("loop")))
	require.NoError(t, os.Symlink("self", in("self")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "evil"), in("evil")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "file.md"), in("c/SKILL.md")))
	require.NoError(t, os.Symlink("gone", in("dangling")))
	c, _, diags := load(t, catalog.Rules{}, project(root))
	require.Equal(t, []string{"@project/a", "@project/b"}, ids(c))
	var files []string
	for _, d := range diags {
		require.Equal(t, "skill_link", d.Code, d.String())
		files = append(files, d.Origin.File)
	}
	require.ElementsMatch(t, []string{".peri/skills/c/SKILL.md", ".peri/skills/evil", ".peri/skills/self", ".peri/skills/dangling"}, files)
}

func TestALinkThatIsSetAfterwardsLeadsNowhere(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{".peri/skills/a/SKILL.md": file("name: a", "description: d")})
	write(t, outside, map[string]string{"SKILL.md": file("name: a", "description: d")})
	c, _, _ := load(t, catalog.Rules{}, project(root))
	s, _ := c.Lookup("a")
	_, err := c.Read(s)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(root, ".peri/skills/a")))
	_, err = c.Read(s)
	require.ErrorContains(t, err, "no such file")
	require.NoError(t, os.Symlink(outside, filepath.Join(root, ".peri/skills/a")))
	_, err = c.Read(s)
	require.ErrorContains(t, err, "leads out")
}

func TestOneDecisionByEveryListThatSpeaksOfSkills(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{}
	for _, n := range []string{"review", "test-unit", "test-e2e"} {
		files[".peri/skills/"+n+"/SKILL.md"] = file("name: "+n, "description: d")
	}
	write(t, root, files)
	sel := func(texts ...string) []toolview.Selector {
		out := []toolview.Selector{}
		for _, t := range texts {
			out = append(out, toolview.Selector{Text: t, Origin: meta.Origin{File: "settings.yaml", Line: 1}})
		}
		return out
	}
	all := []string{"@project/review", "@project/test-e2e", "@project/test-unit"}
	for name, c := range map[string]struct {
		rules catalog.Rules
		want  []string
	}{
		"none":                    {catalog.Rules{}, all},
		"deny by name":            {catalog.Rules{Deny: sel("review")}, all[1:]},
		"deny by id":              {catalog.Rules{Deny: sel("@project/review")}, all[1:]},
		"deny by pattern":         {catalog.Rules{Deny: sel("test-*")}, all[:1]},
		"deny by pattern of ids":  {catalog.Rules{Deny: sel("@project/*")}, []string{}},
		"deny in a call's words":  {catalog.Rules{Deny: sel("Skill(test-*)")}, all[:1]},
		"deny wins":               {catalog.Rules{Allow: [][]toolview.Selector{sel("review")}, Deny: sel("review")}, []string{}},
		"allow":                   {catalog.Rules{Allow: [][]toolview.Selector{sel("review")}}, all[:1]},
		"allow by id":             {catalog.Rules{Allow: [][]toolview.Selector{sel("@project/review")}}, all[:1]},
		"allows intersect":        {catalog.Rules{Allow: [][]toolview.Selector{sel("test-*", "review"), sel("test-e2e")}}, all[1:2]},
		"allow nothing":           {catalog.Rules{Allow: [][]toolview.Selector{sel()}}, []string{}},
		"tools deny the calls":    {catalog.Rules{ToolDeny: sel("Skill(test-*)")}, all[:1]},
		"tools deny the id":       {catalog.Rules{ToolDeny: sel("@project/review")}, all[1:]},
		"tools deny all of them":  {catalog.Rules{ToolDeny: sel("Skill(*)")}, []string{}},
		"tools deny the tool":     {catalog.Rules{ToolDeny: sel("skill")}, []string{}},
		"tools deny the owner":    {catalog.Rules{ToolDeny: sel("@SkillsMiddleware")}, []string{}},
		"tools deny another":      {catalog.Rules{ToolDeny: sel("DiscoverSkills", "Bash(rm *)")}, all},
		"tools allow some":        {catalog.Rules{ToolAllow: [][]toolview.Selector{sel("Read", "Skill(review)")}}, all[:1]},
		"tools allow none at all": {catalog.Rules{ToolAllow: [][]toolview.Selector{sel("Read")}}, all},
	} {
		t.Run(name, func(t *testing.T) {
			c0, entries, diags := load(t, c.rules, project(root))
			require.Equal(t, c.want, ids(c0))
			require.Empty(t, diags)
			require.Len(t, entries, 3, "the list has all of them")
			for _, e := range entries {
				_, there := c0.Lookup(e.ID)
				require.Equal(t, there, !e.Denied(), e.ID)
			}
		})
	}
	_, _, diags := load(t, catalog.Rules{Deny: sel("reveiw")}, project(root))
	require.Len(t, diags, 1)
	require.Equal(t, "skill_unmatched", diags[0].Code)
	require.Contains(t, diags[0].Suggestion, "review")
	_, _, _, err := catalog.Load(catalog.LoadOptions{Rules: catalog.Rules{Deny: sel("Skill(")}})
	require.ErrorContains(t, err, "settings.yaml:1")
}

// BenchmarkAThousandSkills is what reading them costs when a session's settings are loaded.
func BenchmarkAThousandSkills(b *testing.B) {
	root := b.TempDir()
	files := map[string]string{}
	for i := range 1000 {
		n := fmt.Sprintf("skill-%d", i)
		files[".peri/skills/"+n+"/SKILL.md"] = file("name: "+n, "description: Does the thing number "+n+" and what belongs to it, when it is asked for.")
	}
	write(b, root, files)
	for b.Loop() {
		c, _, _ := load(b, catalog.Rules{}, project(root))
		if len(c.All()) != 1000 {
			b.Fatal(len(c.All()))
		}
	}
}

func FuzzASkillFileIsReadOrRefused(f *testing.F) {
	for _, s := range []string{file("name: x", "description: d"), "---\n---\n", "---\nname: [\n---\n", "\uFEFF---\r\nname: x\r\n---\r\nx", "---\nallowed-tools: 'a(b'\n---\nx", "---\na: &x [*x]\n---\n", ""} {
		f.Add(s)
	}
	root := f.TempDir()
	at := filepath.Join(root, ".peri/skills/x/SKILL.md")
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
		c, _, diags := load(t, catalog.Rules{}, project(root))
		if len(c.All()) == 0 {
			require.NotEmpty(t, diags)
			require.Positive(t, diags[0].Origin.Line)
			return
		}
		got, err := c.Read(&c.All()[0])
		require.NoError(t, err)
		require.NotEmpty(t, strings.TrimSpace(got.Body))
	})
}
