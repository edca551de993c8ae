package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
)

const (
	noBash  = "hooks: {PreToolUse: [{matcher: Bash, hooks: [{command: 'echo not for kids >&2; exit 2'}]}]}"
	watches = "hooks: {PostToolUse: [{matcher: Bash, hooks: [{command: 'echo seen >> seen'}]}]}"
)

// guarded is a family whose user defined kid, so that nobody needs to trust its hooks.
func guarded(t *testing.T, settings, definition string) *family {
	f := newFamily(t, settings, "", "Bash", `{"command":"touch kid"}`)
	f.writeAgent("kid", definition)
	return f
}

func (s *site) writeAgent(name, definition string) {
	dir := filepath.Join(s.home, "agents")
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	text := "---\nname: " + name + "\ndescription: Does it.\n" + definition + "\n---\nYou are " + name + ".\n"
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600))
}

func TestAnAgentsHookHoldsInItHoweverItIsStarted(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		f := guarded(t, "", noBash)
		got := f.start(t, w)
		require.Len(t, got.answers, 1, got.told)
		require.Contains(t, got.answers[0], "not for kids")
		require.Contains(t, got.answers[0], "kid.md:4")
		require.NoFileExists(t, filepath.Join(f.root, "kid"))
	})
}

func TestAnAgentsHookEndsWithItAndReachesItsChildrenAlone(t *testing.T) {
	f := guarded(t, "", noBash+"\ndelegates: '**'")
	f.writeAgent("other", "model: inherit")
	f.writeHome("permissions: {mode: bypass}\nsubagents: {depth: 2}\n")
	bash := func(name string) script.Step { return script.Do("Bash", `{"command":"touch `+name+`"}`) }
	sc := script.For(map[string][]script.Step{
		"": {
			bash("before"), script.Do("Agent", `{"agent":"kid","prompt":"go"}`), bash("after"),
			script.Do("Agent", `{"agent":"other","prompt":"go"}`), script.Say("done"),
		},
		"kid":   {bash("kid"), script.Do("Agent", `{"agent":"other","prompt":"go"}`), script.Say("done")},
		"other": {bash("grandchild"), script.Say("done"), bash("sibling"), script.Say("done")},
	})
	play(t, f.open(sc, "main"), "go")
	for _, name := range []string{"before", "after", "sibling"} {
		require.FileExists(t, filepath.Join(f.root, name))
	}
	for _, name := range []string{"kid", "grandchild"} {
		require.NoFileExists(t, filepath.Join(f.root, name))
	}
	require.Len(t, sc.Sent(), 12, "the grandchild was there")
}

func TestAnAgentsHooksStandBehindThoseOfTheSettings(t *testing.T) {
	f := guarded(t, "", "hooks: {PostToolUse: [{hooks: [{command: 'echo agent >> seen'}]}], Stop: [{hooks: [{command: 'echo stop >> seen'}]}]}")
	f.writeHome("permissions: {mode: bypass}\nhooks: {PostToolUse: [{matcher: Bash, hooks: [{command: 'echo settings >> seen'}]}]}\n")
	f.start(t, starts("kid")[0])
	raw, err := os.ReadFile(filepath.Join(f.root, "seen"))
	require.NoError(t, err)
	require.Equal(t, []string{"settings", "agent", "stop"}, strings.Fields(string(raw)))
}

func TestAnAgentWhoseGuardCannotRunIsNotStarted(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		f := guarded(t, "", noBash)
		f.writeHome("permissions: {mode: bypass}\nmeta: {HookMiddleware: false}\n")
		got := f.start(t, w)
		require.Contains(t, got.told, "its hooks could stop a call")
		require.Empty(t, got.answers)
		require.NoFileExists(t, filepath.Join(f.root, "kid"))
	})
	f := guarded(t, "", watches)
	f.start(t, starts("kid")[0])
	require.FileExists(t, filepath.Join(f.root, "seen"), "presence first")
	f = guarded(t, "", watches)
	f.writeHome("permissions: {mode: bypass}\nmeta: {HookMiddleware: false}\n")
	f.start(t, starts("kid")[0])
	require.FileExists(t, filepath.Join(f.root, "kid"), "one that only observes is no reason")
	require.NoFileExists(t, filepath.Join(f.root, "seen"))
}

func TestAResumedSessionHasTheHooksThatItsAgentsHad(t *testing.T) {
	f := guarded(t, "", noBash)
	s := f.open(script.For(map[string][]script.Step{"": {script.Say("hello")}}), "main")
	play(t, s, "hello")
	require.NoError(t, s.Close(context.Background()))
	f.writeAgent("kid", "model: inherit")
	sc := script.For(map[string][]script.Step{
		"":    {script.Do("Agent", `{"agent":"kid","prompt":"go"}`), script.Say("done")},
		"kid": {script.Do("Bash", `{"command":"touch kid"}`), script.Say("done")},
	})
	s, err := session.Resume(t.Context(), f.options(sc, ""), "main")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	play(t, s, "go")
	require.NoFileExists(t, filepath.Join(f.root, "kid"))
	require.Equal(t, 4, len(sc.Sent()), "the agent tried")
}

func TestHooksOfAnAgentOfAProjectWantTrust(t *testing.T) {
	f := newFamily(t, "", noBash, "Bash", `{"command":"touch kid"}`)
	got := f.start(t, starts("kid")[0])
	require.Contains(t, got.told, "There is no agent `kid`")
	o := config.Options{Root: f.root, Home: f.home, Managed: "-"}
	setup, diags, err := builtin.Load(o)
	require.NoError(t, err)
	require.Len(t, setup.Wants(), 1)
	require.Equal(t, "agent kid", setup.Wants()[0].Key)
	require.Contains(t, setup.Wants()[0].Why, "hooks")
	require.NotEmpty(t, diags)
	require.NoError(t, config.Trust(f.home, f.root, setup.Loaded.Trust.Digest))
	require.NoError(t, setup.Close())

	f.store = &memory.Store{}
	got = f.start(t, starts("kid")[0])
	require.Len(t, got.answers, 1, got.told)
	require.Contains(t, got.answers[0], "not for kids")
	changed := &family{site: f.site, calls: f.calls, definition: strings.Replace(noBash, "not for", "never for", 1)}
	changed.store = &memory.Store{}
	require.Contains(t, changed.start(t, starts("kid")[0]).told, "There is no agent `kid`", "other hooks want trust of their own")
	require.NoFileExists(t, filepath.Join(f.root, "kid"))
}

func TestSettingsLayHooksOverAnAgent(t *testing.T) {
	f := guarded(t, "", "model: inherit")
	f.writeHome("permissions: {mode: bypass}\nagents: {kid: {" + noBash + "}}\n")
	got := f.start(t, starts("kid")[0])
	require.Len(t, got.answers, 1, got.told)
	require.Contains(t, got.answers[0], "not for kids")

	f = guarded(t, "agents: {kid: {hooks: {}}}\n", noBash)
	got = f.start(t, starts("kid")[0])
	require.Contains(t, got.answers[0], "not for kids", "an untrusted project takes no guard away")
}

func TestAHookThatRunsOnceRunsOnceInEveryAgent(t *testing.T) {
	f := guarded(t, "", "hooks: {PostToolUse: [{hooks: [{command: 'echo x >> seen', once: true}]}]}")
	sc := script.For(map[string][]script.Step{
		"": {script.Do("Agent", `{"agent":"kid","prompt":"go"}`), script.Do("Agent", `{"agent":"kid","prompt":"go"}`), script.Say("done")},
		"kid": {
			script.Do("Bash", `{"command":"true"}`), script.Do("Bash", `{"command":"true"}`), script.Say("done"),
			script.Do("Bash", `{"command":"true"}`), script.Do("Bash", `{"command":"true"}`), script.Say("done"),
		},
	})
	play(t, f.open(sc, "main"), "go")
	raw, err := os.ReadFile(filepath.Join(f.root, "seen"))
	require.NoError(t, err)
	require.Equal(t, "x\nx\n", string(raw))
}

func TestHooksOfAnAgentThatCouldNotRunLeaveItOut(t *testing.T) {
	f := guarded(t, "", "hooks: {PreToolUse: [{matcher: 'Ba(sh', hooks: [{command: x}]}]}")
	setup, diags, err := builtin.Load(config.Options{Root: f.root, Home: f.home, Managed: "-"})
	require.NoError(t, err)
	defer setup.Close()
	_, ok := setup.Catalog.Lookup("kid")
	require.False(t, ok)
	require.Len(t, diags, 1)
	require.Contains(t, diags[0].Message, "Ba(sh")
	require.Equal(t, 4, diags[0].Origin.Line)
}
