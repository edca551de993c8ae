package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/lower"
)

// chatForm writes requests of Chat Completions.
type chatForm struct{ model *model }

func (f *chatForm) path() string { return "chat/completions" }

// Mark is nothing: what servers cache, they cache by themselves.
func (f *chatForm) Mark() string { return "" }

func (f *chatForm) request(memo *lower.Memo, r *middleware.Request, more []*message.Message) []byte {
	tail := lower.Tail(r.Tail)
	b := memo.Write(r, f, 2*len(tail)+256)
	prev := r.Messages[len(r.Messages)-1]
	if tail != "" {
		t := message.Of(message.User, tail)
		b, _ = f.Message(b, prev, t)
		prev = t
	}
	for _, m := range more {
		b, _ = f.Message(b, prev, m)
		prev = m
	}
	return append(b, "]}"...)
}

func (f *chatForm) Head(r *middleware.Request) []byte {
	b := lower.Quote([]byte(`{"model":`), f.model.id)
	b = append(b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	if n := f.model.opt.MaxTokens; n > 0 {
		b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(n), 10)
	}
	if r.View != nil && len(r.View.Direct()) > 0 {
		b = append(b, `,"tools":[`...)
		for _, t := range r.View.Direct() {
			schema, note := lower.Schema(t.Schema)
			doc := t.Doc
			if note != "" {
				doc += "\n\n" + note
			}
			b = lower.Quote(append(lower.Next(b), `{"type":"function","function":{"name":`...), t.Name)
			b = lower.Quote(append(b, `,"description":`...), doc)
			b = append(append(append(b, `,"parameters":`...), schema...), "}}"...)
		}
		b = append(b, ']')
	}
	b = append(b, `,"messages":[`...)
	if system := lower.System(r.System); system != "" {
		b = append(lower.Quote(append(b, `{"role":"system","content":`...), system), '}')
	}
	return b
}

// Message appends one message. Users' texts that follow each other become one message, since the templates of some models
// want roles to alternate.
func (f *chatForm) Message(b []byte, prev, m *message.Message) ([]byte, int) {
	switch m.Role {
	case message.Assistant:
		return f.assistant(b, m), -1
	case message.Tool:
		return results(b, m), -1
	}
	text, ok := plain(m)
	if !ok {
		return parts(b, m.Parts), -1
	}
	if text == "" {
		return b, -1
	}
	if prev != nil && prev.Role == message.User {
		if before, ok := plain(prev); ok && before != "" {
			b = lower.Escape(b[:len(b)-len(`"}`)], "\n\n"+text)
			return append(b, `"}`...), -1
		}
	}
	b = lower.Quote(append(lower.Next(b), `{"role":"user","content":`...), text)
	return append(b, '}'), -1
}

// plain is a message as one text; ok is false for one that has an image.
func plain(m *message.Message) (text string, ok bool) {
	var b strings.Builder
	for i := range m.Parts {
		switch lower.Kind(&m.Parts[i]) {
		case "":
		case "image":
			return "", false
		default:
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(lower.Words(&m.Parts[i]))
		}
	}
	return b.String(), true
}

// parts appends a user's message with images.
func parts(b []byte, all []message.Part) []byte {
	b = append(lower.Next(b), `{"role":"user","content":[`...)
	for i := range all {
		switch p := &all[i]; lower.Kind(p) {
		case "":
		case "image":
			b = append(lower.Next(b), `{"type":"image_url","image_url":{"url":`...)
			b = append(lower.DataURL(b, p), "}}"...)
		default:
			b = append(lower.Next(b), `{"type":"text","text":`...)
			b = append(lower.Quote(b, lower.Words(p)), '}')
		}
	}
	return append(b, "]}"...)
}

func (f *chatForm) assistant(b []byte, m *message.Message) []byte {
	var text strings.Builder
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == message.Text {
			text.WriteString(p.Text)
		}
	}
	uses := m.Uses()
	if lower.Blank(text.String()) && len(uses) == 0 {
		return b
	}
	b = lower.Quote(append(lower.Next(b), `{"role":"assistant","content":`...), text.String())
	if len(uses) == 0 {
		return append(b, '}')
	}
	// Servers that reason between calls want it back with the calls, in the field that it came in, and refuse it elsewhere.
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == message.Reasoning && slices.Contains(reasoningFields[:], p.Signature) && f.model.own(m) {
			b = lower.Quote(append(b, `,"`+p.Signature+`":`...), p.Text)
			break
		}
	}
	b = append(b, `,"tool_calls":[`...)
	for _, u := range uses {
		b = lower.Quote(append(lower.Next(b), `{"id":`...), lower.ID(u.ID))
		b = lower.Quote(append(b, `,"type":"function","function":{"name":`...), lower.Name(u.Name))
		b = append(lower.Quote(append(b, `,"arguments":`...), string(lower.Args(u.Args))), "}}"...)
	}
	return append(b, "]}"...)
}

// results appends one message for each result, and behind them one with the images that such a message cannot hold.
func results(b []byte, m *message.Message) []byte {
	var images []message.Part
	for _, r := range m.Results() {
		all := lower.Parts(r)
		var texts []string
		for i := range all {
			switch lower.Kind(&all[i]) {
			case "":
			case "image":
				texts = append(texts, "[an image, which stands behind the results]")
				images = append(images, all[i])
			default:
				texts = append(texts, lower.Words(&all[i]))
			}
		}
		text := strings.Join(texts, "\n")
		if text == "" {
			text = "(no output)"
		}
		if r.Error {
			text = failedWord + text
		}
		b = lower.Quote(append(lower.Next(b), `{"role":"tool","tool_call_id":`...), lower.ID(r.UseID))
		b = append(lower.Quote(append(b, `,"content":`...), text), '}')
	}
	if len(images) > 0 {
		b = parts(b, images)
	}
	return b
}

// chunks is an answer as far as it has come.
type chunks struct {
	sink      middleware.Sink
	text      strings.Builder
	reasoning message.Part
	uses      []*message.Use
	slots     map[int64]*message.Use
	stop      string
	ended     bool
	usage     message.Usage
}

var chatStops = map[string]string{
	"stop": "end", "tool_calls": "tool_use", "function_call": "tool_use", "length": "length", "content_filter": "refusal",
}

func (f *chatForm) read(raw *http.Response, touch func(), sink middleware.Sink) (*message.Message, error) {
	stream := ssestream.NewStream[sdk.ChatCompletionChunk](ssestream.NewDecoder(raw), nil)
	defer stream.Close()
	c := chunks{sink: sink, slots: map[int64]*message.Use{}, reasoning: message.Part{Kind: message.Reasoning}}
	for stream.Next() {
		touch()
		e := stream.Current()
		c.hear(&e)
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if !c.ended {
		return nil, errEnded
	}
	m := &message.Message{Stop: c.stop, Usage: &c.usage}
	if c.reasoning.Text != "" {
		m.Parts = append(m.Parts, c.reasoning)
	}
	if c.text.Len() > 0 {
		m.Parts = append(m.Parts, message.Part{Kind: message.Text, Text: c.text.String()})
	}
	for _, u := range c.uses {
		m.Parts = append(m.Parts, message.Part{Kind: message.ToolUse, Use: u})
	}
	return m, nil
}

func (c *chunks) hear(e *sdk.ChatCompletionChunk) {
	if u := e.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		c.usage = message.Usage{
			Input: int(u.PromptTokens), Output: int(u.CompletionTokens), CacheRead: int(u.PromptTokensDetails.CachedTokens),
		}
		if hit, err := strconv.Atoi(u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw()); err == nil && c.usage.CacheRead == 0 {
			c.usage.CacheRead = hit
		}
	}
	for i := range e.Choices {
		if e.Choices[i].Index != 0 {
			continue
		}
		d := &e.Choices[i].Delta
		c.think(d.JSON.ExtraFields)
		if d.Refusal != "" {
			c.stop = "refusal"
		}
		if text := d.Content + d.Refusal; text != "" {
			c.text.WriteString(text)
			c.sink(message.Event{Kind: message.TextDelta, Text: text})
		}
		for j := range d.ToolCalls {
			c.call(&d.ToolCalls[j])
		}
		if why := e.Choices[i].FinishReason; why != "" {
			c.ended = true
			if c.stop == "" {
				c.stop = chatStops[why]
			}
		}
	}
}

// reasoningFields are where servers put what the API has no field for.
var reasoningFields = [...]string{"reasoning_content", "reasoning"}

func (c *chunks) think(extra map[string]respjson.Field) {
	for _, name := range reasoningFields {
		var text string
		if f, ok := extra[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			c.reasoning.Text += text
			c.reasoning.Signature = name
			c.sink(message.Event{Kind: message.ReasoningDelta, Text: text})
			return
		}
	}
}

// call takes a piece of a call over. Some servers number every call 0 and tell them apart by their ids.
func (c *chunks) call(d *sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	u := c.slots[d.Index]
	if u == nil || d.ID != "" && u.ID != "" && d.ID != u.ID {
		u = &message.Use{ID: d.ID, Name: d.Function.Name}
		c.slots[d.Index] = u
		c.uses = append(c.uses, u)
	} else if u.Name == "" {
		u.Name = d.Function.Name
	}
	if u.ID == "" {
		u.ID = d.ID
	}
	if a := d.Function.Arguments; a != "" {
		u.Args = append(u.Args, a...)
		c.sink(message.Event{Kind: message.ArgsDelta, Text: a, Use: &message.Use{ID: u.ID, Name: u.Name}})
	}
}
