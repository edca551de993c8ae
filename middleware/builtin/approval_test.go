package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// person answers every request alike and counts them.
type person struct {
	answer session.Approval
	asked  []session.Request
}

func (p *person) Approve(_ context.Context, r []session.Request) ([]session.Approval, error) {
	p.asked = append(p.asked, r...)
	out := make([]session.Approval, len(r))
	for i := range out {
		out[i] = p.answer
	}
	return out, nil
}

// asks runs commands in a new session, main or an agent's, and says how many of them were asked about.
func asks(t *testing.T, root, agent string, o permission.Options, answer session.Approval, commands ...string) int {
	t.Helper()
	catalog, _ := subagent.Load(subagent.LoadOptions{})
	suite, err := builtin.Suite(builtin.Options{Permission: o, SubAgent: subagent.Options{Catalog: catalog}})
	require.NoError(t, err)
	var steps []script.Step
	for _, c := range commands {
		raw, err := json.Marshal(map[string]string{"command": c})
		require.NoError(t, err)
		steps = append(steps, script.Do("Bash", string(raw)))
	}
	steps = append(steps, script.Say("done"))
	agents := map[string][]script.Step{"": steps}
	if agent != "" {
		raw, err := json.Marshal(map[string]string{"agent": agent, "prompt": "go"})
		require.NoError(t, err)
		agents = map[string][]script.Step{"": {script.Do("Agent", string(raw)), script.Say("done")}, agent: steps}
	}
	who := &person{answer: answer}
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: root}, Models: script.For(agents).Models, Approver: who,
	})
	require.NoError(t, err)
	for _, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(context.Background()))
	return len(who.asked)
}

func TestAnAnswerForLongerHoldsForWhatWasShownThisAgentAndThisProject(t *testing.T) {
	home, root, other := t.TempDir(), t.TempDir(), t.TempDir()
	o := permission.Options{Home: home}
	const starred = `frob -n "a.*b" f`
	always := session.Approval{Allow: true, Scope: session.Always}
	no := session.Approval{}
	require.Equal(t, 1, asks(t, root, "", o, always, starred, starred, starred), "once in a session")
	require.Equal(t, 0, asks(t, root, "", o, no, starred), "and not after a restart")
	require.Equal(t, 0, asks(t, root, "", o, no, starred+" | head -n 1"), "as a part of more")
	require.Equal(t, 4, asks(t, root, "", o, no, `frob -n "aXXb" f`, `frob -n "a." g; rm "b" f`, `frob -n "a.*b" f g`, starred+"; make"), "a star is no wildcard")
	require.Equal(t, 1, asks(t, other, "", o, no, starred), "of another project")
	require.Equal(t, 1, asks(t, root, "general", o, no, starred), "of another agent")
	require.Equal(t, 1, asks(t, root, "general", o, always, starred, starred), "who can be given it too")
	require.Equal(t, 0, asks(t, root, "general", o, no, starred))
	require.Equal(t, 1, asks(t, root, "", permission.Options{Home: home, Ask: written("Bash(frob *)")}, no, starred), "under an ask rule")
	for name, strict := range map[string]permission.Options{
		"plan": {Home: home, Mode: "plan"}, "dontAsk": {Home: home, Mode: "dontAsk"}, "deny": {Home: home, Deny: written("Bash(frob *)")},
	} {
		c := newCourtAt(t, root, strict)
		require.Equal(t, middleware.Deny, c.shell(starred).Decision, name)
	}
	require.Equal(t, middleware.Allow, newCourtAt(t, root, o).shell(starred).Decision)

	info, err := os.Stat(filepath.Join(home, "approvals.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.WriteFile(filepath.Join(home, "approvals.json"), []byte("{"), 0o600))
	require.Equal(t, 1, asks(t, root, "", o, no, starred), "a broken file approves nothing")
}

func TestAnAnswerForTheSessionEndsWithIt(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	o := permission.Options{Home: home}
	forSession := session.Approval{Allow: true, Scope: session.ForSession}
	require.Equal(t, 1, asks(t, root, "", o, forSession, "frob x", "frob x"))
	require.Equal(t, 1, asks(t, root, "", o, forSession, "frob x"))
	require.Equal(t, 2, asks(t, root, "", o, session.Approval{Allow: true}, "frob x", "frob x"), "once is once")
	require.Equal(t, 2, asks(t, root, "", o, forSession, "frob $x", "frob $x"), "what is decided only when it runs is approved once")
	require.Equal(t, 2, asks(t, root, "", o, forSession, "echo x > .git/config", "echo x > .git/config"), "and so is what decides about sessions")
}

func newCourtAt(t *testing.T, root string, o permission.Options) *court {
	t.Helper()
	suite, err := builtin.Suite(builtin.Options{Permission: o})
	require.NoError(t, err)
	s, err := session.New(t.Context(), session.Options{Blueprint: middleware.Blueprint{Suite: suite, Root: root}, Models: script.New().Models})
	require.NoError(t, err)
	c := &court{t: t, s: s, judge: s.Chain().NewJudge(0)}
	t.Cleanup(func() {
		c.judge.Close()
		require.NoError(t, s.Close(context.Background()))
	})
	return c
}

func TestFileRulesHoldThroughLinksAndDots(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "secrets"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".git", "hooks"), 0o700))
	require.NoError(t, os.Symlink("secrets", filepath.Join(root, "link")))
	require.NoError(t, os.Symlink(filepath.Join("secrets", "a"), filepath.Join(root, "file")))
	require.NoError(t, os.Symlink(".git", filepath.Join(root, "g")))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, "out")))
	c := newCourtAt(t, root, permission.Options{Mode: "acceptEdits", Deny: written("Edit(secrets/**)"), Allow: written("Bash(cp *)")})
	write := func(path string) middleware.Decision {
		return c.verdict(c.call("Write", map[string]string{"path": path, "content": "x"})).Decision
	}
	for path, want := range map[string]middleware.Decision{
		"a": middleware.Allow, "src/new": middleware.Allow, "secrets/a": middleware.Deny, "./secrets/a": middleware.Deny,
		"src/../secrets/a": middleware.Deny, root + "/secrets/a": middleware.Deny, "link/a": middleware.Deny, "link/new/deep": middleware.Deny,
		"file": middleware.Deny, ".git/config": middleware.Ask, "g/hooks/pre-commit": middleware.Ask, "out/x": middleware.Ask, "../x": middleware.Ask,
	} {
		require.Equal(t, want, write(path), path)
	}
	// The documented limit: a hard link made before is another name, which nothing tells from the first.
	require.NoError(t, os.WriteFile(filepath.Join(root, "secrets", "old"), nil, 0o600))
	require.NoError(t, os.Link(filepath.Join(root, "secrets", "old"), filepath.Join(root, "hard")))
	require.Equal(t, middleware.Deny, write("secrets/old"))
	require.Equal(t, middleware.Allow, write("hard"))
	for line, want := range map[string]middleware.Decision{
		"cp x y": middleware.Allow, "cp x link/a": middleware.Deny, "cp x g/hooks/pre-commit": middleware.Ask, "echo x > link/a": middleware.Deny,
		"echo x > file": middleware.Deny, "cd link && cp x a": middleware.Deny, "cp x out/y": middleware.Allow,
	} {
		require.Equal(t, want, c.shell(line).Decision, line)
	}
}

// asker answers with the first option.
type asker struct{ n int }

func (a *asker) Ask(_ context.Context, q toolview.Question) (toolview.Answer, error) {
	a.n++
	return toolview.Answer{Chosen: [][]string{{q.Questions[0].Options[0].Label}}}, nil
}

func TestNothingThatApprovesAnswersAQuestionAndNobodyMeansNoTool(t *testing.T) {
	const q = `{"questions":[{"question":"Which?","options":[{"label":"left"},{"label":"right"}]}]}`
	play := func(o permission.Options, who session.Asker) string {
		suite, err := builtin.Suite(builtin.Options{Permission: o})
		require.NoError(t, err)
		s, err := session.New(t.Context(), session.Options{
			Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Asker: who,
			Models: script.New(script.Do("AskUserQuestion", q), script.Say("done")).Models,
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		text := ""
		for e, err := range s.Prompt(t.Context(), session.Text("go")) {
			require.NoError(t, err)
			if e.Kind == message.CallEnd {
				text = e.Result.Text()
			}
		}
		return text
	}
	for _, o := range []permission.Options{{}, {Mode: "bypass"}, {Mode: "plan"}, {Mode: "dontAsk"}, {Allow: written("AskUserQuestion")}} {
		who := &asker{}
		require.Contains(t, play(o, who), "left")
		require.Equal(t, 1, who.n, "a person was asked")
		require.Contains(t, play(o, nil), "There is no tool `AskUserQuestion`")
	}
}
