//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

// TestMain lets the test binary be an MCP server too.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PERI_TEST_SERVER"); dir != "" {
		serveMCP(dir)
		return
	}
	os.Exit(m.Run())
}

const taskSchema = `{"type":"object","properties":{"task_id":{"type":"string","description":"Which task."},"tags":{"type":"array","items":{"type":"string"}}},"required":["task_id"]}`

// serveMCP serves task and 29 other tools. In a dir with a file "hang" it never answers, in one with "exit" it ends at once.
func serveMCP(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "pid-"+strconv.Itoa(os.Getpid())), nil, 0o600)
	if _, err := os.Stat(filepath.Join(dir, "exit")); err == nil {
		os.Exit(3)
	}
	if _, err := os.Stat(filepath.Join(dir, "hang")); err == nil {
		time.Sleep(time.Hour)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "tasks", Version: "1"}, nil)
	echo := func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "got " + string(r.Params.Arguments)}}}, nil
	}
	s.AddTool(&sdk.Tool{Name: "task", Description: "Closes an errand.", InputSchema: json.RawMessage(taskSchema)}, echo)
	for i := range 29 {
		s.AddTool(&sdk.Tool{Name: fmt.Sprintf("extra%02d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, echo)
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

// served is a site whose user has the given servers, each in the mood that its value names ("" = well).
func served(t *testing.T, settings string, servers map[string]string) (*site, map[string]string) {
	s, dirs := newSite(t, settings), map[string]string{}
	text := "mcp:\n  servers:\n"
	for name, mood := range servers {
		dirs[name] = t.TempDir()
		text += "    " + name + ": " + definition(t, dirs[name], mood) + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.home, "settings.yaml"), []byte(text), 0o600))
	return s, dirs
}

// definition is a server of this binary as settings and agents write it.
func definition(t *testing.T, dir, mood string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	if mood != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, mood), nil, 0o600))
	}
	return fmt.Sprintf("{command: %q, env: {PERI_TEST_SERVER: %q}}", exe, dir)
}

// processes are those that a server has been, and how many of them are there still.
func processes(t *testing.T, dir string) (was, are int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "pid-*"))
	require.NoError(t, err)
	for _, f := range found {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(f), "pid-"))
		require.NoError(t, err)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if gone := err == nil && strings.Contains(string(stat), ") Z "); !gone && syscall.Kill(pid, 0) == nil {
			are++
		}
	}
	return len(found), are
}

func TestAnAgentsOwnServerWantsTrustInAProjectAndEndsWithTheAgent(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		s, dir := newSite(t, ""), t.TempDir()
		s.write(".peri/agents/kid.md", "---\nname: kid\ndescription: Does it.\nmcpServers: {own: "+definition(t, dir, "")+"}\n---\nYou are the kid.\n")
		if trusted {
			setup, _, err := builtin.Load(config.Options{Root: s.root, Home: s.home, Managed: "-"})
			require.NoError(t, err)
			require.NotEmpty(t, setup.Loaded.Trust.Digest)
			require.NoError(t, config.Trust(s.home, s.root, setup.Loaded.Trust.Digest))
			require.NoError(t, setup.Close())
		}
		main := s.open(script.New(), "main")
		was, _ := processes(t, dir)
		require.Zero(t, was, "nobody is there to use it")
		kid, err := main.Agent(t.Context(), "kid")
		require.NoError(t, err)
		require.True(t, kid.View().Explain("Read").Visible)
		require.Equal(t, trusted, kid.View().Explain("mcp__own__task").Visible, "trusted: %v", trusted)
		require.False(t, main.View().Explain("mcp__own__task").Visible)
		was, are := processes(t, dir)
		require.Equal(t, trusted, was == 1 && are == 1, "trusted: %v", trusted)
		require.NoError(t, kid.Close(t.Context()))
		was, are = processes(t, dir)
		require.Equal(t, trusted, was == 1)
		require.Zero(t, are, "it ends with the agent, while the session goes on")
	}
}

func TestAnAgentsOwnServerEndsWithItsWorkAndComesBackWhenItGoesOn(t *testing.T) {
	for _, background := range []bool{false, true} {
		s, dir := newSite(t, ""), t.TempDir()
		s.writeHome("permissions: {mode: bypass}\n")
		require.NoError(t, os.MkdirAll(filepath.Join(s.home, "agents"), 0o700))
		s.writeAgent("kid", "mcpServers: {own: "+definition(t, dir, "")+"}")
		use := script.Do("ExecuteExtraTool", `{"name":"mcp__own__task","arguments":{"task_id":"x"}}`)
		wait := script.Do("AgentResult", `{"id":"main.1","wait":true}`)
		start := []script.Step{script.Do("Agent", fmt.Sprintf(`{"agent":"kid","prompt":"go","background":%v}`, background)), wait, script.Say("done")}
		sc := script.For(map[string][]script.Step{
			"":    append(start, script.Do("Agent", `{"resume":"main.1","prompt":"go on"}`), script.Say("done")),
			"kid": {use, script.Say("one"), use, script.Say("two")},
		})
		main := s.open(sc, "main")
		for round := 1; round <= 2; round++ {
			play(t, main, "go")
			was, are := processes(t, dir)
			require.Equal(t, round, was, "one for each time that it works")
			require.Eventually(t, func() bool { _, are = processes(t, dir); return are == 0 }, 10*time.Second, 10*time.Millisecond, "and none while it does not")
		}
		require.Len(t, sc.Sent(), 9)
	}
}

func TestAnAgentWithoutItsServerKeepsTheRestOfItsListAndIsRefusedOnlyWhereItRequiresIt(t *testing.T) {
	const tools = "tools: [Read, BashStart, SearchExtraTools, ExecuteExtraTool, mcp__db__task]\n"
	for mood, there := range map[string]bool{"": true, "exit": false, "hang": false} {
		for _, required := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s required=%v", mood, required), func(t *testing.T) {
				s, _ := served(t, "workspace: {bash_async: true}\n", map[string]string{"db": mood})
				more := ""
				if required {
					more = "requiredMcpServers: [db]\n"
				}
				s.write(".peri/agents/kid.md", "---\nname: kid\ndescription: Does it.\n"+tools+more+"---\nYou are the kid.\n")
				main := s.open(script.New(), "main")
				kid, err := main.Agent(t.Context(), "kid")
				if required && !there {
					require.ErrorContains(t, err, "db")
					return
				}
				require.NoError(t, err)
				defer func() { require.NoError(t, kid.Close(context.Background())) }()
				for _, name := range []string{"Read", "BashStart", "SearchExtraTools", "ExecuteExtraTool"} {
					require.True(t, kid.View().Explain(name).Visible, name)
				}
				require.Equal(t, there, kid.View().Explain("mcp__db__task").Visible)
				require.False(t, kid.View().Explain("Write").Visible)
				told := ""
				for _, d := range kid.Diagnostics() {
					told += d.Message + "\n"
				}
				require.Equal(t, !there, strings.Contains(told, "db"), told)
			})
		}
	}
}

func TestWithoutTheToolSearchAServersToolsAreDirectAndCounted(t *testing.T) {
	for _, closed := range []bool{false, true} {
		s, _ := served(t, fmt.Sprintf("meta: {ToolSearchMiddleware: %v}\n", !closed), map[string]string{"db": ""})
		main := s.open(script.New(), "main")
		direct := 0
		for _, tool := range main.View().Direct() {
			if strings.HasPrefix(tool.Name, "mcp__db__") {
				direct++
			}
		}
		told := ""
		for _, d := range main.Diagnostics() {
			told += d.Code + " " + d.Message + "\n"
		}
		if !closed {
			require.Zero(t, direct)
			require.NotContains(t, told, "deferred_without_search")
			continue
		}
		require.Equal(t, 30, direct)
		require.Regexp(t, `deferred_without_search [0-9]+ deferred tools`, told)
	}
}

func TestTheSearchReturnsAServersSchemaWholeAndTheCallItsArguments(t *testing.T) {
	s, _ := served(t, "", map[string]string{"db": ""})
	sc := script.New(
		script.Do("SearchExtraTools", `{"query":"closes an errand"}`),
		script.Do("ExecuteExtraTool", `{"name":"mcp__db__task","arguments":{"task_id":"x7","tags":["a","b"]}}`),
		script.Do("mcp__db__no_such_tool", `{}`),
		script.Say("done"))
	o := s.options(sc, "main")
	o.Approver = &people{}
	main, err := session.New(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, main.Close(context.Background())) }()
	play(t, main, "go")
	var answers []string
	for _, m := range main.Messages() {
		for _, r := range m.Results() {
			answers = append(answers, r.Text())
		}
	}
	require.Len(t, answers, 3)
	require.Contains(t, answers[0], "mcp__db__task")
	require.True(t, holdsJSON(answers[0], taskSchema), "%s", answers[0])
	require.JSONEq(t, `{"task_id":"x7","tags":["a","b"]}`, strings.TrimPrefix(answers[1], "got "))
	require.Contains(t, answers[2], "mcp__db__no_such_tool", "an unknown name is an answer and no failure")
}

// holdsJSON reports whether a JSON value within text deep-equals want.
func holdsJSON(text, want string) bool {
	var wanted any
	if json.Unmarshal([]byte(want), &wanted) != nil {
		return false
	}
	for i := range text {
		var got any
		if text[i] == '{' && json.NewDecoder(strings.NewReader(text[i:])).Decode(&got) == nil && within(got, wanted) {
			return true
		}
	}
	return false
}

func within(v, want any) bool {
	if fmt.Sprint(v) == fmt.Sprint(want) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if within(x, want) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if within(x, want) {
				return true
			}
		}
	}
	return false
}

func TestASessionStartsWithoutAServerThatNeverAnswers(t *testing.T) {
	s, dirs := served(t, "", map[string]string{"slow": "hang", "db": ""})
	began := time.Now()
	main := s.open(script.New(), "main")
	require.Less(t, time.Since(began), 40*time.Second)
	require.True(t, main.View().Explain("mcp__db__task").Visible)
	require.Contains(t, main.Surface().String(), "server slow McpMiddleware connecting")
	require.NoError(t, main.Close(t.Context()))
	for name, dir := range dirs {
		was, are := processes(t, dir)
		require.Positive(t, was, name)
		require.Zero(t, are, name)
	}
}

func TestTheBuiltInSuiteClosesWholeWithAServerThatRuns(t *testing.T) {
	s, dirs := served(t, "", map[string]string{"db": ""})
	setup := load(t, s.root, s.home)
	closuretest.Run(t, closuretest.Config{
		Middlewares: setup.Blueprint.Suite.All(), Root: s.root, Ways: ways, Turns: 1,
		Only: []string{"McpMiddleware", "ToolSearchMiddleware"},
	})
	was, are := processes(t, dirs["db"])
	require.Positive(t, was)
	require.Zero(t, are)

	shut, dirs := served(t, "meta: {McpMiddleware: false}\n", map[string]string{"db": ""})
	main := shut.open(script.New(), "main")
	require.NotContains(t, main.Surface().String(), "server db")
	was, _ = processes(t, dirs["db"])
	require.Zero(t, was, "closed, it starts nothing")
}
