package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/lower"
	"github.com/metaharness/peri/toolview"
)

// form writes requests of the Messages API. It belongs to one request.
type form struct {
	model  string
	opt    *Options
	mark   string
	native *lower.Native // nil = deferred tools stay with the tool that runs them
}

func (m *model) form(r *middleware.Request) *form {
	f := &form{model: m.id, opt: &m.opt, mark: `,"cache_control":{"type":"ephemeral"}`}
	if m.opt.TTL == "1h" {
		f.mark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	if m.opt.NativeSearch {
		f.native = lower.NewNative(r.View)
	}
	return f
}

func (f *form) Mark() string { return f.mark }

// request is the whole request. more stands behind the tail, which the answer that it begins with has read.
func (f *form) request(memo *lower.Memo, r *middleware.Request, more []*message.Message) []byte {
	tail := lower.Tail(r.Tail)
	prev := r.Messages[len(r.Messages)-1]
	if tail == "" && len(more) == 0 && prev.Role == message.Assistant {
		tail = "Continue." // the API answers users alone
	}
	b := memo.Write(r, f, 2*len(tail)+256)
	if tail != "" {
		b = append(lower.Next(b), `{"role":"user","content":[{"type":"text","text":`...)
		b = append(lower.Quote(b, tail), `}]}`...)
	}
	for _, m := range more {
		b, _ = f.Message(b, prev, m)
	}
	return append(b, "]}"...)
}

// Head is the model, its limits, the tools and the system prompt.
func (f *form) Head(r *middleware.Request) []byte {
	b := lower.Quote([]byte(`{"model":`), f.model)
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(f.opt.MaxTokens), 10)
	b = append(b, `,"stream":true`...)
	switch f.opt.Thinking {
	case "":
	case "adaptive", "disabled":
		b = append(b, `,"thinking":{"type":"`+f.opt.Thinking+`"}`...)
	default:
		b = append(b, `,"thinking":{"type":"enabled","budget_tokens":`+f.opt.Thinking+`}`...)
	}
	if tools := f.native.Direct(r.View); len(tools) > 0 {
		b = append(b, `,"tools":[`...)
		for i, t := range tools {
			mark := ""
			if i == len(tools)-1 {
				mark = f.mark
			}
			b = tool(b, t, mark)
		}
		// What is deferred is no part of the prefix, so that it stands behind its end.
		for _, t := range f.native.Deferred() {
			b = tool(b, t, `,"defer_loading":true`)
		}
		b = append(b, ']')
	}
	open := false
	for i := range r.System {
		s := &r.System[i]
		if lower.Blank(s.Text) {
			continue
		}
		if !open {
			b, open = append(b, `,"system":[`...), true
		}
		b = lower.Quote(append(lower.Next(b), `{"type":"text","text":`...), s.Text)
		if s.EndsCache {
			b = append(b, f.mark...)
		}
		b = append(b, '}')
	}
	if open {
		b = append(b, ']')
	}
	return append(b, `,"messages":[`...)
}

func tool(b []byte, t *toolview.Tool, more string) []byte {
	schema, note := lower.Schema(t.Schema)
	doc := t.Doc
	if note != "" {
		doc += "\n\n" + note
	}
	b = lower.Quote(append(lower.Next(b), `{"name":`...), t.Name)
	b = lower.Quote(append(b, `,"description":`...), doc)
	b = append(append(b, `,"input_schema":`...), schema...)
	return append(append(b, more...), '}')
}

// Message appends one message. Neighbours of one role stay apart, which the API takes for one turn: so what was sent once is
// never reopened.
func (f *form) Message(b []byte, prev, m *message.Message) ([]byte, int) {
	role := "user"
	if m.Role == message.Assistant {
		role = "assistant"
	}
	start := len(b)
	if prev == nil && role == "assistant" {
		b = append(lower.Next(b), `{"role":"user","content":[{"type":"text","text":"(earlier messages are gone)"}]}`...)
	}
	b = append(lower.Next(b), `{"role":"`+role+`","content":[`...)
	empty, mark := len(b), -1
	for i := range m.Parts {
		n := len(b)
		var markable bool
		b, markable = f.part(b, m, &m.Parts[i])
		if len(b) > n {
			mark = -1
			if markable {
				mark = len(b) - 1
			}
		}
	}
	if len(b) == empty {
		return b[:start], -1
	}
	return append(b, "]}"...), mark
}

// part appends one block, or nothing, and reports whether it may end a cached prefix.
func (f *form) part(b []byte, m *message.Message, p *message.Part) ([]byte, bool) {
	switch {
	case p.Kind == message.Reasoning:
		if m.Role == message.Assistant && strings.HasPrefix(m.Model, Prefix) {
			b = reasoning(b, p)
		}
		return b, false
	case p.Kind == message.ToolUse && p.Use != nil && m.Role == message.Assistant:
		name, args := f.native.Direction(p.Use)
		b = lower.Quote(append(lower.Next(b), `{"type":"tool_use","id":`...), lower.ID(p.Use.ID))
		b = lower.Quote(append(b, `,"name":`...), lower.Name(name))
		b = append(append(b, `,"input":`...), lower.Args(args)...)
		return append(b, '}'), true
	case p.Kind == message.ToolResult && p.Result != nil && m.Role != message.Assistant:
		return f.result(b, p.Result), true
	}
	return content(b, p)
}

func reasoning(b []byte, p *message.Part) []byte {
	if data, ok := strings.CutPrefix(p.Signature, hidden); ok {
		b = append(lower.Next(b), `{"type":"redacted_thinking","data":`...)
		return append(lower.Quote(b, data), '}')
	}
	if p.Signature == "" {
		return b // the API takes back only what it has signed
	}
	b = lower.Quote(append(lower.Next(b), `{"type":"thinking","thinking":`...), p.Text)
	return append(lower.Quote(append(b, `,"signature":`...), p.Signature), '}')
}

func (f *form) result(b []byte, r *message.Result) []byte {
	b = lower.Quote(append(lower.Next(b), `{"type":"tool_result","tool_use_id":`...), lower.ID(r.UseID))
	before := len(b)
	b = append(b, `,"content":[`...)
	empty := len(b)
	if found := f.native.Found(r); len(found) > 0 {
		for _, t := range found {
			b = append(lower.Quote(append(lower.Next(b), `{"type":"tool_reference","tool_name":`...), t.Name), '}')
		}
	} else {
		parts := lower.Parts(r)
		for i := range parts {
			b, _ = content(b, &parts[i])
		}
	}
	if len(b) == empty {
		b = b[:before]
	} else {
		b = append(b, ']')
	}
	if r.Error {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}')
}

// content appends a text, an image or a document.
func content(b []byte, p *message.Part) ([]byte, bool) {
	switch lower.Kind(p) {
	case "text":
		b = append(lower.Next(b), `{"type":"text","text":`...)
		return append(lower.Quote(b, lower.Words(p)), '}'), true
	case "image":
		return source(append(lower.Next(b), `{"type":"image","source":`...), p), true
	case "pdf":
		return source(append(lower.Next(b), `{"type":"document","source":`...), p), true
	}
	return b, false
}

func source(b []byte, p *message.Part) []byte {
	if len(p.Data) == 0 {
		return append(lower.Quote(append(b, `{"type":"url","url":`...), p.URI), "}}"...)
	}
	mime, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	b = lower.Quote(append(b, `{"type":"base64","media_type":`...), strings.TrimSpace(mime))
	return append(lower.Base64(append(b, `,"data":`...), p), "}}"...)
}

// back turns the calls of an answer that name a deferred tool into calls of the tool that runs such.
func (f *form) back(m *message.Message) {
	for i := range m.Parts {
		if u := m.Parts[i].Use; u != nil {
			m.Parts[i].Use = f.native.Proxy(u)
		}
	}
	m.Parts = slices.Clip(m.Parts)
}
