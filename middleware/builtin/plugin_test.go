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
	require.Contains(t, setup.Wants()[0].Why, "1 command, 1 agent, 1 hook")
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
