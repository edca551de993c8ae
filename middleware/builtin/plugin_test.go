package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
)

// plug copies the plugin of the tests into a folder of plugins.
func plug(t *testing.T, dir string) string {
	t.Helper()
	dir = filepath.Join(dir, "plugins", "review")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/plugins/review")))
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return real
}

// plugged is a family whose user has the plugin.
func plugged(t *testing.T, settings string, calls ...string) (*family, string) {
	f := newFamily(t, "", "", calls...)
	f.writeHome("permissions: {mode: bypass}\n" + settings)
	return f, plug(t, f.home)
}

func TestAPluginsHookGuardsTheWholeTree(t *testing.T) {
	touch := `{"command":"touch shipped"}`
	every(t, true, func(t *testing.T, w way) {
		f, dir := plugged(t, "", "Bash", touch)
		f.definition = "model: inherit"
		got := f.start(t, w)
		require.Len(t, got.answers, 1, got.told)
		require.Contains(t, got.answers[0], "the plugin at "+dir+" guards what is shipped")
		require.NoFileExists(t, filepath.Join(f.root, "shipped"))

		f, _ = plugged(t, "meta: {PluginMiddleware: false}\n", "Bash", touch)
		f.definition = "model: inherit"
		f.start(t, w)
		require.FileExists(t, filepath.Join(f.root, "shipped"))
	})
}

func TestAClosedPluginMiddlewareLeavesNothingOfWhatItBrought(t *testing.T) {
	names := []string{"critic", "/ship", "review"}
	look := func(settings string) (session.Surface, string) {
		f, _ := plugged(t, settings)
		f.write(".peri/skills/tide/SKILL.md", "---\nname: tide\ndescription: Reads the tide.\n---\nRead it.\n")
		s := f.open(script.New(), "main")
		out, err := s.SurfaceWithFork(t.Context())
		require.NoError(t, err)
		return out, shown(t, s)
	}
	facts := func(s session.Surface) map[string]bool {
		out := map[string]bool{}
		for _, f := range s {
			out[f.Name] = true
			if strings.Contains(f.Detail, "plugins/review") {
				out["provenance of "+f.Owner] = true
			}
		}
		return out
	}
	open, text := look("")
	require.Contains(t, text, "`critic`")
	for _, n := range names {
		require.True(t, facts(open)[n], n)
	}
	require.True(t, facts(open)["provenance of SubAgentMiddleware"])
	closed, text := look("meta: {PluginMiddleware: false}\n")
	require.NotContains(t, text, "critic")
	for _, n := range append(names, "provenance of SubAgentMiddleware", "provenance of PluginMiddleware") {
		require.False(t, facts(closed)[n], n)
	}
	for _, f := range open.Minus(closed) {
		require.True(t, f.Owner == "PluginMiddleware" || f.By == "PluginMiddleware" || f.Owner == "HookMiddleware", f)
	}
}

// A session's own option is over what the files say, and holds before anything of a plugin is started.
func TestAnOptionClosesPluginsOverTheFilesThatOpenThem(t *testing.T) {
	f, _ := plugged(t, "meta: {PluginMiddleware: true}\n")
	f.write(".peri/settings.yaml", "meta: {PluginMiddleware: true}\n")
	for _, set := range [][]string{nil, {"meta.PluginMiddleware=false"}} {
		setup, _, err := builtin.Load(config.Options{Root: f.root, Home: f.home, Managed: "-", Set: set})
		require.NoError(t, err)
		s, err := session.New(t.Context(), session.Options{Blueprint: setup.Blueprint, Models: script.New(script.Do("Bash", `{"command":"touch shipped"}`), script.Say("done")).Models})
		require.NoError(t, err)
		play(t, s, "go")
		_, err = os.Stat(filepath.Join(f.root, "shipped"))
		require.Equal(t, set != nil, err == nil)
		require.NoError(t, s.Close(context.Background()))
		require.NoError(t, setup.Close())
	}
}

func TestAProjectsPluginWantsTrustForEveryFileThatItHas(t *testing.T) {
	f := newFamily(t, "", "")
	dir := plug(t, filepath.Join(f.root, ".peri"))
	read := func() (*builtin.Setup, []meta.Diagnostic) {
		setup, diags, err := builtin.Load(config.Options{Root: f.root, Home: f.home, Managed: "-"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, setup.Close()) })
		return setup, diags
	}
	has := func(s *builtin.Setup) bool { _, ok := s.Catalog.Lookup("critic"); return ok }
	setup, diags := read()
	require.False(t, has(setup))
	require.Len(t, setup.Wants(), 1)
	require.Equal(t, "plugin review", setup.Wants()[0].Key)
	require.Contains(t, setup.Wants()[0].Why, "2 commands, 1 skill, 1 agent, 1 hook")
	require.Contains(t, setup.Wants()[0].Why, "guard.sh")
	require.Equal(t, "untrusted", diags[0].Code)
	require.Equal(t, ".peri/plugins/review/.claude-plugin/plugin.json", diags[0].Origin.File)

	require.NoError(t, config.Trust(f.home, f.root, setup.Loaded.Trust.Digest))
	setup, diags = read()
	require.True(t, has(setup))
	require.Empty(t, diags)
	require.Empty(t, setup.Wants())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.md"), []byte("Be lax.\n"), 0o600))
	setup, _ = read()
	require.False(t, has(setup), "another text wants trust of its own")
	require.Len(t, setup.Wants(), 1)
}

func TestAResumedSessionHasWhatItsPluginsBrought(t *testing.T) {
	f, dir := plugged(t, "")
	s := f.open(script.New(script.Say("hello")), "main")
	play(t, s, "hello")
	before := s.Surface()
	require.NoError(t, s.Close(context.Background()))

	require.NoError(t, os.Remove(filepath.Join(dir, "agents/critic.md")))
	require.NoError(t, os.Remove(filepath.Join(dir, "commands/ship.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hooks/hooks.json"), []byte(`{"hooks": {}}`), 0o600))
	s, err := session.Resume(t.Context(), f.options(script.New(script.Do("Bash", `{"command":"touch shipped"}`), script.Say("done")), ""), "main")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	require.Equal(t, before, s.Surface())
	play(t, s, "/ship 1.2 'the moon'")
	require.NoFileExists(t, filepath.Join(f.root, "shipped"))
	require.Contains(t, s.Messages()[2].Text(), "Ship 1.2 to the moon. All that was asked: 1.2 'the moon'.")

	f.store = &memory.Store{}
	require.NotContains(t, shown(t, f.open(script.New(), "new")), "critic", "a new session has what is there now")
}

// One table decides whose a bare name is; what is listed is what runs, and the loser has a name of its own.
func TestACommandThatAnotherHasTheNameOfIsReachedByItsPlugin(t *testing.T) {
	f, dir := plugged(t, "")
	command := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "commands", name+".md"), []byte(text), 0o600))
	}
	command("todos", "The plugin's todos.")
	command("tide", "The plugin's tide.")
	f.write(".peri/skills/tide/SKILL.md", "---\nname: tide\ndescription: Reads the tide.\n---\nThe skill's tide.\n")
	ask := func(f *family, prompt string) string {
		s := f.open(script.New(script.Say("ok")), "s"+strings.NewReplacer("/", "-", ":", "-").Replace(prompt))
		play(t, s, prompt)
		return s.Messages()[0].Text() + s.Messages()[1].Text()
	}
	s := f.open(script.New(), "main")
	listed := map[string]string{}
	for _, fact := range s.Surface() {
		if fact.Surface == session.OnRoute {
			listed[fact.Name] = fact.Owner
		}
	}
	for name, owner := range map[string]string{
		"/todos": "TodoMiddleware", "/review:todos": "PluginMiddleware", "/tide": "SkillsMiddleware", "/review:tide": "PluginMiddleware",
		"/ship": "PluginMiddleware", "/tidy": "SkillsMiddleware",
	} {
		require.Equal(t, owner, listed[name], name)
	}
	require.NotContains(t, listed, "/review:ship", "what has its bare name is listed once")
	for prompt, answer := range map[string]string{
		"/review:todos": "The plugin's todos.", "/tide": "The skill's tide.", "/review:tide": "The plugin's tide.",
		"/ship 1": "Ship 1 to .", "/review:ship 1": "Ship 1 to .", "/PluginMiddleware:tide": "The plugin's tide.",
	} {
		require.Contains(t, ask(f, prompt), answer, prompt)
	}
	require.NotContains(t, ask(f, "/todos"), "plugin's")
	var told []string
	for _, d := range s.Diagnostics() {
		if d.Code == "command_shadowed" {
			told = append(told, d.Message)
		}
	}
	require.Equal(t, []string{
		"/tide is a command of SkillsMiddleware: that of review is /review:tide",
		"/todos is a command of TodoMiddleware: that of review is /review:todos",
	}, told)

	f.writeHome("meta: {TodoMiddleware: false}\n")
	require.Contains(t, ask(f, "/todos"), "There is no command /todos.", "closing one hands its command to nobody")
	f.writeHome("meta: {PluginMiddleware: false}\n")
	for _, prompt := range []string{"/ship", "/review:ship", "/PluginMiddleware:ship", "/review:todos", "/tidy"} {
		require.Contains(t, ask(f, prompt), "There is no command "+prompt+".")
	}
}

func TestACommandsToolsNarrowTheTurnItStartsAndGiveNothing(t *testing.T) {
	bash := func(c string) script.Step { return script.Do("Bash", `{"command":"`+c+`"}`) }
	f, _ := plugged(t, "", "Bash", `{"command":"touch kid"}`)
	f.definition = "model: inherit"
	f.write(".peri/agents/kid.md", "---\nname: kid\ndescription: Does it.\n---\nYou are the kid.\n")
	sc := script.For(map[string][]script.Step{
		"": {
			bash("touch early"), script.Say("done"),
			bash("touch narrow"), bash("git --version"), script.Do("Agent", `{"agent":"kid","prompt":"go"}`), script.Say("done"),
			bash("touch late"), script.Say("done"),
		},
		"kid": {bash("touch kid"), script.Say("done")},
	})
	s := f.open(sc, "main")
	play(t, s, "go")
	play(t, s, "/status of it")
	play(t, s, "go on")
	for name, there := range map[string]bool{"early": true, "narrow": false, "kid": false, "late": true} {
		_, err := os.Stat(filepath.Join(f.root, name))
		require.Equal(t, there, err == nil, name)
	}
	var told string
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			told += r.Text() + "\n"
		}
	}
	require.Contains(t, told, "the command `/review:status` is at work")
	require.Contains(t, told, "git version")

	f, _ = plugged(t, "tools: {deny: [Read]}\n")
	s = f.open(script.New(script.Do("Read", `{"path":"x"}`), script.Say("done")), "main")
	play(t, s, "/status")
	_, ok := s.View().Lookup("Read")
	require.False(t, ok && s.View().Explain("Read").Visible, "what is denied stays denied")
}

func TestASkillOfAPluginIsSubjectToTheOneFilterOfSkills(t *testing.T) {
	look := func(settings string) (string, bool, map[string]string) {
		f, _ := plugged(t, settings)
		s := f.open(script.New(), "main")
		facts := map[string]string{}
		for _, fact := range s.Surface() {
			facts[fact.Surface+" "+fact.Name] = fact.By + " " + fact.Detail
		}
		return shown(t, s), s.View().Explain("Skill").Visible, facts
	}
	text, visible, facts := look("")
	require.Contains(t, text, "`tidy`")
	require.True(t, visible)
	require.Contains(t, facts["skill @review/tidy"], "PluginMiddleware plugin ")
	require.Contains(t, facts["skill @review/tidy"], "plugins/review/skills/tidy/SKILL.md")
	for _, settings := range []string{"skills: {deny: [tidy]}\n", "tools: {deny: ['Skill(tidy)']}\n", "skills: {deny: ['*']}\n", "meta: {PluginMiddleware: false}\n"} {
		text, visible, facts = look(settings)
		require.NotContains(t, text, "`tidy`", settings)
		require.False(t, visible, "with no skill there is no tool: "+settings)
		require.NotContains(t, facts, "skill @review/tidy")
		require.NotContains(t, facts, "route /tidy")
		require.NotContains(t, facts, "plugin/skills @review/tidy")
	}
}

func TestASkillOfAPluginIsReadFromItsFolder(t *testing.T) {
	f, dir := plugged(t, "")
	s := f.open(script.New(script.Do("Skill", `{"name":"tidy"}`), script.Say("done")), "main")
	play(t, s, "go")
	require.Contains(t, s.Messages()[2].Results()[0].Text(), "Follow "+dir+"/rules.md.")
}

// Two links to one folder are one plugin; a project's link out of the project, and any link out of a plugin, is reported
// and not followed.
func TestLinksOfPluginsAreFollowedInsideAndReportedOutside(t *testing.T) {
	f, dir := plugged(t, "")
	link := func(to, from string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(from), 0o755))
		require.NoError(t, os.Symlink(to, from))
	}
	secret := filepath.Join(t.TempDir(), "secret.md")
	require.NoError(t, os.WriteFile(secret, []byte("The secret."), 0o600))
	link(dir, filepath.Join(f.home, "plugins", "again"))
	link(secret, filepath.Join(dir, "commands", "leak.md"))
	link(dir, filepath.Join(f.root, ".peri", "plugins", "out"))
	link(".", filepath.Join(dir, "commands", "loop"))
	setup, diags, err := builtin.Load(config.Options{Root: f.root, Home: f.home, Managed: "-"})
	require.NoError(t, err)
	defer setup.Close()
	var told []string
	for _, d := range diags {
		told = append(told, filepath.Base(d.Origin.File)+": "+d.Message)
	}
	require.Equal(t, []string{
		"out: a link that leads out of the project is not followed",
		"leak.md: a link that leads out of the plugin, or nowhere, is not followed",
	}, told)
	s := f.open(script.New(), "main")
	plugins := 0
	for _, fact := range s.Surface() {
		require.NotEqual(t, "/leak", fact.Name)
		if fact.Surface == "plugin" {
			plugins++
		}
	}
	require.Equal(t, 1, plugins)
}
