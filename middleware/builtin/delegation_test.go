package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

const unattended = "meta: {PermissionMiddleware: false}\n"

func agentFile(name string, fields ...string) string {
	return "---\nname: " + name + "\ndescription: d\n" + strings.Join(fields, "\n") + "\n---\nYou are " + name + ".\n"
}

// answers are the texts of the results that the requests of an agent were sent, joined.
func answers(sc *script.Script, agent string) string {
	var b strings.Builder
	for _, sent := range sc.Sent() {
		if sent.Agent != agent {
			continue
		}
		for _, m := range sent.Messages {
			for _, r := range m.Results() {
				b.WriteString(r.Text() + "\n")
			}
		}
	}
	return b.String()
}

func TestAParentsScopedDenyBindsItsChildrenAndKeepsTheToolVisible(t *testing.T) {
	sc := script.For(map[string][]script.Step{
		"":     {script.Do("Agent", `{"agent":"boss","prompt":"go"}`), script.Say("end")},
		"boss": {script.Do("Bash", `{"command":"echo mine; curl x"}`, "Bash", `{"command":"echo fine"}`, "Agent", `{"agent":"low","prompt":"go"}`), script.Say("done")},
		"low":  {script.Do("Bash", `{"command":"echo low && curl x"}`, "Bash", `{"command":"echo lower"}`), script.Say("done")},
	})
	site := newSite(t, unattended+"subagents: {depth: 2}\n")
	site.write(".peri/agents/boss.md", agentFile("boss", `disallowedTools: ["Bash(curl *)"]`))
	site.write(".peri/agents/low.md", agentFile("low"))
	s := site.open(sc, "")
	play(t, s, "go")
	for agent, ran := range map[string]string{"boss": "fine", "low": "lower"} {
		require.Contains(t, answers(sc, agent), ran, "the tool is there for other calls")
		require.Contains(t, answers(sc, agent), "`Bash` was not run: it is denied here, by `Bash(curl *)`", agent)
		require.NotContains(t, answers(sc, agent), "There is no tool")
	}
	boss, err := s.Agent(t.Context(), "boss")
	require.NoError(t, err)
	require.True(t, boss.View().Explain("Bash").Visible)
	require.Equal(t, ".peri/agents/boss.md:4:1", boss.View().Explain("Bash").Limits[0].Origin.String())
	require.Empty(t, s.View().Explain("Bash").Limits, "it is the agent's own")
}

// Every path to a child goes through one resolver: what it declares, within what the session shows.
func TestEveryPathToAnAgentGivesTheSameTools(t *testing.T) {
	args := `{"agent":"rev","prompt":"go"}`
	for name, call := range map[string]script.Step{
		"alone":          script.Do("Agent", args),
		"beside another": script.Do("Agent", args, "LS", "{}"),
		"among tasks":    script.Do("Agent", `{"tasks":[{"agent":"rev","prompt":"go"}]}`),
		"by an alias":    script.Do("Task", `{"subagent_type":"rev","prompt":"go"}`),
		"background":     script.Do("Agent", `{"agent":"rev","prompt":"go","background":true}`),
	} {
		t.Run(name, func(t *testing.T) {
			steps := []script.Step{call, script.Say("end")}
			if name == "background" {
				steps = []script.Step{call, script.Do("AgentResult", `{"id":"wait.1","wait":true}`), script.Say("end")}
			}
			sc := script.For(map[string][]script.Step{
				"":    steps,
				"rev": {script.Do("Write", `{"path":"a.txt","content":"x"}`), script.Say("done")},
			})
			site := newSite(t, unattended+"tools: {deny: [Grep]}\n")
			site.write(".peri/agents/rev.md", agentFile("rev", "tools: Read, Grep"))
			s := site.open(sc, "wait")
			play(t, s, "go")
			seen := false
			for _, sent := range sc.Sent() {
				if sent.Agent == "rev" {
					seen = true
					require.Equal(t, []string{"Read"}, sent.Tools)
				}
			}
			require.True(t, seen)
			require.Contains(t, answers(sc, "rev"), "There is no tool `Write`", "a call to what it was never shown")
			require.NoFileExists(t, filepath.Join(site.root, "a.txt"))
		})
	}
}

// A coordinator keeps its hands off and says what its workers may do. Without delegates its own lists are a ceiling, and
// what settings deny is one for all; no order of anything matters.
func TestACoordinatorDelegatesWhatItMayNotDoItself(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		fields         []string
		worker         []string
	}{
		{"a ceiling", "", []string{"tools: [Agent, Read]"}, []string{"Read"}},
		{"delegates", "", []string{"tools: [Agent, Read]", "delegates: [Edit, Write]"}, []string{"Edit", "Read", "Write"}},
		{"delegates before tools", "", []string{"delegates: [Write, Edit]", "tools: [Read, Agent]"}, []string{"Edit", "Read", "Write"}},
		{"a deny lifted", "", []string{"disallowedTools: ['*']", "tools: ['*']", "delegates: [Edit]"}, []string{"Edit"}},
		{"settings are not lifted", "tools: {deny: [Write]}\n", []string{"tools: [Agent, Read]", "delegates: [Edit, Write]"}, []string{"Edit", "Read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t, c.settings+"subagents: {depth: 3}\n")
			site.write(".peri/agents/boss.md", agentFile("boss", c.fields...))
			site.write(".peri/agents/hand.md", agentFile("hand", "tools: ['Read', 'Edit', 'Write']"))
			s := site.open(script.New(), "")
			boss, err := s.Agent(t.Context(), "boss")
			require.NoError(t, err)
			require.NotContains(t, view(boss), "Edit", "the coordinator itself")
			hand, err := boss.Agent(t.Context(), "hand")
			if c.name == "a deny lifted" {
				require.NotContains(t, view(boss), "Agent")
			}
			require.NoError(t, err)
			require.Equal(t, c.worker, view(hand))
			fork, err := boss.Fork(t.Context())
			require.NoError(t, err)
			require.Equal(t, view(boss), view(fork), "a fork of it is no worker")
			under, err := fork.Agent(t.Context(), "hand")
			require.NoError(t, err)
			require.Equal(t, c.worker, view(under), "and hands out no more and no less")
			require.NoError(t, s.SetTools(nil, []string{"Read"}))
			require.NotContains(t, view(hand), "Read", "the host's word reaches it on the next step")
			require.NotContains(t, view(under), "Read")
		})
	}
}

func TestAServerThatIsDownShrinksNothingElseAndIsReported(t *testing.T) {
	for _, lack := range []string{"", "connecting", "failed: no such program"} {
		site := newSite(t, "")
		site.write(".peri/agents/rev.md", agentFile("rev", "tools: [Read, Skill, SearchExtraTools, mcp__git, mcp__later__x]"))
		s := site.standing(script.New(), lack)
		k, err := s.Agent(t.Context(), "rev")
		require.NoError(t, err)
		x := k.View().Explain("mcp__git__log")
		require.Equal(t, lack == "", x.Visible)
		require.Equal(t, lack, x.Rule)
		require.True(t, k.View().Explain("Read").Visible, "an unrelated entry stays")
	}
}

func TestAnAgentWhoseServersAreMissingStaysInTheRosterAndIsNotStarted(t *testing.T) {
	for _, field := range []string{
		"requiredMcpServers: [git, jira, files/find, git/push]",
		"mcp: {required: [git, jira, files/find, git/push], disabled: ['*']}",
	} {
		sc := script.New(script.Do("Agent", `{"agent":"rev","prompt":"go"}`), script.Say("end"))
		site := newSite(t, "")
		site.write(".peri/agents/rev.md", agentFile("rev", field))
		site.write(".peri/agents/fine.md", agentFile("fine", "requiredMcpServers: [GIT]", "mcp: {allowed: [files]}"))
		s := site.standing(sc, "")
		require.Contains(t, s.Surface().String(), "agent rev")
		play(t, s, "go")
		said := answers(sc, "")
		require.Contains(t, said, "agent rev (.peri/agents/rev.md): it was not started, since it needs servers that are not there: jira, git/push")
		k, err := s.Agent(t.Context(), "fine")
		require.NoError(t, err, "what lists hide of a server makes no difference")
		require.True(t, k.View().Explain("mcp__files__find").Visible)
		require.False(t, k.View().Explain("mcp__git__log").Visible)
		require.True(t, k.View().Explain("Read").Visible, "a list of one kind is not felt by the others")
	}
}

// A definition's lists are authoritative and narrow what the session has; they bring nothing into it.
func TestADefinitionBringsNothingThatTheSessionLacks(t *testing.T) {
	site := newSite(t, "meta: {WebMiddleware: false}\ntools: {allow: [Read, Grep, Agent]}\n")
	site.write(".peri/agents/rev.md", agentFile("rev", "tools: [WebFetch, Read, Bash, '**']"))
	k, err := site.open(script.New(), "").Agent(t.Context(), "rev")
	require.NoError(t, err)
	require.Equal(t, []string{"Grep", "Read"}, view(k))
	require.Equal(t, toolview.GateExists, k.View().Explain("WebFetch").Gate)
	require.Equal(t, toolview.GateListed, k.View().Explain("Bash").Gate)
	require.Contains(t, k.View().Explain("Bash").Origin.String(), "settings.yaml:2:")
}

// Live text follows the view of the child that it is for.
func TestAChildIsToldOfNoToolThatItLacks(t *testing.T) {
	site := newSite(t, "subagents: {depth: 2}\n")
	site.write(".peri/agents/reader.md", agentFile("reader", "tools: [Read]"))
	site.write(".peri/agents/boss.md", agentFile("boss", "tools: [Read, Agent]"))
	site.write(".peri/agents/none.md", agentFile("none", "tools: []"))
	s := site.open(script.New(), "")
	for name, told := range map[string]bool{"boss": true, "reader": false, "none": false} {
		k, err := s.Agent(t.Context(), name)
		require.NoError(t, err)
		require.Contains(t, shown(t, k), "You are "+name)
		require.Equal(t, told, strings.Contains(shown(t, k), "`Agent`"), name)
		require.Equal(t, told, strings.Contains(k.Surface().String(), "segment 11_subagent"), name)
		for e := range k.View().All() {
			require.False(t, e.Tool.Finder, "%s: no way to what is not there", name)
		}
	}
	none, err := s.Agent(t.Context(), "none")
	require.NoError(t, err)
	require.Equal(t, ".peri/agents/none.md:4:1", none.View().Explain("Read").Origin.String())
}

func TestDenyingAnyNameOfAToolClosesTheEscape(t *testing.T) {
	for _, name := range []string{"Task", "task", "agent", "Agent", "subagent", "@SubAgentMiddleware", "Agent(*)", "A*"} {
		site := newSite(t, "subagents: {depth: 2}\n")
		site.write(".claude/agents/boss.md", agentFile("boss", `disallowedTools: ["`+name+`"]`))
		site.write(".claude/agents/free.md", agentFile("free"))
		s := site.open(script.New(), "")
		free, err := s.Agent(t.Context(), "free")
		require.NoError(t, err)
		require.True(t, free.View().Explain("Agent").Visible, "presence first")
		boss, err := s.Agent(t.Context(), "boss")
		require.NoError(t, err)
		require.False(t, boss.View().Explain("Agent").Visible, name)
		_, bad := boss.View().Call("1", "Task", []byte(`{"prompt":"x"}`))
		require.Contains(t, bad.Text(), "There is no tool `Task`", name)
	}
}

func TestAListOfAgentsLimitsWhomAnAgentMayStart(t *testing.T) {
	sc := script.For(map[string][]script.Step{
		"": {script.Do("Agent", `{"agent":"boss","prompt":"go"}`), script.Say("end")},
		"boss": {
			script.Do(
				"Agent", `{"agent":"general","prompt":"x"}`, "Agent", `{"prompt":"a fork"}`,
				"Agent", `{"tasks":[{"agent":"explore","prompt":"x"},{"agent":"general","prompt":"y"}]}`, "Agent", `{"agent":"explore","prompt":"x"}`,
			), script.Say("done"),
		},
		"explore": {script.Say("explored")},
	})
	site := newSite(t, unattended+"subagents: {depth: 2}\n")
	site.write(".claude/agents/boss.md", agentFile("boss", "tools: Agent(explore, plan), Read"))
	s := site.open(sc, "")
	play(t, s, "go")
	said := answers(sc, "boss")
	require.Equal(t, 3, strings.Count(said, "only calls that match are allowed here, by `Agent(explore, plan)`"), said)
	require.Equal(t, 1, strings.Count(said, "explored"), said)
	boss, err := s.Agent(t.Context(), "boss")
	require.NoError(t, err)
	require.True(t, boss.View().Explain("AgentResult").Visible, "what it may start, it may collect")
}

func TestAGeneratedAgentIsCappedLikeAnyOther(t *testing.T) {
	sc := script.For(map[string][]script.Step{
		"": {
			script.Do("GenerateAgent", `{"name":"bad","description":"d","prompt":"p","tools":["Bash(x"]}`, "GenerateAgent", `{"name":"made","description":"d","prompt":"p","tools":["**"]}`),
			script.Do("Agent", `{"agent":"made","prompt":"go"}`), script.Say("end"),
		},
		"made": {script.Say("done")},
	})
	site := newSite(t, unattended+"tools: {allow: [Read, Agent, GenerateAgent]}\n")
	s := site.open(sc, "")
	play(t, s, "go")
	require.Contains(t, answers(sc, ""), "not closed", "a selector that is none")
	for _, sent := range sc.Sent() {
		if sent.Agent == "made" {
			require.Equal(t, []string{"Read"}, sent.Tools)
			return
		}
	}
	t.Fatal("it was not started")
}

func TestAnOpencodeRulesetNarrowsByItsLastMatch(t *testing.T) {
	site := newSite(t, "")
	site.write(".opencode/agents/rev.md", "---\ndescription: d\nmode: subagent\npermission:\n  '*': deny\n  read: allow\n  grep: allow\n  bash:\n    '*': deny\n    'git *': allow\n    'git push*': ask\n  edit: deny\n---\nYou review.\n")
	site.write(".opencode/agent/off.md", "---\ndescription: d\ntools:\n  '*': false\n  read: true\n  write: true\n---\nYou read.\n")
	site.write(".opencode/agent/gone.md", "---\ndescription: d\ndisable: true\n---\nx\n")
	s := site.open(script.New(), "")
	rev, err := s.Agent(t.Context(), "rev")
	require.NoError(t, err)
	require.Equal(t, []string{"Bash", "Grep", "Read"}, view(rev))
	for command, runs := range map[string]bool{"git log": true, "git push": true, "ls": false, "git log && ls": false} {
		_, bad := rev.View().Call("1", "Bash", fmt.Appendf(nil, `{"command":%q}`, command))
		require.Equal(t, runs, bad == nil, command)
	}
	off, err := s.Agent(t.Context(), "off")
	require.NoError(t, err)
	require.Equal(t, []string{"Edit", "Read", "Write"}, view(off), "there, write is every edit")
	_, err = s.Agent(t.Context(), "gone")
	require.ErrorIs(t, err, session.ErrNotFound)
}

func TestSettingsOfTwoLayersAreLaidOverAnAgentFieldByField(t *testing.T) {
	site := newSite(t, "agents: {rev: {tools: [Read]}}\n")
	site.write(".peri/agents/rev.md", agentFile("rev", "tools: [Read, Grep]", "disallowedTools: Bash"))
	require.NoError(t, os.WriteFile(filepath.Join(site.home, "settings.yaml"), []byte("agents: {rev: {model: fast, maxTurns: 7}}\n"), 0o600))
	d, ok := load(t, site.root, site.home).Catalog.Lookup("rev")
	require.True(t, ok)
	require.Equal(t, "fast", d.Model)
	require.Equal(t, 7, d.MaxTurns)
	require.Equal(t, []string{"Read"}, d.Tools)
	require.Equal(t, []string{"Bash"}, d.Deny)
	require.Equal(t, "settings.yaml", filepath.Base(d.ToolsAt.File))
	require.Equal(t, ".peri/agents/rev.md:5:1", d.DenyAt.String())
}

// The model of a definition is the same on every path: empty and inherit are the parent's, an unknown one is an error that
// names the file.
func TestAnAgentsModelIsTheSameOnEveryPath(t *testing.T) {
	for model, want := range map[string]string{"model: fast": "fast", "model: inherit": "main", `model: ""`: "main", "": "main", "model: nobody": ""} {
		for name, args := range map[string]string{"alone": `{"agent":"rev","prompt":"go"}`, "among tasks": `{"tasks":[{"agent":"rev","prompt":"go"}]}`, "by the program": ""} {
			t.Run(name+" "+model, func(t *testing.T) {
				steps := map[string][]script.Step{"rev": {script.Say("done")}}
				if args != "" {
					steps[""] = []script.Step{script.Do("Agent", args), script.Say("end")}
				}
				sc := script.For(steps)
				site := newSite(t, "")
				site.write(".peri/agents/rev.md", agentFile("rev", model))
				o := site.options(sc, "")
				o.Model = "main"
				var asked []string
				o.Models = func(name string) (middleware.ModelFunc, error) {
					if asked = append(asked, name); name == "nobody" {
						return nil, fmt.Errorf("there is no such model")
					}
					return sc.Model, nil
				}
				s, err := session.New(t.Context(), o)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
				said := ""
				if args != "" {
					play(t, s, "go")
					said = answers(sc, "")
				} else if _, err := s.Agent(t.Context(), "rev"); err != nil {
					said = err.Error()
				}
				if want == "" {
					require.Contains(t, said, ".peri/agents/rev.md")
					require.Contains(t, said, `model "nobody"`)
					return
				}
				require.Equal(t, []string{"main", want}, asked)
			})
		}
	}
}
