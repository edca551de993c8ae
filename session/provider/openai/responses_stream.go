package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// output is an answer as far as it has come: one part for each item, by its index.
type output struct {
	sink  middleware.Sink
	items map[int64]*message.Part
	last  int64
	stop  string
	usage message.Usage
	ended bool
	// search is the tool that a search of the API's own stands for.
	search string
}

func (f *responsesForm) read(raw *http.Response, touch func(), sink middleware.Sink) (*message.Message, error) {
	stream := ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(raw), nil)
	defer stream.Close()
	o := output{sink: sink, items: map[int64]*message.Part{}, last: -1, search: f.native.Search()}
	for stream.Next() {
		touch()
		e := stream.Current()
		if err := o.hear(&e); err != nil {
			return nil, err
		}
		if o.ended {
			break
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if !o.ended {
		return nil, errEnded
	}
	m := &message.Message{Stop: o.stop, Usage: &o.usage}
	for i := int64(0); i <= o.last; i++ {
		if p := o.items[i]; p != nil && (p.Kind != message.Text || p.Text != "") {
			if p.Use != nil {
				p.Use = f.native.Proxy(p.Use)
			}
			m.Parts = append(m.Parts, *p)
		}
	}
	return m, nil
}

func (o *output) hear(e *responses.ResponseStreamEventUnion) error {
	p := o.items[e.OutputIndex]
	switch e.Type {
	case "response.output_item.added":
		o.item(e.OutputIndex, &e.Item, false)
	case "response.output_item.done":
		o.item(e.OutputIndex, &e.Item, true)
	case "response.output_text.delta", "response.refusal.delta":
		if p != nil && p.Kind == message.Text {
			p.Text += e.Delta
			o.say(message.TextDelta, e.Delta)
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		if p != nil && p.Kind == message.Reasoning {
			p.Text += e.Delta
			o.say(message.ReasoningDelta, e.Delta)
		}
	case "response.function_call_arguments.delta":
		if p != nil && p.Kind == message.ToolUse && e.Delta != "" {
			p.Use.Args = append(p.Use.Args, e.Delta...)
			o.sink(message.Event{Kind: message.ArgsDelta, Text: e.Delta, Use: &message.Use{ID: p.Use.ID, Name: p.Use.Name}})
		}
	case "response.completed", "response.incomplete":
		o.end(&e.Response)
	case "response.failed":
		return &said{string(e.Response.Error.Code), e.Response.Error.Message}
	case "error":
		return &said{e.Code, e.Message}
	}
	return nil
}

func (o *output) say(kind message.EventKind, text string) {
	if text != "" {
		o.sink(message.Event{Kind: kind, Text: text})
	}
}

// item takes an item over as it begins, and once more when it is whole.
func (o *output) item(index int64, i *responses.ResponseOutputItemUnion, whole bool) {
	p := o.items[index]
	if p == nil {
		p = &message.Part{}
		o.items[index] = p
		o.last = max(o.last, index)
	}
	switch i.Type {
	case "message":
		p.Kind = message.Text
		if whole {
			o.words(p, i)
		}
	case "reasoning":
		p.Kind = message.Reasoning
		if whole {
			var texts []string
			for _, s := range i.Summary {
				texts = append(texts, s.Text)
			}
			if len(texts) > 0 {
				p.Text = strings.Join(texts, "\n\n")
			}
			p.Signature = i.ID + ":" + i.EncryptedContent
		}
	case "function_call", "tool_search_call":
		name := i.Name
		if i.Type == "tool_search_call" {
			name = o.search
		}
		if p.Use == nil {
			p.Kind, p.Use = message.ToolUse, &message.Use{ID: i.CallID, Name: name}
		}
		if args := arguments(i); whole && args != "" {
			p.Use.Args = json.RawMessage(args)
		}
	default:
		delete(o.items, index)
	}
}

// arguments are a text for a call, and an object for a search.
func arguments(i *responses.ResponseOutputItemUnion) string {
	raw := i.JSON.Arguments.Raw()
	var text string
	if json.Unmarshal([]byte(raw), &text) == nil {
		return text
	}
	return raw
}

func (o *output) words(p *message.Part, i *responses.ResponseOutputItemUnion) {
	var b strings.Builder
	for _, c := range i.Content {
		switch c.Type {
		case "output_text":
			b.WriteString(c.Text)
		case "refusal":
			b.WriteString(c.Refusal)
			o.stop = "refusal"
		}
	}
	if b.Len() > 0 {
		p.Text = b.String()
	}
}

func (o *output) end(r *responses.Response) {
	o.ended = true
	if r.Status == "incomplete" {
		o.stop = "length"
		if r.IncompleteDetails.Reason == "content_filter" {
			o.stop = "refusal"
		}
	}
	u := r.Usage
	o.usage = message.Usage{
		Input: int(u.InputTokens), Output: int(u.OutputTokens),
		CacheRead: int(u.InputTokensDetails.CachedTokens), CacheWrite: int(u.InputTokensDetails.CacheWriteTokens),
	}
}
