package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const taskSchema = `{"type":"object","properties":{"task_id":{"type":"string","description":"which task"},"depth":{"type":"integer"}},"required":["task_id"]}`

func leaf(name, doc, schema string) toolview.Tool {
	return toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: doc, Schema: json.RawMessage(schema),
		Run: func(_ context.Context, c *toolview.Call) (*message.Result, error) { return message.Say(c.Name()), nil },
	}
}

// rig opens the middleware and shows it beside deferred tools, under the given deny list.
func rig(t *testing.T, deny []string, deferred ...toolview.Tool) (*middleware.Instance, *toolview.View) {
	t.Helper()
	m := New()
	in, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	var lists toolview.Lists
	for _, d := range deny {
		lists.Deny = append(lists.Deny, toolview.Selector{Text: d})
	}
	frame, err := toolview.NewFrame(lists)
	require.NoError(t, err)
	bands := []toolview.Band{{Owner: "McpMiddleware", Set: toolview.MustSet(deferred...), Deferred: true}, {Owner: Name, Set: m.Tools, State: in.State}}
	return in, toolview.NewDeriver(bands, nil, nil).View(&toolview.Policy{Frames: []*toolview.Frame{frame}}, nil)
}

func run(t *testing.T, v *toolview.View, args string) *message.Result {
	t.Helper()
	call, bad := v.Call("u1", SearchTool, json.RawMessage(args))
	require.Nil(t, bad)
	r, err := call.Tool().Run(t.Context(), call)
	require.NoError(t, err)
	return r
}

func tail(t *testing.T, in *middleware.Instance, v *toolview.View) string {
	t.Helper()
	var tl prompt.Tail
	require.NoError(t, tl.Collect(Name, func(tl *prompt.Tail) error {
		return in.Contribute(t.Context(), &middleware.Step{View: v}, tl)
	}))
	text := ""
	for _, p := range tl.Parts() {
		text += p.Text
	}
	return text
}

func TestASearchReturnsTheServersOwnSchema(t *testing.T) {
	_, v := rig(t, nil, leaf("mcp__todo__get_task", "Gets a task.", taskSchema), leaf("mcp__map__route", "Plans a route.", `{"type":"object"}`))
	r := run(t, v, `{"query":"get task"}`)
	require.False(t, r.Error)
	require.Contains(t, r.Text(), taskSchema)
	require.Contains(t, r.Text(), "McpMiddleware")
	require.NotContains(t, r.Text(), "mcp__map__route")
	var got struct{ Tools []Found }
	require.NoError(t, json.Unmarshal(r.Structured, &got))
	require.Len(t, got.Tools, 1)
	require.JSONEq(t, taskSchema, string(got.Tools[0].Schema))
}

func TestAnEmptyResultSaysSo(t *testing.T) {
	_, v := rig(t, nil, leaf("mcp__map__route", "Plans a route.", `{"type":"object"}`))
	require.Contains(t, run(t, v, `{"query":"route"}`).Text(), "mcp__map__route")
	r := run(t, v, `{"query":"send gmail email"}`)
	require.False(t, r.Error)
	require.Contains(t, r.Text(), "No tool matches")
	require.NotContains(t, r.Text(), "mcp__")
	require.JSONEq(t, `{"tools":[]}`, string(r.Structured))
}

func TestTheLimitIsChecked(t *testing.T) {
	var many []toolview.Tool
	for i := range 60 {
		many = append(many, leaf(fmt.Sprintf("t%02d", i), fmt.Sprintf("Thing %d.", i), `{"type":"object"}`))
	}
	many = append(many, leaf("a_gauge", "Reads a gauge.", `{"type":"object"}`), leaf("b_gauge", "Reads a gauge.", `{"type":"object"}`))
	_, v := rig(t, nil, many...)
	require.Equal(t, 2, strings.Count(run(t, v, `{"query":"gauge"}`).Text(), "## "))
	require.Equal(t, 1, strings.Count(run(t, v, `{"query":"gauge","limit":1}`).Text(), "## "))
	for _, args := range []string{`{"query":"gauge","limit":51}`, `{"query":""}`, `{}`} {
		_, bad := v.Call("u", SearchTool, json.RawMessage(args))
		require.NotNil(t, bad, args)
	}
}

func TestACallThroughTheForwarderIsTheInnerCall(t *testing.T) {
	_, v := rig(t, nil, leaf("mcp__todo__get_task", "Gets a task.", taskSchema))
	args := `{"task_id":"<a>&b","depth":12345678901234567}`
	call, bad := v.Call("u1", ExecuteTool, json.RawMessage(`{"name":"mcp__todo__get_task","arguments":`+args+`}`))
	require.Nil(t, bad)
	require.Equal(t, "mcp__todo__get_task", call.Name())
	require.Equal(t, ExecuteTool, call.Via())
	require.Equal(t, args, string(call.Args()), "the model's own bytes arrive")
	for name, args := range map[string]string{
		"arguments that do not fit":    `{"name":"mcp__todo__get_task"}`,
		"a name that is not there":     `{"name":"mcp__todo__nope","arguments":{}}`,
		"the forwarder itself":         `{"name":"ExecuteExtraTool","arguments":{"name":"x"}}`,
		"arguments that are no object": `{"name":"mcp__todo__get_task","arguments":"{}"}`,
		"no name":                      `{"name":" "}`,
	} {
		call, bad := v.Call("u2", ExecuteTool, json.RawMessage(args))
		require.Nil(t, call, name)
		require.True(t, bad.Error, name)
	}
}

func TestTheTailNamesWhatCanBeFound(t *testing.T) {
	var many []toolview.Tool
	for i := range announced + 3 {
		many = append(many, leaf(fmt.Sprintf("mcp__s__t%02d", i), "Does.", `{"type":"object"}`))
	}
	in, v := rig(t, nil, many...)
	text := tail(t, in, v)
	require.Contains(t, text, "mcp__s__t00, mcp__s__t01")
	require.Contains(t, text, fmt.Sprintf("mcp__s__t%02d and 3 more.", announced-1))
	require.NotContains(t, text, fmt.Sprintf("mcp__s__t%02d", announced))

	in, v = rig(t, []string{"mcp__s__t01"}, many[:3]...)
	require.Contains(t, tail(t, in, v), "mcp__s__t00, mcp__s__t02.", "a denied tool is not announced")
	require.NotContains(t, run(t, v, `{"query":"select:mcp__s__t00,mcp__s__t01"}`).Text(), "t01", "nor found")

	in, v = rig(t, []string{"mcp__s__t00"}, many[0])
	require.Empty(t, tail(t, in, v), "without deferred tools nothing is said")
	_, there := v.Lookup(SearchTool)
	require.False(t, there, "and the pair is gone")
}

func TestDescriptionsDoNotDependOnTheView(t *testing.T) {
	_, small := rig(t, nil, leaf("a", "Does.", `{"type":"object"}`))
	_, large := rig(t, nil, leaf("a", "Does.", `{"type":"object"}`), leaf("b", "Does.", `{"type":"object"}`))
	for _, name := range []string{SearchTool, ExecuteTool} {
		x, ok := small.Lookup(name)
		require.True(t, ok)
		y, ok := large.Lookup(name)
		require.True(t, ok)
		require.Equal(t, x.Tool.Doc, y.Tool.Doc)
		require.Equal(t, string(x.Tool.Schema), string(y.Tool.Schema))
		require.True(t, x.Tool.Finder && x.Tool.Private)
	}
}
