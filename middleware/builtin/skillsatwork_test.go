package builtin_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

func TestASkillsToolsOnlyNarrowAndOnlyUntilTheNextPrompt(t *testing.T) {
	site := newSite(t, "")
	site.skill(".peri/skills", "look", "allowed-tools: Read, Bash(git *)")
	site.skill(".peri/skills", "calm", "disallowed-tools: LS")
	site.write("a.txt", "content\n")
	const refused = "does not let `LS` be called"
	step := func(pairs ...string) script.Step { return script.Do(pairs...) }
	s := site.open(script.New(
		step("LS", `{}`), step("Skill", `{"name":"look"}`), step("LS", `{}`), step("Read", `{"path":"a.txt"}`), step("Bash", `{"command":"ls"}`),
		step("Skill", `{"name":"calm"}`), step("SearchExtraTools", `{"query":"skills"}`), script.Say("done"),
		step("LS", `{}`), script.Say("done"),
		step("LS", `{}`), script.Say("done"),
		step("LS", `{}`), script.Say("done"),
		step("Bash", `{"command":"git status"}`), script.Say("done"),
		step("LS", `{}`), script.Say("done"),
	), "")
	view := s.View()
	play(t, s, "one")
	var results []string
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			results = append(results, r.Text())
		}
	}
	require.Len(t, results, 7)
	require.NotContains(t, results[0], refused, "presence first")
	require.Contains(t, results[2], refused)
	require.Contains(t, results[3], "content")
	require.Contains(t, results[4], "only calls that match are allowed")
	require.Contains(t, results[5], "Text of calm", "a further skill can always be loaded")
	require.NotContains(t, results[6], "does not let", "and so can tools be found")
	require.Same(t, view, s.View(), "the view, and with it the prompt cache, is as it was")

	require.NotContains(t, said(t, s, "two"), refused, "the next prompt ends it")
	require.Contains(t, said(t, s, "/look"), refused, "a skill that the user calls narrows too")
	require.NotContains(t, said(t, s, "four"), refused)
	require.NotContains(t, said(t, s, "/calm"), "needs approval")

	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	require.NotContains(t, said(t, fork, "five"), "does not let", "what the host makes between turns is not bound")

	granted := newSite(t, "")
	granted.skill(".peri/skills", "grant", "allowed-tools: Bash")
	s = granted.open(script.New(step("Skill", `{"name":"grant"}`), step("Bash", `{"command":"touch made"}`), script.Say("done")), "")
	require.Contains(t, said(t, s, "go"), "needs approval", "it spares no approval")
	require.NoFileExists(t, filepath.Join(granted.root, "made"))
}

func TestChildrenOfASkillsTurnAreBoundByIt(t *testing.T) {
	for _, w := range starts("kid") {
		t.Run(w.name, func(t *testing.T) {
			site := newSite(t, "")
			site.skill(".peri/skills", "look", "disallowed-tools: LS")
			site.write(".peri/agents/kid.md", "---\nname: kid\ndescription: d\n---\nYou are a kid.\n")
			kid := append(w.ahead, script.Do("LS", `{}`), script.Say("told"))
			main := append([]script.Step{script.Do("Skill", `{"name":"look"}`)}, w.start...)
			if w.fork {
				main = append(main, kid...)
				kid = nil
			}
			main = append(main, script.Say("done"))
			sc := script.For(map[string][]script.Step{"": main, "kid": kid})
			s := site.open(sc, "main")
			play(t, s, "go")
			text := ""
			for _, sent := range sc.Sent() {
				text += plain(t, sent.Messages)
			}
			require.Contains(t, text, "Text of look")
			require.Contains(t, text, "does not let `LS` be called")
		})
	}
}

func TestAnAgentHasItsSkillsBeforeItBeginsAndOnce(t *testing.T) {
	build := func(settings, fields string) (*site, *script.Script, *session.Session) {
		site := newSite(t, settings)
		site.skill(".peri/skills", "style")
		site.write(".peri/agents/kid.md", "---\nname: kid\ndescription: d\n"+fields+"---\nYou are a kid.\n")
		sc := script.For(map[string][]script.Step{
			"":    {script.Do("Agent", `{"agent":"kid","prompt":"work"}`), script.Do("Agent", `{"resume":"main.1","prompt":"go on"}`), script.Say("done")},
			"kid": {script.Say("a"), script.Say("b")},
		})
		return site, sc, site.open(sc, "main")
	}
	of := func(sc *script.Script) string {
		var last script.Sent
		for _, sent := range sc.Sent() {
			if sent.Agent == "kid" {
				last = sent
			}
		}
		return plain(t, last)
	}
	for name, fields := range map[string]string{
		"every tool": "skills: [style]\n", "by id": "skills: '@project/style'\n", "other tools": "tools: Read\nskills: [style]\n", "no tools": "tools: []\nskills: style\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, sc, s := build("", fields)
			play(t, s, "go")
			require.Equal(t, 1, strings.Count(of(sc), "Text of style"))
		})
	}
	for name, c := range map[string][2]string{
		"none wanted":         {"", ""},
		"denied":              {"skills: {deny: [style]}\n", "skills: [style]\n"},
		"denied to the agent": {"", "skills: [style]\ndisallowedTools: Skill\n"},
		"scoped":              {"", "skills: [style]\ndisallowedTools: Skill(style)\n"},
		"asked about":         {"permissions: {ask: ['Skill(style)']}\n", "skills: [style]\n"},
		"preloading closed":   {"meta: {SkillPreloadMiddleware: false}\n", "skills: [style]\n"},
		"skills closed":       {"meta: {SkillsMiddleware: false}\n", "skills: [style]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, sc, s := build(c[0], c[1])
			play(t, s, "go")
			require.NotContains(t, of(sc), "Text of style")
			require.Contains(t, of(sc), "go on", "the agent works without")
		})
	}
	site, _, _ := build("", "skills: [style]\n")
	site.skill(".peri/skills", "style", "disallowed-tools: LS")
	kid := script.For(map[string][]script.Step{
		"":    {script.Do("Agent", `{"agent":"kid","prompt":"work"}`), script.Do("LS", `{}`), script.Say("done")},
		"kid": {script.Do("LS", `{}`), script.Say("a")},
	})
	play(t, site.open(kid, ""), "go")
	require.Equal(t, 1, strings.Count(plain(t, kid.Sent()[2].Messages), "does not let `LS` be called"), "what it narrows is narrowed for the agent")
	require.NotContains(t, plain(t, kid.Sent()[len(kid.Sent())-1].Messages), "does not let", "and for nobody else")

	_, sc, s := build("agents: {kid: {skills: style}}\n", "")
	play(t, s, "go")
	require.Equal(t, 1, strings.Count(of(sc), "Text of style"), "settings may name them too")
	site, _, _ = build("", "skills: [stlye]\n")
	d := load(t, site.root, site.home).Diagnostics
	require.Len(t, d, 1)
	require.Equal(t, "agents.kid", d[0].Key)
	require.Contains(t, d[0].Suggestion, "style")
}

func TestAnAgentsOwnListOfSkillsHoldsForLoadingAndForSearching(t *testing.T) {
	site := newSite(t, "")
	site.skill(".peri/skills", "style")
	site.skill(".peri/skills", "ship")
	site.write(".peri/agents/kid.md", "---\nname: kid\ndescription: d\nskills: {allowed: ['@project/style']}\n---\nYou are a kid.\n")
	sc := script.For(map[string][]script.Step{
		"":    {script.Do("Agent", `{"agent":"kid","prompt":"work"}`), script.Say("done")},
		"kid": {script.Do("Skill", `{"name":"style"}`), script.Do("Skill", `{"name":"ship"}`), script.Do("ExecuteExtraTool", discoverAll), script.Say("b")},
	})
	play(t, site.open(sc, ""), "go")
	text := plain(t, sc.Sent()[len(sc.Sent())-2].Messages)
	require.Contains(t, text, "Text of style")
	require.NotContains(t, text, "Text of ship")
	require.Contains(t, text, "only calls that match are allowed here")
	require.NotContains(t, text, "About ship.")
}

func TestAnAgentOfASkillsTurnStaysBoundInAnotherProcess(t *testing.T) {
	site := newSite(t, "")
	site.skill(".peri/skills", "look", "disallowed-tools: LS")
	site.write(".peri/agents/kid.md", "---\nname: kid\ndescription: d\n---\nYou are a kid.\n")
	s := site.open(script.For(map[string][]script.Step{
		"":    {script.Do("Skill", `{"name":"look"}`), script.Do("Agent", `{"agent":"kid","prompt":"work"}`), script.Say("done")},
		"kid": {script.Say("ready")},
	}), "main")
	play(t, s, "go")
	require.NoError(t, s.Close(t.Context()))

	sc := script.For(map[string][]script.Step{
		"":    {script.Do("LS", `{}`), script.Do("Agent", `{"resume":"main.1","prompt":"go on"}`), script.Say("done")},
		"kid": {script.Do("LS", `{}`), script.Say("done")},
	})
	s, err := session.Resume(t.Context(), site.options(sc, ""), "main")
	require.NoError(t, err)
	defer s.Close(context.Background())
	play(t, s, "on")
	for _, sent := range sc.Sent() {
		bound := strings.Contains(plain(t, sent.Messages[len(sent.Messages)-1]), "does not let `LS` be called")
		require.Equal(t, sent.Agent == "kid" && len(sent.Messages) > 3, bound, "%s after %d messages", sent.Agent, len(sent.Messages))
	}
}
