package builtin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

// way is one way of starting a child. What users reported of one of them holds for all.
type way struct {
	name string
	// fork: the child has no definition of its own.
	fork bool
	// start is what the parent says; ahead is what the child says before it is continued.
	start []script.Step
	ahead []script.Step
}

func starts(agent string) []way {
	who := `"agent":"` + agent + `",`
	wait := script.Do("AgentResult", `{"id":"main.1","wait":true}`)
	return []way{
		{name: "named", start: []script.Step{script.Do("Agent", `{`+who+`"prompt":"go"}`)}},
		{name: "one of several", start: []script.Step{script.Do("Agent", `{"tasks":[{`+who+`"prompt":"go"},{"agent":"nobody","prompt":"go"}]}`)}},
		{name: "in the background", start: []script.Step{script.Do("Agent", `{`+who+`"prompt":"go","background":true}`), wait}},
		{name: "continued", start: []script.Step{script.Do("Agent", `{`+who+`"prompt":"go"}`), script.Do("Agent", `{"resume":"main.1","prompt":"go on"}`)}, ahead: []script.Step{script.Say("ready")}},
		{name: "by a workflow", start: []script.Step{script.Do("ExecuteExtraTool", `{"name":"Workflow","arguments":{"script":"agent('go', agent='`+agent+`').text"}}`)}},
		{name: "by a program", start: []script.Step{script.Do("ExecuteExtraTool", `{"name":"RunCode","arguments":{"code":"Agent(agent='`+agent+`', prompt='go')"}}`)}},
		{name: "fork", fork: true, start: []script.Step{script.Do("Agent", `{"prompt":"go"}`)}},
	}
}

// family is a project whose session starts one child.
type family struct {
	*site
	definition string // the fields of kid
	approver   *people
	calls      []string // names and arguments in turn, each a step of the child
}

// outcome is what became of it.
type outcome struct {
	answers []string // to the child's calls
	shown   []string // the child's direct tools
	told    string   // what its parent was told
	model   string   // the name of the child's model
}

func (f *family) start(t *testing.T, w way) outcome {
	if f.definition != "" {
		f.write(".peri/agents/kid.md", "---\nname: kid\ndescription: Does it.\n"+f.definition+"\n---\nYou are the kid.\n")
	}
	child := slices.Clone(w.ahead)
	for i := 0; i+1 < len(f.calls); i += 2 {
		child = append(child, script.Do(f.calls[i], f.calls[i+1]))
	}
	child = append(child, script.Say("kid is done"))
	steps := map[string][]script.Step{"": append(slices.Clone(w.start), script.Say("done")), "kid": child, "explore": child}
	if w.fork {
		steps[""] = append(append(slices.Clone(w.start), child...), script.Say("done"))
	}
	sc := script.For(steps)
	var mu sync.Mutex
	var out outcome
	o := f.options(sc, "main")
	o.Models = func(name string) (middleware.ModelFunc, error) {
		if name == "nosuch" {
			return nil, errors.New("there is no such model")
		}
		return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
			if r.View.Agent() != "" {
				mu.Lock()
				out.model = name
				mu.Unlock()
			}
			return sc.Model(ctx, r, sink)
		}, nil
	}
	if f.approver != nil {
		o.Approver = f.approver
	}
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	// A call that is refused may be the last that the script has words for.
	for range s.Prompt(t.Context(), session.Text("go")) {
		// What happened stands in the journals.
	}
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			out.told += r.Text() + "\n"
		}
	}
	entries, err := f.store.Load(t.Context(), "main.1")
	if err != nil {
		require.ErrorIs(t, err, session.ErrNotFound)
		return out
	}
	for _, e := range entries {
		if e.Event != nil && e.Event.Kind == message.CallEnd && e.Event.Parent == "" {
			out.answers = append(out.answers, e.Event.Result.Text())
		}
	}
	for _, sent := range sc.Sent() {
		if sent.Agent != "" || w.fork {
			out.shown = sent.Tools
		}
	}
	return out
}

// people approves everything and keeps who asked.
type people struct {
	mu  sync.Mutex
	who []string
}

func (p *people) Approve(_ context.Context, rs []session.Request) ([]session.Approval, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]session.Approval, len(rs))
	for i, r := range rs {
		p.who = append(p.who, r.Tool+" by "+r.Agent)
		out[i].Allow = true
	}
	return out, nil
}

// every runs a check for every way of starting kid; forks too if what is checked is not in its definition.
func every(t *testing.T, forks bool, check func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range starts("kid") {
		if !w.fork || forks {
			t.Run(w.name, func(t *testing.T) { check(t, w) })
		}
	}
}

// newFamily is a project whose user lets everything run that nothing denies.
func newFamily(t *testing.T, settings, definition string, calls ...string) *family {
	f := &family{site: newSite(t, settings), definition: definition, calls: calls}
	f.writeHome("permissions: {mode: bypass}\n")
	return f
}

func (s *site) writeHome(text string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.home, "settings.yaml"), []byte(text), 0o600))
}

func TestWhatTheParentIsDeniedItsChildrenAreDenied(t *testing.T) {
	calls := []string{"Bash", `{"command":"echo curl"}`, "Bash", `{"command":"curl x"}`}
	every(t, true, func(t *testing.T, w way) {
		for _, f := range []*family{
			newFamily(t, "tools: {deny: ['Bash(curl *)']}\n", "model: inherit", calls...),
			newFamily(t, "permissions: {deny: ['Bash(curl *)']}\n", "model: inherit", calls...),
		} {
			got := f.start(t, w)
			require.Contains(t, got.shown, "Bash", "the tool stays")
			require.Len(t, got.answers, 2, got.told)
			require.Contains(t, got.answers[0], "[exit code 0]")
			require.Contains(t, got.answers[1], "Bash(curl *)")
			require.NotContains(t, got.answers[1], "exit code")
		}
		f := newFamily(t, "tools: {deny: [Bash]}\n", "tools: [Bash, Read]", calls...)
		got := f.start(t, w)
		require.NotContains(t, got.shown, "Bash")
		require.Contains(t, got.answers[0], "There is no tool `Bash`.")
	})
}

func TestADeclaredListIsAllThatAnAgentGets(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		f := newFamily(t, "", "tools: [Read, Grep]", "Grep", `{"pattern":"kid"}`, "Write", `{"path":"made","content":"x"}`, "Bash", `{"command":"touch made"}`)
		got := f.start(t, w)
		require.Equal(t, []string{"Grep", "Read"}, slices.Sorted(slices.Values(got.shown)), got.told)
		require.Contains(t, got.answers[0], "kid.md", "presence first")
		require.Contains(t, got.told, "kid is done", "its report comes back")
		require.Contains(t, got.answers[1], "There is no tool `Write`.")
		require.Contains(t, got.answers[2], "There is no tool `Bash`.")
		require.NoFileExists(t, filepath.Join(f.root, "made"))
		f = newFamily(t, "tools: {allow: [Agent, AgentResult, Workflow, RunCode, Grep]}\n", "tools: [Read, Grep]", "Grep", `{"pattern":"kid"}`)
		got = f.start(t, w)
		require.Equal(t, []string{"Grep"}, got.shown, "what the session lacks no list brings: %s", got.told)
	})
}

func TestADeniedAliasIsTheToolInEveryChild(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		got := newFamily(t, "", "disallowedTools: shell, list", "Glob", `{"pattern":"*"}`, "Bash", `{"command":"true"}`).start(t, w)
		require.Contains(t, got.shown, "Glob", "presence first")
		require.NotContains(t, got.shown, "Bash")
		require.NotContains(t, got.shown, "LS")
		require.Contains(t, got.answers[1], "There is no tool `Bash`.")
	})
}

func TestAFileThatCannotBeReadStartsNobody(t *testing.T) {
	for name, definition := range map[string]string{
		"a near miss of a list": "allowed-tools: [Read]", "another": "allowedTools: [Read]", "nothing behind the list": "tools:",
		"a description that goes on": "tools: Read\nmore\nand more",
	} {
		every(t, false, func(t *testing.T, w way) {
			f := newFamily(t, "", definition, "Bash", `{"command":"touch made"}`)
			f.write(".peri/agents/README.md", "# Notes\n")
			got := f.start(t, w)
			require.Contains(t, got.told, "There is no agent `kid`", name)
			require.Empty(t, got.answers)
			require.NoFileExists(t, filepath.Join(f.root, "made"))
		})
	}
}

func TestAnAgentWhoseServersAreMissingIsRefusedWithTheList(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		got := newFamily(t, "", "requiredMcpServers: [db, mail]", "Glob", `{"pattern":"*"}`).start(t, w)
		require.Contains(t, got.told, "it needs servers that are not there: db, mail")
		require.Empty(t, got.answers)
	})
}

func TestApprovalsOfEveryChildReachTheParentsApproverWithItsName(t *testing.T) {
	every(t, true, func(t *testing.T, w way) {
		f := &family{site: newSite(t, ""), definition: "model: inherit", approver: &people{}, calls: []string{"Bash", `{"command":"touch made"}`}}
		got := f.start(t, w)
		name := "kid"
		if w.fork {
			name = ""
		}
		require.Contains(t, f.approver.who, "Bash by "+name, got.told)
		require.FileExists(t, filepath.Join(f.root, "made"))
		f = &family{site: newSite(t, ""), definition: "permissionMode: plan", approver: &people{}, calls: []string{"Bash", `{"command":"touch made"}`}}
		if !w.fork {
			got = f.start(t, w)
			require.Contains(t, got.answers[0], "plan mode", "the stricter of two modes holds")
			require.NotContains(t, f.approver.who, "Bash by kid")
			require.NoFileExists(t, filepath.Join(f.root, "made"))
		}
	})
}

func TestBuiltInAgentsThatAreOffAreStartedInNoWay(t *testing.T) {
	for _, w := range starts("explore") {
		if w.fork {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			got := newFamily(t, "", "", "Glob", `{"pattern":"*"}`).start(t, w)
			require.Len(t, got.answers, 1, "presence first: %s", got.told)
			got = newFamily(t, "meta: {BuiltInSubagents: false}\n", "", "Glob", `{"pattern":"*"}`).start(t, w)
			require.Contains(t, got.told, "There is no agent `explore`")
			require.Empty(t, got.answers)
		})
	}
	every(t, true, func(t *testing.T, w way) {
		got := newFamily(t, "meta: {BuiltInSubagents: false}\n", "model: inherit", "Glob", `{"pattern":"*"}`).start(t, w)
		require.Len(t, got.answers, 1, "a project's own agent and a fork stay: %s", got.told)
	})
}

func TestSettingsLayEachFieldOverAnAgentByItself(t *testing.T) {
	every(t, false, func(t *testing.T, w way) {
		f := newFamily(t, "agents: {kid: {tools: [Read]}}\n", "maxTurns: 9", "Read", `{"path":".peri/settings.yaml"}`)
		f.writeHome("permissions: {mode: bypass}\nagents: {kid: {model: m1}}\n")
		got := f.start(t, w)
		require.Equal(t, "m1", got.model, got.told)
		require.Equal(t, []string{"Read"}, got.shown)
	})
}

func TestAnAgentsModelIsTheSameHoweverItIsStarted(t *testing.T) {
	for field, want := range map[string]string{"model: fast": "fast", "model: inherit": "main-model", "model: ''": "main-model", "maxTurns: 3": "main-model"} {
		every(t, false, func(t *testing.T, w way) {
			f := newFamily(t, "", field, "Glob", `{"pattern":"*"}`)
			f.writeHome("permissions: {mode: bypass}\nmodel: main-model\n")
			require.Equal(t, want, f.start(t, w).model, field)
		})
	}
	every(t, false, func(t *testing.T, w way) {
		got := newFamily(t, "", "model: nosuch", "Glob", `{"pattern":"*"}`).start(t, w)
		require.Contains(t, strings.ReplaceAll(got.told, `\"`, `"`), `agent kid (.peri/agents/kid.md): session: model "nosuch": there is no such model`)
		require.Empty(t, got.answers)
	})
}

func TestAnAgentThatOnlyLooksEditsNothingHoweverItsParentMay(t *testing.T) {
	edits := []string{"Write", `{"path":"made","content":"x"}`, "Bash", `{"command":"echo x > made"}`, "Bash", `{"command":"echo looked"}`}
	for _, name := range []string{"general", "coder", "explore", "plan", "reviewer", "verifier", "web-researcher"} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, "", "", edits...)
			steps := []script.Step{script.Do(edits[0], edits[1]), script.Do(edits[2], edits[3]), script.Do(edits[4], edits[5]), script.Say("done")}
			sc := script.For(map[string][]script.Step{"": {script.Do("Agent", `{"agent":"`+name+`","prompt":"go"}`), script.Say("done")}, name: steps})
			s, err := session.New(t.Context(), f.options(sc, "main"))
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close(context.Background())) }()
			play(t, s, "go")
			sent := sc.Sent()
			looked := sent[len(sent)-2].Messages
			require.Contains(t, looked[len(looked)-1].Results()[0].Text(), "looked\n", "what changes nothing runs")
			made := filepath.Join(f.root, "made")
			if name == "general" || name == "coder" {
				require.FileExists(t, made, "presence first")
			} else {
				require.NoFileExists(t, made)
			}
		})
	}
}

func TestAGeneratedAgentIsSavedOnlyIfAPersonAgrees(t *testing.T) {
	const call = `{"name":"poet","description":"Rhymes.","prompt":"You rhyme.","save":true}`
	for _, asked := range []bool{true, false} {
		s := newSite(t, "permissions: {allow: ['GenerateAgent', 'Edit(**)']}\n")
		s.writeHome("permissions: {mode: acceptEdits}\n")
		o := s.options(script.New(script.Do("GenerateAgent", call), script.Say("done")), "main")
		who := &people{}
		if asked {
			o.Approver = who
		}
		k, err := session.New(t.Context(), o)
		require.NoError(t, err)
		play(t, k, "go")
		require.NoError(t, k.Close(t.Context()))
		saved := filepath.Join(s.root, ".peri", "agents", "poet.md")
		if asked {
			require.Equal(t, []string{"GenerateAgent by "}, who.who)
			require.FileExists(t, saved)
			again := s.open(script.New(), "later")
			_, err = again.Agent(t.Context(), "poet")
			require.NoError(t, err)
		} else {
			require.NoFileExists(t, saved)
		}
	}
	s := newSite(t, "tools: {deny: ['Edit(.peri/**)']}\n")
	s.writeHome("permissions: {mode: bypass}\n")
	k := s.open(script.New(script.Do("GenerateAgent", call), script.Do("GenerateAgent", strings.Replace(call, ",\"save\":true", "", 1)), script.Say("done")), "main")
	play(t, k, "go")
	require.Contains(t, k.Messages()[2].Results()[0].Text(), "Edit(.peri/**)", "what denies the edit denies this way to it")
	require.Contains(t, k.Messages()[4].Results()[0].Text(), "is there")
	require.NoFileExists(t, filepath.Join(s.root, ".peri", "agents", "poet.md"))
}
