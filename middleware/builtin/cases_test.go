package builtin_test

import (
	"context"
	"encoding/json"
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
	"github.com/metaharness/peri/toolview"
)

// The cases below are what users of comparable harnesses reported: a capability that was switched off and still spoken of,
// offered or reached. Each first shows that it is there when nothing is closed.

// site is a project with settings, and what its sessions share.
type site struct {
	t     *testing.T
	root  string
	home  string
	store *memory.Store
}

func newSite(t *testing.T, settings string) *site {
	s := &site{t: t, root: t.TempDir(), home: t.TempDir(), store: &memory.Store{}}
	s.write(".peri/settings.yaml", settings)
	return s
}

func (s *site) write(name, text string) {
	path := filepath.Join(s.root, filepath.FromSlash(name))
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

func (s *site) options(sc *script.Script, id string) session.Options {
	setup, _, err := builtin.Load(config.Options{Root: s.root, Home: s.home, Managed: "-"})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, setup.Close()) })
	return session.Options{Blueprint: setup.Blueprint, Models: sc.Models, Store: s.store, ID: id, Asker: answering{}}
}

func (s *site) open(sc *script.Script, id string) *session.Session {
	out, err := session.New(s.t.Context(), s.options(sc, id))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, out.Close(context.Background())) })
	return out
}

func play(t *testing.T, s *session.Session, text string) {
	t.Helper()
	for _, err := range s.Prompt(t.Context(), session.Text(text)) {
		require.NoError(t, err)
	}
}

// shown is every text that a model is given before it says anything: the prompt, the tools with their schemas, the tail.
func shown(t *testing.T, s *session.Session) string {
	t.Helper()
	var b strings.Builder
	for _, block := range s.System() {
		b.WriteString(block.Text + "\n")
	}
	for _, tool := range s.View().Direct() {
		b.WriteString(tool.Name + "\n" + tool.Title + "\n" + tool.Doc + "\n" + string(tool.Schema) + "\n")
	}
	return b.String()
}

func TestPromptNamesNoToolOfAClosedOwnerInAnyOwnersText(t *testing.T) {
	for owner, names := range map[string][]string{
		"WorkspaceMiddleware":      {"Bash", "Glob", "Grep", "`Edit`", "`Read`", "`Write`", "BashStart"},
		"WebMiddleware":            {"WebFetch", "WebSearch", "CodeSearch"},
		"TodoMiddleware":           {"TodoWrite", "TodoRead", "/todos"},
		"SubAgentMiddleware":       {"`Agent`", "AgentResult", "GenerateAgent", "/agents"},
		"HumanInTheLoopMiddleware": {"AskUserQuestion"},
		"ClockMiddleware":          {"`Now`"},
	} {
		t.Run(owner, func(t *testing.T) {
			const async = "workspace: {bash_async: true}\n"
			open := newSite(t, async).open(script.New(), "")
			require.NotEmpty(t, open.Surface().Of(owner), "presence first")
			shut := newSite(t, async+"meta: {"+owner+": false}\n").open(script.New(), "")
			text := shown(t, shut)
			for _, n := range names {
				require.NotContains(t, text, n)
			}
			require.Empty(t, shut.Surface().Of(owner))
		})
	}
}

func TestDeniedToolIsNotAdvertisedByItsOwnersOtherTexts(t *testing.T) {
	const async = "workspace: {bash_async: true}\n"
	for e := range newSite(t, async).open(script.New(), "").View().All() {
		if e.Tool.Finder {
			continue // they leave together
		}
		t.Run(e.Tool.Name, func(t *testing.T) {
			s := newSite(t, async+"tools: {deny: ["+e.Tool.Name+"]}\n").open(script.New(), "")
			require.False(t, s.View().Explain(e.Tool.Name).Visible)
			text := shown(t, s)
			for d := range s.View().Deferred() {
				text += d.Tool.Doc + string(d.Tool.Schema)
			}
			require.NotContains(t, text, "`"+e.Tool.Name+"`")
		})
	}
}

func TestAllowListOfOneToolSilencesEverySection(t *testing.T) {
	text := shown(t, newSite(t, "").open(script.New(), ""))
	require.Contains(t, text, "AskUserQuestion")
	text = shown(t, newSite(t, "tools: {allow: [Now]}\n").open(script.New(), ""))
	require.Contains(t, text, "Now")
	for _, n := range []string{"AskUserQuestion", "`Agent`", "TodoWrite", "`Read`", "Bash", "WebFetch"} {
		require.NotContains(t, text, n)
	}
}

func TestClosedIsNotDeferred(t *testing.T) {
	const async = "workspace: {bash_async: true}\n"
	sc := script.New(script.Do("SearchExtraTools", `{"query":"start a command in the background"}`), script.Say("done"))
	s := newSite(t, async).open(sc, "")
	play(t, s, "go")
	require.Contains(t, strings.Join(sc.Sent()[0].Tail, "\n"), "BashStart", "announced")
	require.Contains(t, s.Messages()[2].Results()[0].Text(), "BashStart", "and found")

	sc = script.New(script.Do("SearchExtraTools", `{"query":"start a command in the background"}`), script.Say("done"))
	s = newSite(t, async+"meta: {WorkspaceMiddleware: false}\n").open(sc, "")
	play(t, s, "go")
	require.NotContains(t, strings.Join(sc.Sent()[0].Tail, "\n"), "Bash")
	require.NotContains(t, s.Messages()[2].Results()[0].Text(), "BashStart")
}

func TestClosedSubAgentsLeaveNoToolNoRosterAndNoCost(t *testing.T) {
	open, shut := newSite(t, "").open(script.New(), ""), newSite(t, "meta: {SubAgentMiddleware: false}\n").open(script.New(), "")
	require.Contains(t, shown(t, open), "explore")
	for _, n := range []string{"`Agent`", "AgentResult", "GenerateAgent", "explore", "Delegating"} {
		require.NotContains(t, shown(t, shut), n)
	}
	_, err := shut.Agent(t.Context(), "explore")
	require.ErrorIs(t, err, session.ErrNotFound)
}

func TestResumedTodosOfAClosedListRemindNobody(t *testing.T) {
	unfinished := script.Do("TodoWrite", `{"items":[{"content":"mend the roof","status":"pending"}]}`)
	sc := script.New(unfinished, script.Say("noted"))
	site := newSite(t, "")
	play(t, site.open(sc, "with"), "go")
	require.Contains(t, strings.Join(sc.Sent()[1].Tail, "\n"), "mend the roof", "presence first")

	// The same transcript goes on in a session that was created without the list.
	shut := newSite(t, "meta: {TodoMiddleware: false}\n")
	shut.open(script.New(), "without")
	past, err := site.store.Load(t.Context(), "with")
	require.NoError(t, err)
	for _, e := range past {
		if e.Kind == session.Happened || e.Kind == session.Kept {
			require.NoError(t, shut.store.Append(t.Context(), "without", e))
		}
	}
	steps := make([]script.Step, 12)
	for i := range steps {
		steps[i] = script.Say("on")
	}
	sc = script.New(steps...)
	s, err := session.Resume(t.Context(), shut.options(sc, ""), "without")
	require.NoError(t, err)
	defer s.Close(context.Background())
	require.Contains(t, plain(t, s.Messages()), "mend the roof", "the old call is in the transcript")
	for range 12 {
		play(t, s, "go on")
	}
	require.Len(t, sc.Sent(), 12, "no stop hook adds a step")
	for _, sent := range sc.Sent() {
		for _, text := range sent.Tail {
			require.NotContains(t, text, "Todo")
			require.NotContains(t, text, "mend the roof")
		}
	}
}

func TestBuiltInAgentsThatAreOffAreInNoTextAndNoSchema(t *testing.T) {
	quoted := func(name string) []string { return []string{"`" + name + "`", `"` + name + `"`} }
	open := newSite(t, "").open(script.New(), "")
	s := newSite(t, "meta: {BuiltInSubagents: false}\n")
	s.write(".peri/agents/mine.md", "---\nname: mine\ndescription: Mine.\n---\nYou are mine.\n")
	shut := s.open(script.New(), "")
	for _, name := range []string{"coder", "explore", "general", "plan", "reviewer", "verifier", "web-researcher"} {
		require.Contains(t, shown(t, open), quoted(name)[1], "presence first")
		for _, q := range quoted(name) {
			require.NotContains(t, shown(t, shut), q)
		}
		_, err := shut.Agent(t.Context(), name)
		require.ErrorIs(t, err, session.ErrNotFound)
		require.NotContains(t, shut.Surface().String(), "agent "+name)
	}
	require.Contains(t, shown(t, shut), `"mine"`)
	_, err := shut.Agent(t.Context(), "mine")
	require.NoError(t, err)
	_, err = shut.Fork(t.Context())
	require.NoError(t, err, "a fork stays")
	for _, tool := range []string{"Agent", "AgentResult", "GenerateAgent"} {
		require.True(t, shut.View().Explain(tool).Visible, tool)
	}
}

func TestNothingSaysThatThereAreNoTools(t *testing.T) {
	// Direct tools only, deferred tools only, none at all: no text may claim what the whole view does not bear out.
	for _, settings := range []string{"", "tools: {allow: [BashStart]}\nworkspace: {bash_async: true}\n", "tools: {allow: []}\n"} {
		text := strings.ToLower(shown(t, newSite(t, settings).open(script.New(), "")))
		for _, claim := range []string{"no tools", "tools are disabled", "without tools", "cannot use tools"} {
			require.NotContains(t, text, claim)
		}
	}
	s := newSite(t, "tools: {allow: [BashStart]}\nworkspace: {bash_async: true}\n").open(script.New(), "")
	require.True(t, s.View().HasDeferred())
	require.Len(t, s.View().Direct(), 2, "the way to them is there, and nothing else")
}

func TestClosedApprovalKeepsAskingAndClosedAskingApprovesNothing(t *testing.T) {
	ask := script.Do("AskUserQuestion", `{"questions":[{"question":"Which?","options":[{"label":"a","description":"x"},{"label":"b","description":"y"}]}]}`)
	for name, settings := range map[string]string{
		"approval closed": "meta: {PermissionMiddleware: false}\n",
		"bypass":          "permissions: {mode: bypass}\n",
		"allowed":         "permissions: {allow: [AskUserQuestion]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, settings)
			s := site.open(script.New(ask, script.Say("done")), "")
			play(t, s, "go")
			require.Contains(t, s.Messages()[2].Results()[0].Text(), "answer of a person")
		})
	}
	shut := newSite(t, "meta: {HumanInTheLoopMiddleware: false}\n")
	s := shut.open(script.New(script.Do("Bash", `{"command":"touch made"}`), script.Say("done")), "")
	play(t, s, "go")
	require.Contains(t, s.Messages()[2].Results()[0].Text(), "needs approval")
	require.NoFileExists(t, filepath.Join(shut.root, "made"))
}

func TestTheRepositorysOwnSettingsAreInOrder(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	setup, notes, err := builtin.Load(config.Options{Root: root, Home: t.TempDir(), Managed: "-"})
	require.NoError(t, err)
	defer setup.Close()
	require.Empty(t, notes)
	s, err := session.New(t.Context(), session.Options{Blueprint: setup.Blueprint, Models: script.New().Models})
	require.NoError(t, err)
	defer s.Close(context.Background())
	require.Empty(t, s.Surface().Of("WebMiddleware"))
	require.Contains(t, s.Surface().String(), "segment 06_tone_style DefaultSystemPromptMiddleware cached 60 override:.peri/meta/06_tone_style.md\n")
	require.Contains(t, s.Surface().String(), "agent reviewer SubAgentMiddleware")
	k, err := s.Agent(t.Context(), "reviewer")
	require.NoError(t, err)
	for _, tool := range k.View().Direct() {
		require.Contains(t, []string{"Read", "Grep", "Glob", "LS"}, tool.Name)
	}
}

// answering answers every question as a person would.
type answering struct{}

func (answering) Ask(context.Context, toolview.Question) (toolview.Answer, error) {
	return toolview.Answer{Chosen: [][]string{{"answer of a person"}}}, nil
}

func plain(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
