package closuretest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// request is a copy of what one request held.
type request struct {
	agent    string
	system   []prompt.Block
	view     *toolview.View
	tools    []*toolview.Tool
	messages []*message.Message
	tail     []prompt.Contribution
}

// prefix is the bytes that a vendor sees before the conversation.
func (r *request) prefix() string {
	b, err := json.Marshal(struct {
		System []prompt.Block
		Tools  []wireTool
	}{r.system, wire(r.tools)})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

type wireTool struct {
	Name, Title, Doc string
	Schema           json.RawMessage
}

func wire(tools []*toolview.Tool) []wireTool {
	out := make([]wireTool, len(tools))
	for i, t := range tools {
		out[i] = wireTool{t.Name, t.Title, t.Doc, t.Schema}
	}
	return out
}

// text is the request's system prompt.
func (r *request) text() string { return systemText(r.system) }

func systemText(blocks []prompt.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// recorder is a model that plays steps and keeps the requests. It is safe for concurrent use.
type recorder struct {
	steps *script.Script

	mu   sync.Mutex
	sent []request
}

// most is how many requests a session of the kit may make: a stop hook may go on for a while, not forever.
const most = 256

func newRecorder(steps []script.Step) *recorder {
	filler := make([]script.Step, most)
	for i := range filler {
		filler[i] = script.Say(said)
	}
	return &recorder{steps: script.For(map[string][]script.Step{
		"": append(slices.Clone(steps), filler...), agentFree: filler, agentListed: filler,
	})}
}

func (r *recorder) models(string) (middleware.ModelFunc, error) { return r.model, nil }

func (r *recorder) model(ctx context.Context, q *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	sent := request{
		agent: q.View.Agent(), system: slices.Clone(q.System), view: q.View, tools: slices.Clone(q.View.Direct()),
		messages: slices.Clone(q.Messages), tail: slices.Clone(q.Tail),
	}
	r.mu.Lock()
	r.sent = append(r.sent, sent)
	r.mu.Unlock()
	return r.steps.Model(ctx, q, sink)
}

func (r *recorder) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}
