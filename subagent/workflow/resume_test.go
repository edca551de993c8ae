package workflow_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/subagent/workflow"
)

const three = `
a = agent("one", agent="rev").text
b = agent("two", agent="rev").text
c = agent("three", agent="rev").text
a + b + c
`

// stopped is a run whose turn was left when its second agent started.
func stopped(t *testing.T, g *rig, call string) session.Options {
	t.Helper()
	g.agent("rev", subagent.Definition{}, script.Say("1"), script.Say("2"), script.Say("3"), script.Say("4"), script.Say("5"), script.Say("6"))
	o := g.options(call, call)
	// The turn that is left has one step, and the one that goes on begins with the call again.
	g.agents[""] = append(g.agents[""][:1:1], g.agents[""][:1]...)
	g.agents[""] = append(g.agents[""], script.Say("done"), script.Do(workflow.Tool, call), script.Say("done"))
	g.script = script.For(g.agents)
	o.Models = g.script.Models
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	started := 0
	for e, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
		if e.Kind == message.ChildStart {
			if started++; started == 2 {
				break
			}
		}
	}
	require.NoError(t, s.Close(context.Background()))
	require.Equal(t, 1, g.asked("rev"))
	return o
}

func TestAStoppedWorkflowGoesOnWithoutRunningFinishedAgentsAgain(t *testing.T) {
	g := newRig(t)
	o := stopped(t, g, code(three))
	s, err := session.Resume(t.Context(), o, "main")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	owner, r, ok := s.Chain().Route("workflows", nil)
	require.True(t, ok)
	require.Equal(t, workflow.Name, owner)
	reply, err := r.Run(t.Context(), "")
	require.NoError(t, err)
	require.Regexp(t, "run [0-9a-f]{10} of script was stopped", reply.Text)

	turn(t, s, "go on")
	got := results(s)
	require.Regexp(t, `^123\n\[workflow run [0-9a-f]{10}: 3 agents\]$`, got[len(got)-1])
	require.Equal(t, 3, g.asked("rev"), "the first was not run again")
	reply, err = r.Run(t.Context(), "")
	require.NoError(t, err)
	require.NotContains(t, reply.Text, "stopped")

	turn(t, s, "once more")
	got = results(s)
	require.Contains(t, got[len(got)-1], "456\n", "a run that came to its end begins anew")
}

func TestARunCanBeBegunAnewOrGoOnUnderACorrectedScript(t *testing.T) {
	const source = "a = agent('one', agent='rev').text\nfail('oops ' + a)"
	begin := func(calls ...string) ([]string, *rig) {
		g := newRig(t)
		g.agent("rev", subagent.Definition{}, script.Say("1"), script.Say("2"), script.Say("3"))
		got, _ := g.run(calls...)
		return got, g
	}
	got, _ := begin(code(source))
	require.Contains(t, got[0], "script.star:2:5: fail: oops 1")
	id := regexp.MustCompile("`resume`: \"([0-9a-f]{10})\"").FindStringSubmatch(got[0])
	require.Len(t, id, 2)

	got, g := begin(
		code(source), code(source), code("agent('one', agent='rev').text + '!'", "resume", `"`+id[1]+`"`),
		code(source), code(source), code(source, "restart", "true"),
	)
	for i, want := range []string{"oops 1", "oops 1", "1!", "oops 2", "oops 2", "oops 3"} {
		require.Contains(t, got[i], want, i)
	}
	require.Equal(t, 3, g.asked("rev"))
}

func TestEqualRequestsAreToldApartAndFailedAgentsRunAgain(t *testing.T) {
	g := newRig(t)
	g.agent("rev", subagent.Definition{}, script.Say("1"), script.Say("2"), script.Step{Error: "down"}, script.Say("3"))
	again := code("v = [agent('same', agent='rev') for _ in range(3)]\nif not v[2].ok: fail('down')\n''.join([x.text for x in v])")
	got, _ := g.run(again, again)
	require.Contains(t, got[0], "2 agents have finished and are kept")
	require.Contains(t, got[1], "123\n")
	require.Equal(t, 4, g.asked("rev"))
}

func TestStoredWorkflowsAreRoutesAndFixedForTheSession(t *testing.T) {
	g := newRig(t)
	g.file("review.star", "\ufeff# Reviews the change.\r\n'reviewed ' + str(args)\r\n")
	g.file("broken.star", "x = 1\ny = (")
	g.file("undefined.star", "Bash('x')")
	g.file("workflows.star", "1")
	g.file("bad name.star", "1")
	g.file("notes.md", "no workflow")
	o := g.options()
	o.Models = script.New(
		script.Step{Calls: []script.Call{{Tool: workflow.Tool, Args: map[string]any{"name": "review", "args": "it & that"}}}, Expect: script.Expect{
			Last: []string{"call `Workflow` with {\"args\":\"it & that\",\"name\":\"review\"}"},
		}}, script.Say("done"),
		script.Do(workflow.Tool, `{"name":"review"}`), script.Say("done"),
	).Models
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	var notes []string
	for _, e := range turn(t, s, "/review it & that") {
		if e.Kind == message.Note {
			notes = append(notes, e.Text)
		}
	}
	require.Contains(t, results(s)[0], "reviewed it & that\n[workflow run")
	require.Len(t, notes, 4)
	require.Contains(t, notes[0], ".peri/workflows/bad name.star: name the file with")
	require.Contains(t, notes[1], ".peri/workflows/broken.star:2:6: ")
	require.Contains(t, notes[2], ".peri/workflows/undefined.star:1:1: undefined: Bash")
	require.Contains(t, notes[3], ".peri/workflows/workflows.star: the command /workflows is taken")
	require.Equal(t, map[string]string{"/agents": "", "/workflows": "", "/review": "Reviews the change."}, routes(s))
	require.NoError(t, s.Close(context.Background()))

	g.file("review.star", "'changed'")
	require.NoError(t, os.Remove(filepath.Join(g.root, ".peri/workflows/broken.star")))
	g.file("later.star", "1")
	s, err = session.Resume(t.Context(), o, "main")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	require.Equal(t, map[string]string{"/agents": "", "/workflows": "", "/review": "Reviews the change."}, routes(s))
	turn(t, s, "go")
	got := results(s)
	require.Contains(t, got[len(got)-1], "reviewed None")

	g.store = &memory.Store{}
	require.Contains(t, routes(g.open(g.options())), "/later", "another session has what is there now")
}

func routes(s *session.Session) map[string]string {
	out := map[string]string{}
	for _, f := range s.Surface() {
		if f.Surface == session.OnRoute {
			if f.Owner != workflow.Name || f.Name == "/workflows" {
				f.Doc = ""
			}
			out[f.Name] = f.Doc
		}
	}
	return out
}
