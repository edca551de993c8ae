package wire

import (
	"encoding/json"
	"net/http"

	"github.com/metaharness/peri/prompt/message"
)

type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens int               `json:"max_tokens"`
	Tools     []json.RawMessage `json:"tools"`
	Messages  []json.RawMessage `json:"messages"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// chat checks a request of Chat Completions, and takes nothing that a compatible server may not know.
func (c *check) chat(r *http.Request, req *Request) message.Usage {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		c.wrong("%s %s is not POST /v1/chat/completions", r.Method, r.URL.Path)
	}
	var q chatRequest
	if !c.strict("request", req.Body, &q) {
		return message.Usage{}
	}
	if q.Model == "" || !q.Stream || len(q.Messages) == 0 || !q.StreamOptions.IncludeUsage {
		c.wrong("model, stream, stream_options.include_usage and messages are required")
	}
	var names []string
	for _, raw := range q.Tools {
		var t struct {
			Type     string `json:"type"`
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		if c.strict("tools", raw, &t) {
			names = append(names, t.Function.Name)
			c.schema(t.Function.Name, t.Function.Parameters)
			c.unit("tool", raw, false)
		}
	}
	c.names(names)
	p := pairs{c: c}
	role := ""
	for i, raw := range q.Messages {
		var m chatMessage
		if !c.strict("messages", raw, &m) {
			continue
		}
		text := c.chatMessage(&p, i, &m)
		if m.Role == role && role != "tool" && c.server.Alternate {
			c.wrong("messages: conversation roles must alternate")
		}
		role = m.Role
		if role == "user" || role == "tool" {
			req.Last = text
		}
		c.unit("message", raw, false)
	}
	p.settled("messages")
	req.Turns = len(q.Messages)
	return c.usage(-1, req)
}

func (c *check) chatMessage(p *pairs, i int, m *chatMessage) (text string) {
	text = c.chatContent(m)
	switch m.Role {
	case "system":
		if i > 0 {
			c.wrong("messages: a system message that is not the first")
		}
	case "user":
		p.settled("messages before a user's")
		if text == "" && string(m.Content) == "null" {
			c.wrong("messages: a user's message without content")
		}
	case "assistant":
		p.settled("messages before an assistant's")
		if text == "" && len(m.ToolCalls) == 0 {
			c.wrong("messages: an assistant's message without content and calls")
		}
		for _, t := range m.ToolCalls {
			if t.Type != "function" || !json.Valid([]byte(t.Function.Arguments)) {
				c.wrong("tool_calls: %+v", t)
			}
			p.use(t.ID, t.Function.Name)
		}
	case "tool":
		p.result(m.ToolCallID)
	default:
		c.wrong("messages: the role %q", m.Role)
	}
	return text
}

func (c *check) chatContent(m *chatMessage) string {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return ""
	}
	if m.Content[0] == '"' {
		var s string
		c.strict("content", m.Content, &s)
		return s
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	c.strict("content", m.Content, &parts)
	text := ""
	for _, p := range parts {
		if m.Role != "user" || p.Type != "text" && (p.Type != "image_url" || p.ImageURL == nil) {
			c.wrong("a %s's content has a part of type %q", m.Role, p.Type)
		}
		text += p.Text
	}
	return text
}
