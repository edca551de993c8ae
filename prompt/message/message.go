// Package message holds what goes to a model and comes back: messages, their parts, tool uses, results and the
// events of a turn. All of it is plain data: it marshals to JSON and back without a registry. A value that has
// been handed to a session is not changed again, so any goroutine may read it.
package message

import (
	"encoding/json"
	"strings"
)

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	// Tool is a message that carries nothing but results.
	Tool Role = "tool"
)

// Kind says which fields of a Part count.
type Kind string

const (
	// Text counts Text.
	Text Kind = "text"
	// Image and Document count MIME and Data, or URI.
	Image    Kind = "image"
	Document Kind = "document"
	// Reasoning counts Text and Signature.
	Reasoning Kind = "reasoning"
	// ToolUse counts Use.
	ToolUse Kind = "tool_use"
	// ToolResult counts Result.
	ToolResult Kind = "tool_result"
)

// Part is one piece of a message. It is flat, so that JSON needs no registry of types.
type Part struct {
	Kind      Kind    `json:"kind"`
	Text      string  `json:"text,omitempty"`
	MIME      string  `json:"mime,omitempty"`
	Data      []byte  `json:"data,omitempty"`
	URI       string  `json:"uri,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Use       *Use    `json:"use,omitempty"`
	Result    *Result `json:"result,omitempty"`
}

// Use is a model's wish to call a tool. Name and Args are the model's own bytes; Tool is the name of the tool that
// really ran when that is another one (an alias, or a call made through a forwarder).
type Use struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Tool string          `json:"tool,omitempty"`
}

// Result is what a tool returns and what the transcript stores. Error says that the tool failed in a way the model
// can read about; a framework failure is a Go error instead.
type Result struct {
	UseID      string          `json:"use_id,omitempty"`
	Parts      []Part          `json:"parts,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Error      bool            `json:"error,omitempty"`
}

// Usage counts tokens. CacheRead and CacheWrite are parts of Input.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
}

// Add counts other in; nil is nothing.
func (u *Usage) Add(other *Usage) {
	if other == nil {
		return
	}
	u.Input += other.Input
	u.Output += other.Output
	u.CacheRead += other.CacheRead
	u.CacheWrite += other.CacheWrite
}

// Message is one entry of a transcript.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts,omitempty"`
	Model string `json:"model,omitempty"`
	// Stop is why the model stopped, in the adapter's words mapped to end, tool_use, length, refusal.
	Stop  string `json:"stop,omitempty"`
	Usage *Usage `json:"usage,omitempty"`
}

// Of makes a message of text.
func Of(role Role, text string) *Message {
	return &Message{Role: role, Parts: []Part{{Kind: Text, Text: text}}}
}

// Text is the concatenation of the message's text parts.
func (m *Message) Text() string { return text(m.Parts) }

// Uses returns the tool uses in the order in which the model made them.
func (m *Message) Uses() []*Use {
	n := 0
	for i := range m.Parts {
		if m.Parts[i].Kind == ToolUse {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	uses := make([]*Use, 0, n)
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == ToolUse && p.Use != nil {
			uses = append(uses, p.Use)
		}
	}
	return uses
}

// Results returns the tool results that the message carries.
func (m *Message) Results() []*Result {
	var out []*Result
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == ToolResult && p.Result != nil {
			out = append(out, p.Result)
		}
	}
	return out
}

// Say is a result of one text.
func Say(text string) *Result {
	return &Result{Parts: []Part{{Kind: Text, Text: text}}}
}

// Fail is a failed result of one text, which the model reads.
func Fail(text string) *Result {
	r := Say(text)
	r.Error = true
	return r
}

// Text is the concatenation of the result's text parts.
func (r *Result) Text() string { return text(r.Parts) }

func text(parts []Part) string {
	if len(parts) == 1 {
		if parts[0].Kind == Text {
			return parts[0].Text
		}
		return ""
	}
	var b strings.Builder
	for i := range parts {
		if parts[i].Kind == Text {
			b.WriteString(parts[i].Text)
		}
	}
	return b.String()
}
