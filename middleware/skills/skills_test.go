package skills_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/skillpreload"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// mount is a folder with skills, by name and by what stands in their files.
func mount(t *testing.T, name string, files map[string]string) catalog.Mount {
	t.Helper()
	root := t.TempDir()
	for skill, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, skill), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, skill, "SKILL.md"), []byte(text), 0o600))
	}
	return catalog.Mount{Name: name, Layer: catalog.User, Root: root, Dir: ".", Shown: "~/" + name}
}

func read(t *testing.T, mounts ...catalog.Mount) *catalog.Catalog {
	t.Helper()
	c, _, diags, err := catalog.Load(catalog.LoadOptions{Mounts: mounts})
	require.NoError(t, err)
	require.Empty(t, diags)
	return c
}

func text(name, body string, lines ...string) string {
	out := "---\nname: " + name + "\ndescription: About " + name + ".\n"
	for _, l := range lines {
		out += l + "\n"
	}
	return out + "---\n" + body + "\n"
}

func TestSkillsAndTheirPreloadingCloseWhole(t *testing.T) {
	c := read(t, mount(t, "user", map[string]string{
		"style": text("style", "Tabs."), "ship": text("ship", "Ship $1.", "allowed-tools: Read"), "hidden": text("hidden", "x", "disable-model-invocation: true"),
	}))
	for name, o := range map[string]skills.Options{"some": {Catalog: c, Reserved: map[string]bool{"ship": true}}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			closuretest.Run(t, closuretest.Config{Middlewares: []middleware.Middleware{skills.New(o), skillpreload.New(skillpreload.Options{})}})
		})
	}
}

// open makes a session of a suite.
func open(t *testing.T, sc *script.Script, list ...middleware.Middleware) *session.Session {
	t.Helper()
	suite, err := middleware.NewSuite(list...)
	require.NoError(t, err)
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Models: sc.Models, Store: &memory.Store{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func prompt(t *testing.T, s *session.Session, text string) string {
	t.Helper()
	before := len(s.Messages())
	for _, err := range s.Prompt(t.Context(), session.Text(text)) {
		require.NoError(t, err)
	}
	out := ""
	for _, m := range s.Messages()[before:] {
		out += m.Text()
		for _, r := range m.Results() {
			out += r.Text()
		}
	}
	return out
}

func TestArgumentsStandWhereTheTextWantsThem(t *testing.T) {
	for name, c := range map[string]struct{ body, args, want string }{
		"all":              {"Do $ARGUMENTS now.", "a b", "Do a b now."},
		"none given":       {"Do $ARGUMENTS now.", "", "Do  now."},
		"by number":        {"From $1 to $2.", "a b", "From a to b."},
		"by index":         {"From $ARGUMENTS[0] to $ARGUMENTS[1].", "a b", "From a to b."},
		"quoted":           {"From $1 to $2.", `"a b" 'c d'`, "From a b to c d."},
		"an apostrophe":    {"From $1 to $2.", "don't stop", "From don't to stop."},
		"too few":          {"From $1 to $2.", "a", "From a to ."},
		"no place":         {"Do it.", "a", "Do it.\n\nArguments: a"},
		"scripts stay":     {"awk '{print $1}' $10 $ARGUMENTS_DIR", "", "awk '{print $1}' $10 $ARGUMENTS_DIR"},
		"not looked again": {"Do $ARGUMENTS.", "$1 $ARGUMENTS", "Do $1 $ARGUMENTS."},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mount(t, "user", map[string]string{"x": text("x", c.body)})
			args, err := json.Marshal(map[string]string{"name": "x", "arguments": c.args})
			require.NoError(t, err)
			s := open(t, script.New(script.Do("Skill", string(args)), script.Say("done"), script.Say("done")), skills.New(skills.Options{Catalog: read(t, dir)}))
			loaded := prompt(t, s, "go")
			require.Contains(t, loaded, "\n\n"+c.want+"done")
			real, err := filepath.EvalSymlinks(dir.Root)
			require.NoError(t, err)
			require.Contains(t, loaded, "Its files are in "+filepath.Join(real, "x")+";")
			require.Contains(t, prompt(t, s, "/x "+c.args), "\n\n"+c.want+"done", "and the same by slash")
		})
	}
}

func TestAMisspeltNameIsAnsweredWithNamesThatTheModelMayHave(t *testing.T) {
	dir := mount(t, "user", map[string]string{"review": text("review", "x"), "deploy": text("deploy", "x", "disable-model-invocation: true")})
	s := open(t, script.New(script.Do("Skill", `{"name":"reveiw"}`), script.Do("Skill", `{"name":"deplay"}`), script.Say("done")), skills.New(skills.Options{Catalog: read(t, dir)}))
	got := prompt(t, s, "go")
	require.Contains(t, got, "There is no skill `reveiw`. Did you mean `review`?")
	require.Contains(t, got, "There is no skill `deplay`.")
	require.NotContains(t, got, "deploy")
}

func TestALongTextIsCutAndSaysWhereTheRestIs(t *testing.T) {
	dir := mount(t, "user", map[string]string{"x": text("x", strings.Repeat("All of this is ü.\n", 10_000))})
	s := open(t, script.New(script.Do("Skill", `{"name":"x"}`), script.Say("done")), skills.New(skills.Options{Catalog: read(t, dir)}))
	loaded := prompt(t, s, "go")
	require.Less(t, len(loaded), 66<<10)
	require.Contains(t, loaded, "All of this is ü.\n[The text goes on: it has 189999 bytes. The rest is in ")
	require.Contains(t, loaded, filepath.Join("x", "SKILL.md")+".]")

	dir = mount(t, "user", map[string]string{"x": text("x", strings.Repeat("ü", 100_000))})
	s = open(t, script.New(script.Do("Skill", `{"name":"x"}`), script.Say("done")), skills.New(skills.Options{Catalog: read(t, dir)}))
	loaded = prompt(t, s, "go")
	require.Greater(t, len(loaded), 60<<10, "one long line keeps its head")
	require.NotContains(t, loaded, "\ufffd")
}

// bringer stands for who brings skills of its own, such as a plugin.
func bringer(t *testing.T, brought *catalog.Catalog) middleware.Middleware {
	t.Helper()
	raw, err := json.Marshal(brought)
	require.NoError(t, err)
	return middleware.Middleware{Name: "BringerMiddleware", Doc: "Brings skills.", Policy: raw, Extras: func(p json.RawMessage) ([]toolview.Extra, error) {
		return []toolview.Extra{{Kind: toolview.ExtraSkills, Value: p}}, nil
	}}
}

func TestSkillsThatAnotherBringsComeLastAndGoWithIt(t *testing.T) {
	own, other := mount(t, "user", map[string]string{"x": text("x", "Own.")}), mount(t, "plug", map[string]string{"x": text("x", "Other."), "y": text("y", "Brought.")})
	all := func(own *catalog.Catalog) skills.Options { return skills.Options{Catalog: own} }
	whole, _, _, err := catalog.Load(catalog.LoadOptions{Mounts: []catalog.Mount{own, other}})
	require.NoError(t, err)
	is := func(mount string) func(*catalog.Skill) bool {
		return func(s *catalog.Skill) bool { return s.ID[:len(mount)+1] == "@"+mount }
	}
	load := func() *script.Script {
		return script.New(script.Do("Skill", `{"name":"x"}`), script.Do("Skill", `{"name":"y"}`), script.Do("Skill", `{"name":"@plug/x"}`), script.Say("done"))
	}
	s := open(t, load(), bringer(t, whole.Where(is("plug"))), skills.New(all(whole.Where(is("user")))))
	got := prompt(t, s, "go")
	for _, part := range []string{"Own.", "Brought.", "Other."} {
		require.Contains(t, got, part)
	}
	require.Contains(t, s.Surface().String(), "skill @plug/y SkillsMiddleware")
	s = open(t, load(), skills.New(all(whole.Where(is("user")))))
	got = prompt(t, s, "go")
	require.Contains(t, got, "Own.")
	require.NotContains(t, got, "Brought.")
	require.Contains(t, got, "There is no skill `y`")
	require.NotContains(t, s.Surface().String(), "plug")
}
