package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// hidden marks the signature of a reasoning that the vendor shows in no words. No signature has a colon.
const hidden = "hidden:"

// reading is an answer as far as it has come.
type reading struct {
	sink  middleware.Sink
	parts []message.Part
	at    map[int64]int // of a block, in parts
	stop  string
	usage message.Usage
	ended bool
}

func (a *reading) hear(e *sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		a.begin(e.Index, &e.ContentBlock)
	case "content_block_delta":
		if i, ok := a.at[e.Index]; ok {
			a.delta(&a.parts[i], &e.Delta)
		}
	case "message_delta":
		a.stop = stops[string(e.Delta.StopReason)]
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "message_stop":
		a.ended = true
	}
}

var stops = map[string]string{
	"end_turn": "end", "stop_sequence": "end", "pause_turn": "end", "tool_use": "tool_use",
	"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal",
}

// count takes usage over; counts are of the whole answer, and one that is absent leaves what was.
func (a *reading) count(in, read, write, out int64) {
	if total := in + read + write; total > 0 {
		a.usage.Input, a.usage.CacheRead, a.usage.CacheWrite = int(total), int(read), int(write)
	}
	if out > 0 {
		a.usage.Output = int(out)
	}
}

func (a *reading) begin(index int64, b *sdk.ContentBlockStartEventContentBlockUnion) {
	var p message.Part
	switch b.Type {
	case "text":
		p = message.Part{Kind: message.Text, Text: b.Text}
		a.say(message.TextDelta, b.Text)
	case "thinking":
		p = message.Part{Kind: message.Reasoning, Text: b.Thinking, Signature: b.Signature}
		a.say(message.ReasoningDelta, b.Thinking)
	case "redacted_thinking":
		p = message.Part{Kind: message.Reasoning, Signature: hidden + b.Data}
	case "tool_use":
		p = message.Part{Kind: message.ToolUse, Use: &message.Use{ID: b.ID, Name: b.Name}}
		// Some servers send the arguments here, whole.
		if whole, ok := b.Input.(map[string]any); ok && len(whole) > 0 {
			p.Use.Args, _ = json.Marshal(whole)
		}
	default:
		return
	}
	a.at[index] = len(a.parts)
	a.parts = append(a.parts, p)
}

func (a *reading) delta(p *message.Part, d *sdk.MessageStreamEventUnionDelta) {
	switch {
	case d.Type == "text_delta" && p.Kind == message.Text:
		p.Text += d.Text
		a.say(message.TextDelta, d.Text)
	case d.Type == "thinking_delta" && p.Kind == message.Reasoning:
		p.Text += d.Thinking
		a.say(message.ReasoningDelta, d.Thinking)
	case d.Type == "signature_delta" && p.Kind == message.Reasoning:
		p.Signature += d.Signature
	case d.Type == "input_json_delta" && p.Kind == message.ToolUse && d.PartialJSON != "":
		p.Use.Args = append(p.Use.Args, d.PartialJSON...)
		a.sink(message.Event{Kind: message.ArgsDelta, Text: d.PartialJSON, Use: &message.Use{ID: p.Use.ID, Name: p.Use.Name}})
	}
}

func (a *reading) say(kind message.EventKind, text string) {
	if text != "" {
		a.sink(message.Event{Kind: kind, Text: text})
	}
}

func (a *reading) message() *message.Message {
	m := &message.Message{Role: message.Assistant, Stop: a.stop, Usage: &a.usage}
	for _, p := range a.parts {
		empty := p.Kind == message.Text && p.Text == "" || p.Kind == message.Reasoning && p.Text == "" && p.Signature == ""
		if !empty {
			m.Parts = append(m.Parts, p)
		}
	}
	if m.Stop == "" {
		m.Stop = "end"
		if len(m.Uses()) > 0 {
			m.Stop = "tool_use"
		}
	}
	return m
}
