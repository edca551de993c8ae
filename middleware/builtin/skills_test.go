package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
)

// skill writes one skill, with lines of front matter besides its name, whose text is "Text of NAME: $ARGUMENTS".
func (s *site) skill(place, name string, lines ...string) {
	front := strings.Join(append([]string{"name: " + name, "description: About " + name + "."}, lines...), "\n")
	s.write(place+"/"+name+"/SKILL.md", "---\n"+front+"\n---\nText of "+name+": $ARGUMENTS\n")
}

// said is what became of one prompt: the answer of a route, or what the model was sent as the last message.
func said(t *testing.T, s *session.Session, text string) string {
	t.Helper()
	before := len(s.Messages())
	play(t, s, text)
	var b strings.Builder
	for _, m := range s.Messages()[before:] {
		b.WriteString(m.Text() + "\n")
		for _, r := range m.Results() {
			b.WriteString(r.Text() + "\n")
		}
	}
	return b.String()
}

// loading is a script that calls tools, one a turn: a name and a JSON object in turn.
func loading(pairs ...string) *script.Script {
	var steps []script.Step
	for i := 0; i < len(pairs); i += 2 {
		steps = append(steps, script.Do(pairs[i:i+2]...), script.Say("done"))
	}
	return script.New(steps...)
}

const discoverAll = `{"name":"DiscoverSkills","arguments":{"query":""}}`

func TestASkillNamedLikeACommandLeavesTheCommandWhatItIs(t *testing.T) {
	site := newSite(t, "")
	site.skill(".peri/skills", "todos")
	site.skill(".peri/skills", "review")
	site.skill(".claude/skills", "review")
	setup := load(t, site.root, site.home)
	require.Len(t, setup.Diagnostics, 2)
	require.Contains(t, setup.Diagnostics[0].String(), "/todos is a command of its own; this skill is /project:todos")
	require.Contains(t, setup.Diagnostics[1].String(), "this one is reached as @claude/review")

	s := site.open(script.New(script.Say("a"), script.Say("b"), script.Say("c")), "")
	require.NotContains(t, said(t, s, "/todos"), "Text of")
	require.Contains(t, said(t, s, "/project:todos x"), "Text of todos: x")
	require.Contains(t, said(t, s, "/review y"), "Text of review: y")
	require.Contains(t, said(t, s, "/claude:review z"), ".claude/skills/review")
	// What is advertised is what dispatch runs.
	for _, f := range s.Surface() {
		if f.Surface != session.OnRoute {
			continue
		}
		owner, r, ok := s.Chain().Route(strings.TrimPrefix(f.Name, "/"), nil)
		require.True(t, ok, f.Name)
		require.Equal(t, f.Owner, owner, f.Name)
		require.Equal(t, f.Name, "/"+r.Name)
	}
	// Closing the command's owner hands its name to nobody.
	shut := newSite(t, "meta: {TodoMiddleware: false}\n")
	shut.skill(".peri/skills", "todos")
	require.Contains(t, said(t, shut.open(script.New(), ""), "/todos"), "There is no command /todos")
}

func TestADeniedSkillIsInNoListAndAnswersLikeOneThatIsNotThere(t *testing.T) {
	all := func(settings string) *site {
		s := newSite(t, settings)
		s.skill(".peri/skills", "tester-unit")
		s.skill(".peri/skills", "review")
		s.write(".peri/agents/kid.md", "---\nname: kid\ndescription: d\nskills: [tester-unit]\n---\nYou are a kid.\n")
		return s
	}
	calls := []string{"Skill", `{"name":"tester-unit"}`, "Skill", `{"name":"@project/tester-unit"}`, "ExecuteExtraTool", discoverAll}
	open := all("")
	s := open.open(loading(calls...), "")
	require.Contains(t, shown(t, s), "tester-unit")
	require.Contains(t, said(t, s, "one"), "Text of tester-unit")
	require.Contains(t, said(t, s, "two"), "Text of tester-unit")
	require.Contains(t, said(t, s, "three"), "tester-unit")
	require.Contains(t, s.Surface().String(), "route /tester-unit")

	for name, settings := range map[string]string{
		"skills.deny":             "skills: {deny: ['tester-*']}\n",
		"skills.deny by id":       "skills: {deny: ['@project/tester-unit']}\n",
		"skills.allow":            "skills: {allow: [review]}\n",
		"tools.deny":              "tools: {deny: ['Skill(tester-*)']}\n",
		"tools.deny, no approval": "tools: {deny: ['Skill(tester-*)']}\nmeta: {PermissionMiddleware: false}\n",
		"permissions.deny":        "permissions: {deny: ['Skill(tester-*)']}\n",
		"permissions.deny by id":  "permissions: {deny: ['Skill(@project/tester-unit)']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			site := all(settings)
			// The file is gone: that nothing reads it before it is judged shows in the answer.
			options := site.options(loading(calls...), "")
			require.NoError(t, os.Remove(filepath.Join(site.root, ".peri/skills/tester-unit/SKILL.md")))
			s, err := session.New(t.Context(), options)
			require.NoError(t, err)
			defer s.Close(context.Background())
			require.NotContains(t, shown(t, s), "tester")
			require.NotContains(t, s.Surface().String(), "tester")
			require.Contains(t, s.Surface().String(), "@project/review", "the rest stays")
			for _, prompt := range []string{"one", "two"} {
				got := said(t, s, prompt)
				require.NotContains(t, got, "no such file")
				require.Regexp(t, "There is no skill|is denied here|a deny rule covers it", got)
			}
			require.NotContains(t, said(t, s, "three"), "tester")
			require.Contains(t, said(t, s, "/tester-unit"), "There is no command /tester-unit.")
		})
	}
}

func TestWithEverySkillDeniedTheToolIsGone(t *testing.T) {
	for name, settings := range map[string]string{
		"by pattern": "tools: {deny: ['Skill(*)']}\n", "by tool": "tools: {deny: [Skill]}\n", "by family": "tools: {deny: [skill]}\n",
		"by allowing none": "skills: {allow: []}\n", "by id pattern": "skills: {deny: ['@project/*']}\n", "one by one": "skills: {deny: [review]}\n",
		"by permission": "permissions: {deny: ['Skill(*)']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			open, shut := newSite(t, ""), newSite(t, settings)
			for _, s := range []*site{open, shut} {
				s.skill(".peri/skills", "review")
			}
			require.True(t, open.open(script.New(), "").View().Explain("Skill").Visible)
			s := shut.open(loading("Skill", `{"name":"review"}`), "")
			require.False(t, s.View().Explain("Skill").Visible)
			text := shown(t, s)
			require.NotContains(t, text, "`Skill`")
			require.NotContains(t, text, "know-how")
			require.NotContains(t, s.Surface().String(), "review.md")
			require.NotContains(t, s.Surface().String(), "/review")
			require.Contains(t, said(t, s, "one"), "There is no tool `Skill`")
			require.Contains(t, said(t, s, "/review"), "There is no command /review")
		})
	}
}

func TestHidingASkillFromTheModelOrTheUserLeavesItToTheOther(t *testing.T) {
	build := func(settings string) *session.Session {
		s := newSite(t, settings)
		s.skill(".peri/skills", "mine", "disable-model-invocation: true")
		s.skill(".peri/skills", "its", "user-invocable: false")
		return s.open(loading("Skill", `{"name":"mine"}`, "Skill", `{"name":"its"}`, "ExecuteExtraTool", discoverAll, "Now", "{}"), "")
	}
	s := build("")
	require.Contains(t, said(t, s, "a"), "There is no skill `mine`")
	require.Contains(t, said(t, s, "b"), "Text of its")
	found := said(t, s, "c")
	require.Contains(t, found, "`its`")
	require.NotContains(t, found, "mine")
	require.Contains(t, said(t, s, "/mine now"), "Text of mine: now")
	require.Contains(t, said(t, s, "/its"), "There is no command /its")
	require.Contains(t, shown(t, s), "`its`")
	require.NotContains(t, shown(t, s), "`mine`")

	shut := build("meta: {SkillsMiddleware: false}\n")
	require.Contains(t, said(t, shut, "a"), "There is no tool `Skill`")
	require.Contains(t, said(t, shut, "/mine"), "There is no command /mine")
	require.Contains(t, said(t, shut, "b"), "There is no tool `Skill`")
	require.NotContains(t, shown(t, shut), "`its`")
}

func TestLinkedSkillFoldersAreReadOnceAndNoneOutsideTheProject(t *testing.T) {
	site, outside := newSite(t, ""), t.TempDir()
	site.skill(".agents/skills", "shared")
	require.NoError(t, os.MkdirAll(filepath.Join(site.root, ".claude"), 0o700))
	require.NoError(t, os.Symlink("../.agents/skills", filepath.Join(site.root, ".claude/skills")))
	require.NoError(t, os.Symlink("../.agents/skills", filepath.Join(site.root, ".peri/skills")))
	require.NoError(t, os.Symlink("..", filepath.Join(site.root, ".agents/skills/loop")))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte("---\nname: evil\ndescription: d\n---\nx\n"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(site.root, ".agents/skills/evil")))
	setup := load(t, site.root, site.home)
	require.Len(t, setup.Skills, 1)
	require.Equal(t, "@project/shared", setup.Skills[0].ID)
	require.NotEmpty(t, setup.Diagnostics)
	for _, d := range setup.Diagnostics {
		require.Equal(t, "skill_link", d.Code, "no duplicate is told of, the link is: %s", d)
		require.Contains(t, d.Origin.File, "skills/evil")
	}
	require.Contains(t, said(t, site.open(loading("Skill", `{"name":"shared"}`), ""), "go"), "Text of shared")
}

func TestAResumedSessionHasTheCatalogOfItsFirstDay(t *testing.T) {
	site := newSite(t, "")
	site.skill(".peri/skills", "style")
	site.skill(".peri/skills", "gone")
	s := site.open(loading("Skill", `{"name":"style"}`), "main")
	require.Contains(t, said(t, s, "go"), "Text of style")
	before := s.System()
	require.NoError(t, s.Close(t.Context()))

	site.write(".peri/skills/style/SKILL.md", "---\nname: other\ndescription: Another word.\n---\nAnother text.\n")
	site.skill(".peri/skills", "new")
	require.NoError(t, os.RemoveAll(filepath.Join(site.root, ".peri/skills/gone")))
	sc := loading("Skill", `{"name":"style"}`, "Skill", `{"name":"new"}`, "Skill", `{"name":"gone"}`)
	s, err := session.Resume(t.Context(), site.options(sc, ""), "main")
	require.NoError(t, err)
	defer s.Close(context.Background())
	require.Equal(t, before, s.System())
	notices := ""
	for e, err := range s.Prompt(t.Context(), session.Text("a")) {
		require.NoError(t, err)
		if e.Kind == message.Note {
			notices += e.Text
		}
	}
	require.Contains(t, notices, "changed since the session began")
	require.Contains(t, plain(t, s.Messages()), "Another text.", "the text is read when it is loaded")
	require.Contains(t, said(t, s, "b"), "There is no skill `new`")
	require.Contains(t, said(t, s, "c"), "The skill `gone` cannot be loaded now: no such file")
}

func TestMountsAreWhereSettingsSayAndAProjectsOwnLieInIt(t *testing.T) {
	outside := t.TempDir()
	site := newSite(t, "skills: {mounts: [tools/skills, ../elsewhere, '"+outside+"', missing]}\n")
	site.skill("tools/skills", "inner")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "deep/outer"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "deep/outer/SKILL.md"), []byte("---\nname: outer\ndescription: d\n---\nx\n"), 0o600))
	setup := load(t, site.root, site.home)
	require.Len(t, setup.Skills, 1)
	require.Equal(t, "@tools/inner", setup.Skills[0].ID)
	var said []string
	for _, d := range setup.Diagnostics {
		require.Equal(t, 1, d.Origin.Line)
		require.Contains(t, d.Origin.File, "settings.yaml")
		said = append(said, d.Message)
	}
	text := strings.Join(said, "\n")
	require.Equal(t, 2, strings.Count(text, "leads out of the project"))
	require.Contains(t, text, "missing: no such file")

	require.NoError(t, os.WriteFile(filepath.Join(site.home, "settings.yaml"), []byte("skills: {mounts: ['team="+outside+"', 'project="+outside+"']}\n"), 0o600))
	setup = load(t, site.root, site.home)
	require.Len(t, setup.Skills, 2)
	require.Equal(t, "@team/deep/outer", setup.Skills[0].ID, "a user's own may be anywhere")
	require.Contains(t, setup.Diagnostics[0].Message, "have their places already")
}

func TestASkillThatNeedsWhatIsClosedOrDeniedIsTold(t *testing.T) {
	for name, c := range map[string]struct{ settings, says string }{
		"there":   {"", ""},
		"closed":  {"meta: {WebMiddleware: false}\n", "WebFetch of WebMiddleware, meta.WebMiddleware: false"},
		"denied":  {"tools: {deny: [WebFetch]}\n", "WebFetch of WebMiddleware, WebFetch"},
		"unknown": {"", "selects no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, c.settings)
			tool := "WebFetch"
			if name == "unknown" {
				tool = "WebFtech"
			}
			site.skill(".peri/skills", "ship", "allowed-tools: Read, "+tool)
			setup := load(t, site.root, site.home)
			if c.says == "" {
				require.Empty(t, setup.Diagnostics)
				return
			}
			require.Len(t, setup.Diagnostics, 1)
			require.Contains(t, setup.Diagnostics[0].Message, c.says)
			require.Equal(t, ".peri/skills/ship/SKILL.md", setup.Diagnostics[0].Origin.File)
		})
	}
}

func TestUsersOwnSkillsAreReadAndAnotherHarnesssOnlyAtHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PERI_HOME", "")
	root := t.TempDir()
	for _, at := range []string{".peri/skills/a", ".claude/skills/b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, at), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, at, "SKILL.md"), []byte("---\nname: "+filepath.Base(at)+"\ndescription: d\n---\nx\n"), 0o600))
	}
	ids := func(o config.Options) (out []string) {
		o.Root, o.Managed = root, "-"
		setup, _, err := builtin.Load(o)
		require.NoError(t, err)
		defer setup.Close()
		for _, e := range setup.Skills {
			out = append(out, e.ID)
		}
		return out
	}
	require.Equal(t, []string{"@user/a", "@user-claude/b"}, ids(config.Options{}))
	require.Equal(t, []string{"@user/a"}, ids(config.Options{Home: filepath.Join(home, ".peri")}))
}

// thousand is a project with a thousand skills.
func thousand(t testing.TB) (root, home string) {
	root, home = t.TempDir(), t.TempDir()
	for i := range 1000 {
		dir := filepath.Join(root, ".peri/skills", fmt.Sprintf("skill-%03d", i))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		text := fmt.Sprintf("---\nname: skill-%03d\ndescription: %s\n---\nText %d.\n", i, strings.Repeat(fmt.Sprintf("Number %d of many. ", i), 10), i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600))
	}
	return root, home
}

func TestAThousandSkillsCostAPromptNoMoreThanAFew(t *testing.T) {
	root, home := thousand(t)
	setup := load(t, root, home)
	sc := loading("ExecuteExtraTool", `{"name":"DiscoverSkills","arguments":{"query":"987"}}`, "Skill", `{"name":"skill-987"}`)
	s, err := session.New(t.Context(), session.Options{Blueprint: setup.Blueprint, Models: sc.Models, Store: &memory.Store{}})
	require.NoError(t, err)
	defer s.Close(context.Background())
	text := shown(t, s)
	i := strings.Index(text, "# Skills")
	require.Positive(t, i)
	listed := strings.Count(text, "- `skill-")
	require.Greater(t, listed, 20)
	require.Contains(t, text, fmt.Sprintf("%d more skills are not listed here", 1000-listed))
	require.Less(t, strings.Index(text[i:], "more skills"), 10<<10)
	require.Contains(t, said(t, s, "find"), "`skill-987`")
	require.Contains(t, said(t, s, "load"), "Text 987.")
}

// BenchmarkASessionWithAThousandSkills is a session's creation; prompt-bytes is what the skills add to each request.
func BenchmarkASessionWithAThousandSkills(b *testing.B) {
	root, home := thousand(b)
	setup, _, err := builtin.Load(config.Options{Root: root, Home: home, Managed: "-"})
	require.NoError(b, err)
	defer setup.Close()
	for b.Loop() {
		s, err := session.New(b.Context(), session.Options{Blueprint: setup.Blueprint, Models: script.New().Models})
		if err != nil {
			b.Fatal(err)
		}
		bytes := 0
		for _, block := range s.System() {
			if i := strings.Index(block.Text, "# Skills"); i >= 0 {
				bytes = len(block.Text) - i
			}
		}
		b.ReportMetric(float64(bytes), "prompt-bytes")
		if err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
