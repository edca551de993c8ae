package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/toolsearch"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

const params = `{"type":"object","properties":{"task_id":{"type":"string","description":"which task"}},"required":["task_id"]}`

// many owns deferred tools about gardens, 2,000 of them, and one about tasks.
func many() middleware.Middleware {
	said := func(_ context.Context, c *toolview.Call) (*message.Result, error) {
		return message.Say(c.Name() + string(c.Args())), nil
	}
	tools := []toolview.Tool{{Decl: toolview.Decl{Name: "mcp__todo__get_task"}, Doc: "Gets a task.", Schema: json.RawMessage(params), Run: said}}
	for i := range 1999 {
		tools = append(tools, toolview.Tool{
			Decl: toolview.Decl{Name: fmt.Sprintf("mcp__g%d__water_bed_%d", i%20, i)}, Doc: fmt.Sprintf("Waters flower bed %d.", i),
			Schema: json.RawMessage(`{"type":"object"}`), Run: said,
		})
	}
	return middleware.Middleware{Name: "ManyMiddleware", Doc: "owns many deferred tools", Deferred: toolview.MustSet(tools...)}
}

func voice() middleware.Middleware {
	return middleware.Middleware{Name: "VoiceMiddleware", Doc: "says who speaks", Segments: []prompt.Segment{{ID: "voice", Text: "You tend a garden."}}}
}

// prefix is all of a request that stands before the cache boundary: the tools and the cached system text.
func prefix(r *middleware.Request) string {
	var b strings.Builder
	for _, tool := range r.View.Direct() {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", tool.Name, tool.Doc, tool.Schema)
	}
	for _, block := range r.System {
		b.WriteString(block.Text)
		if block.EndsCache {
			break
		}
	}
	return b.String()
}

// play opens a session over a script and returns what stood before the boundary of each request.
func play(t *testing.T, sc *script.Script, layers []meta.Layer, turns int) (*session.Session, []string) {
	t.Helper()
	suite, err := middleware.NewSuite(voice(), many(), toolsearch.New())
	require.NoError(t, err)
	var sent []string
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir(), Layers: layers}, Store: &memory.Store{},
		Models: func(name string) (middleware.ModelFunc, error) {
			model, err := sc.Models(name)
			return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
				sent = append(sent, prefix(r))
				return model(ctx, r, sink)
			}, err
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	for range turns {
		for _, err := range s.Prompt(t.Context(), session.Text("go on")) {
			require.NoError(t, err)
		}
	}
	return s, sent
}

func call(tool string, args map[string]any) script.Step {
	return script.Step{Calls: []script.Call{{Tool: tool, Args: args}}}
}

func TestTwoThousandDeferredToolsSendTheSameBytesBeforeTheBoundaryInEveryTurn(t *testing.T) {
	sc := script.New(
		script.Say("hello"),
		call(toolsearch.SearchTool, map[string]any{"query": "get a task"}),
		script.Step{Expect: script.Expect{Last: []string{params}, Tail: []string{"Found before", "mcp__todo__get_task"}}, Calls: []script.Call{{
			Tool: toolsearch.ExecuteTool, Args: map[string]any{"name": "mcp__todo__get_task", "arguments": map[string]any{"task_id": "7"}},
		}}},
		script.Step{Text: "done", Expect: script.Expect{Last: []string{`mcp__todo__get_task{"task_id":"7"}`}}},
		call(toolsearch.SearchTool, map[string]any{"query": "water flower bed 77", "limit": 20}),
		script.Say("done"),
		script.Say("bye"),
	)
	_, sent := play(t, sc, nil, 4)
	require.Len(t, sent, 7)
	require.Contains(t, sent[0], "SearchExtraTools")
	require.Contains(t, sent[0], "You tend a garden.")
	for i, s := range sent {
		require.Equal(t, sent[0], s, "request %d", i)
		require.NotContains(t, s, "mcp__", "nothing of a deferred tool stands before the boundary")
	}
}

func TestAnUnknownNameIsAnsweredFromTheViewAlone(t *testing.T) {
	sc := script.New(
		call(toolsearch.ExecuteTool, map[string]any{"name": "nope", "arguments": map[string]any{}}),
		call(toolsearch.ExecuteTool, map[string]any{"name": "mcp__todo__get_tusk", "arguments": map[string]any{}}),
		script.Step{Text: "done", Expect: script.Expect{Last: []string{"mcp__todo__get_task"}}},
	)
	s, _ := play(t, sc, nil, 1)
	var first string
	for _, m := range s.Messages() {
		if rs := m.Results(); len(rs) > 0 && first == "" {
			first = rs[0].Text()
		}
	}
	require.Contains(t, first, "nope")
	require.Less(t, strings.Count(first, "mcp__"), 10, "an answer lists no registry: %s", first)
}

func TestWithoutSearchDeferredToolsBecomeDirect(t *testing.T) {
	_, sent := play(t, script.New(script.Say("hello")), nil, 1)
	require.NotContains(t, sent[0], "mcp__todo__get_task")
	closed := []meta.Layer{{Name: "project", Entries: []meta.Entry{{Key: toolsearch.Name, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: 1}}}}}
	_, sent = play(t, script.New(script.Say("hello")), closed, 1)
	require.Contains(t, sent[0], "mcp__todo__get_task")
	require.NotContains(t, sent[0], toolsearch.SearchTool)
}
