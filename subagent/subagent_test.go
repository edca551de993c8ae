package subagent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// store is a middleware's store in memory.
type store struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *store) Load(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[key]
	return v, ok, nil
}

func (s *store) Save(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	s.m[key] = bytes.Clone(value)
	return nil
}

// host records what a flow asks of it and runs inner calls in the same view.
type host struct {
	t      *testing.T
	view   *toolview.View
	spawns []toolview.Spawn
	inner  []toolview.Inner
}

func (h *host) Dispatch(inner []toolview.Inner) []*message.Result {
	h.inner = append(h.inner, inner...)
	var out []*message.Result
	for i, in := range inner {
		call, bad := h.view.Inner(fmt.Sprintf("u.%d", i), in)
		if bad != nil {
			out = append(out, bad)
			continue
		}
		r, err := call.Tool().Flow(h.t.Context(), call, h)
		require.NoError(h.t, err)
		out = append(out, r)
	}
	return out
}

func (h *host) Spawn(s toolview.Spawn) (*message.Result, error) {
	h.spawns = append(h.spawns, s)
	r := message.Say("report of " + s.Prompt)
	r.Structured = json.RawMessage(`{"id":"c1"}`)
	return r, nil
}

func (h *host) Delegate([]toolview.Task) []*message.Result { return nil }

func (h *host) Ask(toolview.Question) (toolview.Answer, error) {
	return toolview.Answer{}, toolview.ErrNoAsker
}

func catalog(t *testing.T) *Catalog {
	t.Helper()
	root := write(t, map[string]string{
		".peri/agents/rev.md":  file("tools: Read, Grep", "disallowedTools: Bash", "model: fast", "permissionMode: plan", "maxTurns: 80"),
		".peri/agents/mute.md": "---\nname: mute\n---\nYou are not offered.\n",
	})
	c, _ := Load(LoadOptions{Root: root})
	return c
}

func env(m middleware.Middleware) middleware.Env {
	return middleware.Env{Policy: m.Policy, BuiltInSubagents: true, Store: &store{}}
}

func opened(t *testing.T, m middleware.Middleware, e middleware.Env) (*middleware.Instance, *host) {
	t.Helper()
	in, err := m.Open(t.Context(), e)
	require.NoError(t, err)
	return in, shown(t, m, in)
}

func shown(t *testing.T, m middleware.Middleware, in *middleware.Instance) *host {
	t.Helper()
	bands := []toolview.Band{{Owner: Name, Set: m.Tools, Source: in.Tools, State: in.State}}
	return &host{t: t, view: toolview.NewDeriver(bands, nil, nil).View(&toolview.Policy{}, nil)}
}

func (h *host) call(name, args string) *message.Result {
	h.t.Helper()
	call, bad := h.view.Call("u", name, json.RawMessage(args))
	if bad != nil {
		return bad
	}
	var r *message.Result
	var err error
	if call.Tool().Flow != nil {
		r, err = call.Tool().Flow(h.t.Context(), call, h)
	} else {
		r, err = call.Tool().Run(h.t.Context(), call)
	}
	require.NoError(h.t, err)
	return r
}

// told is all that a model is told of the tools.
func told(h *host) string {
	var b strings.Builder
	for _, t := range h.view.Direct() {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", t.Name, t.Doc, t.Schema)
	}
	return b.String()
}

func TestTheSuiteTakesIt(t *testing.T) {
	_, err := middleware.NewSuite(New(Options{Catalog: catalog(t)}))
	require.NoError(t, err)
}

func TestBuiltInAgentsLeaveEveryTextWithTheirPolicyKey(t *testing.T) {
	m := New(Options{Catalog: catalog(t)})
	for _, with := range []bool{true, false} {
		e := env(m)
		e.BuiltInSubagents = with
		in, h := opened(t, m, e)
		text := told(h)
		route, err := in.Routes[0].Run(t.Context(), "")
		require.NoError(t, err)
		for _, name := range []string{"coder", "explore", "general", "plan", "reviewer", "verifier", "web-researcher"} {
			require.Equal(t, with, strings.Contains(text, "`"+name+"`"), name)
			require.Equal(t, with, strings.Contains(text, `"`+name+`"`), name)
			require.Equal(t, with, strings.Contains(route.Text, name+" (builtin)"), name)
			_, ok := in.Agents.Agent(name)
			require.Equal(t, with, ok, name)
			r := h.call(AgentTool, `{"agent":"`+name+`","prompt":"p"}`)
			require.Equal(t, with, !r.Error, name)
		}
		require.Contains(t, text, "`rev`: Reviews.")
		require.False(t, h.call(AgentTool, `{"agent":"rev","prompt":"p"}`).Error, "a project's agent stays")
		require.False(t, h.call(AgentTool, `{"prompt":"p"}`).Error, "a fork stays")
		require.False(t, h.call(AgentTool, `{"resume":"c1","prompt":"p"}`).Error, "a resume stays")
		require.False(t, h.call(ResultTool, `{"id":"c1"}`).Error)
		var listed []string
		for _, a := range in.Agents.List() {
			listed = append(listed, a.Name)
		}
		if with {
			require.Equal(t, []string{"coder", "explore", "general", "mute", "plan", "rev", "reviewer", "verifier", "web-researcher"}, listed)
		} else {
			require.Equal(t, []string{"mute", "rev"}, listed)
		}
	}
}

func TestTheRosterIsWhatDispatchUses(t *testing.T) {
	m := New(Options{Catalog: catalog(t)})
	_, h := opened(t, m, env(m))
	agent, ok := h.view.Lookup(AgentTool)
	require.True(t, ok)
	var s struct {
		Properties struct {
			Agent struct{ Examples []string }
			Tasks struct {
				Items struct {
					Properties struct{ Agent struct{ Examples []string } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(agent.Tool.Schema, &s))
	require.Equal(t, []string{"coder", "explore", "general", "plan", "rev", "reviewer", "verifier", "web-researcher"}, s.Properties.Agent.Examples)
	require.Equal(t, s.Properties.Agent.Examples, s.Properties.Tasks.Items.Properties.Agent.Examples)
	for _, name := range s.Properties.Agent.Examples {
		require.False(t, h.call(AgentTool, `{"agent":"`+name+`","prompt":"p"}`).Error, name)
	}
	for _, name := range []string{"mute", "nobody"} {
		r := h.call(AgentTool, `{"agent":"`+name+`","prompt":"p"}`)
		require.True(t, r.Error)
		require.Contains(t, r.Text(), "Agents: `coder`, `explore`, `general`, `plan`, `rev`, `reviewer`, `verifier`, `web-researcher`.")
	}
	static, ok := m.Tools.Lookup(AgentTool)
	require.True(t, ok)
	require.NotContains(t, static.Doc, "explore", "the static text names no agent")
	require.NotContains(t, string(static.Schema), "enum")
}

func TestADefinitionReachesTheSpawnWhole(t *testing.T) {
	m := New(Options{Catalog: catalog(t)})
	_, h := opened(t, m, env(m))
	require.False(t, h.call("Task", `{"subagent_type":"REV","prompt":"look","description":"three words","background":true}`).Error)
	require.Equal(t, []toolview.Spawn{{
		Agent: "rev", Prompt: "look", Description: "three words", Background: true, Body: "You review.", Origin: ".peri/agents/rev.md",
		Tools: []string{"Read", "Grep"}, Deny: []string{"Bash"}, Model: "fast", Mode: "plan", MaxTurns: 50,
		ToolsAt: meta.Origin{Layer: Project, File: ".peri/agents/rev.md", Line: 4, Column: 1},
		DenyAt:  meta.Origin{Layer: Project, File: ".peri/agents/rev.md", Line: 5, Column: 1}, Brings: true,
	}}, h.spawns)
	h.spawns = nil
	require.False(t, h.call(AgentTool, `{"agent_name":"general","prompt":"look"}`).Error)
	require.Nil(t, h.spawns[0].Tools, "no list stays no list")
	require.Equal(t, BuiltIn, h.spawns[0].Origin)
	h.spawns = nil
	require.False(t, h.call(AgentTool, `{"prompt":"look"}`).Error)
	require.Equal(t, []toolview.Spawn{{Fork: true, Prompt: "look", MaxTurns: 50}}, h.spawns)
	h.spawns = nil
	require.False(t, h.call(AgentTool, `{"prompt":"more","resume":"c9"}`).Error)
	require.False(t, h.call(ResultTool, `{"id":"c9","wait":true}`).Error)
	require.Equal(t, []toolview.Spawn{{Resume: "c9", Prompt: "more"}, {Collect: "c9", Wait: true}}, h.spawns)
	for _, args := range []string{`{}`, `{"agent":"rev"}`, `{"prompt":" "}`, `{"agent":"rev","resume":"c9","prompt":"p"}`, `{"prompt":"p","tasks":[{"prompt":"q"}]}`} {
		require.True(t, h.call(AgentTool, args).Error, args)
	}
	require.Len(t, h.spawns, 2, "a bad call starts nothing")
}

func TestABadTaskFailsAlone(t *testing.T) {
	m := New(Options{Catalog: catalog(t), Multitask: 3})
	_, h := opened(t, m, env(m))
	r := h.call(AgentTool, `{"tasks":[{"agent":"rev","prompt":"a","description":"first"},{"agent":"nobody","prompt":"b"},{"prompt":"c"}]}`)
	require.False(t, r.Error)
	require.Len(t, h.inner, 3)
	require.Len(t, h.spawns, 2)
	for _, want := range []string{"## Task 1: first\nreport of a", "## Task 2 (failed)\nThere is no agent `nobody`", "## Task 3\nreport of c"} {
		require.Contains(t, r.Text(), want)
	}
	require.JSONEq(t, `{"tasks":[{"id":"c1"},null,{"id":"c1"}]}`, string(r.Structured))
	require.True(t, h.call(AgentTool, `{"tasks":[{"agent":"nobody","prompt":"b"}]}`).Error)
	h.spawns = nil
	r = h.call(AgentTool, `{"tasks":[{"prompt":"a"},{"prompt":"b"},{"prompt":"c"},{"prompt":"d"}]}`)
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "may have 3")
	require.Empty(t, h.spawns, "beyond the limit nothing starts")
}

func TestAtTheDepthLimitTheToolsAreGone(t *testing.T) {
	m := New(Options{Catalog: catalog(t), Depth: 2})
	in, h := opened(t, m, env(m))
	for depth, there := range map[int]bool{1: true, 2: false, 3: false} {
		e := env(m)
		e.Agent = middleware.Agent{Name: "rev", Depth: depth}
		child, err := in.Child(t.Context(), e)
		require.NoError(t, err)
		v := shown(t, m, child).view
		for _, name := range []string{AgentTool, ResultTool, GenerateTool} {
			_, ok := h.view.Lookup(name)
			require.True(t, ok)
			_, ok = v.Lookup(name)
			require.Equal(t, there, ok, "%s at depth %d", name, depth)
			if !there {
				require.Equal(t, toolview.GateSupported, v.Explain(name).Gate)
				require.Contains(t, v.Explain(name).Rule, "depth limit of 2")
			}
		}
	}
}

func TestAGeneratedAgentIsTheSessionsOwn(t *testing.T) {
	m := New(Options{Catalog: catalog(t)})
	e := env(m)
	in, h := opened(t, m, e)
	before := told(h)
	require.True(t, h.call(AgentTool, `{"agent":"poet","prompt":"p"}`).Error)
	require.False(t, h.call(GenerateTool, `{"name":"poet","description":"Rhymes.","systemPrompt":"You rhyme.","tools":[]}`).Error)
	require.False(t, h.call(AgentTool, `{"agent":"poet","prompt":"p"}`).Error)
	require.Equal(t, toolview.Spawn{Agent: "poet", Prompt: "p", Body: "You rhyme.", Origin: "generated", Tools: []string{}, MaxTurns: 50}, h.spawns[0])
	require.Equal(t, before, told(h), "the prefix does not change")
	_, ok := in.Agents.Agent("poet")
	require.True(t, ok)
	require.Contains(t, h.call(AgentTool, `{"agent":"poets","prompt":"p"}`).Text(), "`poet`")

	e.Resumed = true
	_, again := opened(t, m, e)
	require.False(t, again.call(AgentTool, `{"agent":"poet","prompt":"p"}`).Error, "a resumed session still has it")
	_, other := opened(t, m, env(m))
	require.True(t, other.call(AgentTool, `{"agent":"poet","prompt":"p"}`).Error, "another session has not")

	for name, args := range map[string]string{
		"an offered agent's name": `{"name":"Rev","description":"d","prompt":"p"}`,
		"an illegal name":         `{"name":"a b","description":"d","prompt":"p"}`,
		"no text":                 `{"name":"x","description":"d","prompt":" "}`,
		"an empty tool":           `{"name":"x","description":"d","prompt":"p","tools":[" "]}`,
	} {
		require.True(t, h.call(GenerateTool, args).Error, name)
	}
	for i := range maxGenerated + 1 {
		r := h.call(GenerateTool, fmt.Sprintf(`{"name":"g%d","description":"d","prompt":"p"}`, i))
		require.Equal(t, i >= maxGenerated-1, r.Error, i)
	}
}

func TestTheStoredCatalogHoldsAfterAResume(t *testing.T) {
	then := New(Options{Catalog: catalog(t), Multitask: 2})
	now := New(Options{Catalog: NewCatalog(Definition{Name: "newcomer", Description: "Late.", Body: "x", Origin: meta.Origin{Layer: Project}})})
	e := env(then)
	_, want := opened(t, then, e)
	_, h := opened(t, now, e)
	require.Equal(t, told(want), told(h), "a resumed session says the same bytes")
	require.True(t, h.call(AgentTool, `{"agent":"newcomer","prompt":"p"}`).Error)
	require.True(t, h.call(AgentTool, `{"tasks":[{"prompt":"a"},{"prompt":"b"},{"prompt":"c"}]}`).Error)
	require.False(t, h.call(AgentTool, `{"agent":"rev","prompt":"p"}`).Error)
	require.Equal(t, []string{"Read", "Grep"}, h.spawns[0].Tools)
	require.False(t, h.call(AgentTool, `{"agent":"general","prompt":"p"}`).Error)
	require.Nil(t, h.spawns[1].Tools, "no list survives as no list")
	e.Policy = json.RawMessage("{")
	_, err := now.Open(t.Context(), e)
	require.ErrorContains(t, err, "policy")
}

func TestSessionsShareTheToolsThatWereBuiltOnce(t *testing.T) {
	m := New(Options{Catalog: catalog(t)})
	a, _ := opened(t, m, env(m))
	b, _ := opened(t, m, env(m))
	require.Same(t, a.Tools.Tools(), b.Tools.Tools())
	require.NotSame(t, a.State, b.State)
}

func TestWithoutACatalogAgentForks(t *testing.T) {
	m := New(Options{})
	in, h := opened(t, m, env(m))
	require.Contains(t, told(h), "No agents are listed")
	require.False(t, h.call(AgentTool, `{"prompt":"p"}`).Error)
	require.Contains(t, h.call(AgentTool, `{"agent":"general","prompt":"p"}`).Text(), "none is listed")
	r, err := in.Routes[0].Run(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "No agents.", r.Text)
}
