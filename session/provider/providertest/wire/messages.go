package wire

import (
	"encoding/json"
	"net/http"

	"github.com/metaharness/peri/prompt/message"
)

type messagesRequest struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	Thinking  json.RawMessage   `json:"thinking"`
	Tools     []json.RawMessage `json:"tools"`
	System    []json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

type ephemeral struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type messagesTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	DeferLoading bool            `json:"defer_loading"`
	CacheControl *ephemeral      `json:"cache_control"`
}

type textBlock struct {
	Type         string     `json:"type"`
	Text         string     `json:"text"`
	CacheControl *ephemeral `json:"cache_control"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

type mediaBlock struct {
	Type         string     `json:"type"`
	Source       source     `json:"source"`
	Title        string     `json:"title"`
	CacheControl *ephemeral `json:"cache_control"`
}

type useBlock struct {
	Type         string                     `json:"type"`
	ID           string                     `json:"id"`
	Name         string                     `json:"name"`
	Input        map[string]json.RawMessage `json:"input"`
	CacheControl *ephemeral                 `json:"cache_control"`
}

type resultBlock struct {
	Type         string            `json:"type"`
	ToolUseID    string            `json:"tool_use_id"`
	Content      []json.RawMessage `json:"content"`
	IsError      bool              `json:"is_error"`
	CacheControl *ephemeral        `json:"cache_control"`
}

// messages checks a request of Anthropic's Messages API.
func (c *check) messages(r *http.Request, req *Request) message.Usage {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		c.wrong("%s %s is not POST /v1/messages", r.Method, r.URL.Path)
	}
	if r.Header.Get("Anthropic-Version") == "" {
		c.wrong("anthropic-version: header is required")
	}
	var q messagesRequest
	if !c.strict("request", req.Body, &q) {
		return message.Usage{}
	}
	if q.Model == "" || q.MaxTokens < 1 || !q.Stream || len(q.Messages) == 0 {
		c.wrong("model, max_tokens, stream and messages are required")
	}
	loaded := c.messagesTools(q.Tools)
	for _, raw := range q.System {
		var b textBlock
		c.strict("system", raw, &b)
		c.text("system", b.Text)
		c.unit("system", raw, b.CacheControl != nil)
	}
	v := conversation{check: c, pairs: pairs{c: c}, loaded: loaded, req: req}
	for i, m := range q.Messages {
		v.message(i, m.Role, m.Content)
	}
	v.pairs.settled("messages")
	if v.role == "assistant" {
		c.wrong("messages: the last is the assistant's: prefill is not supported")
	}
	req.Turns = len(q.Messages)
	return c.usage(20, req)
}

// messagesTools returns the names of those that wait to be referred to.
func (c *check) messagesTools(tools []json.RawMessage) map[string]bool {
	var names []string
	deferred := map[string]bool{}
	for _, raw := range tools {
		var t messagesTool
		if !c.strict("tools", raw, &t) {
			continue
		}
		names = append(names, t.Name)
		c.text("tools: description of "+t.Name, t.Description)
		c.schema(t.Name, t.InputSchema)
		if t.DeferLoading {
			deferred[t.Name] = true
			if t.CacheControl != nil {
				c.wrong("tools: %s is deferred and cannot end a cached prefix", t.Name)
			}
			continue
		}
		c.unit("tool", raw, t.CacheControl != nil)
	}
	c.names(names)
	if len(tools) > 0 && len(deferred) == len(tools) {
		c.wrong("tools: at least one tool must not be deferred")
	}
	return deferred
}

// conversation checks the messages in their order. Neighbours of one role are one turn.
type conversation struct {
	*check
	pairs
	loaded map[string]bool // deferred tools
	req    *Request
	role   string
	other  bool // the turn of the user has had something that is no result
	spoken bool // the assistant's turn has had something that is no thinking
}

func (v *conversation) message(i int, role string, content []json.RawMessage) {
	switch {
	case role != "user" && role != "assistant":
		v.wrong("messages.%d: the role %q", i, role)
	case i == 0 && role != "user":
		v.wrong("messages: first message must use the user role")
	case len(content) == 0:
		v.wrong("messages.%d: it has no content", i)
	case role == v.role && v.server.Alternate:
		v.wrong("messages.%d: roles must alternate", i)
	}
	if role != v.role {
		if role == "assistant" {
			v.pairs.settled("messages")
		}
		v.other, v.spoken = false, false
	}
	v.role = role
	text := ""
	for _, raw := range content {
		text += v.block(role, raw)
	}
	if role == "user" {
		v.req.Last = text
	}
}

// block checks one block and returns its text.
func (v *conversation) block(role string, raw json.RawMessage) string {
	kind := v.kind(raw)
	marked, text := false, ""
	switch {
	case kind == "text":
		var b textBlock
		v.strict(kind, raw, &b)
		v.text(role, b.Text)
		marked, text = b.CacheControl != nil, b.Text
	case role == "user" && (kind == "image" || kind == "document"):
		marked = v.media(kind, raw)
	case role == "user" && kind == "tool_result":
		marked, text = v.toolResult(raw)
	case role == "assistant" && kind == "tool_use":
		var b useBlock
		v.strict(kind, raw, &b)
		if b.Input == nil {
			v.wrong("tool_use.input: Input should be a valid dictionary")
		}
		v.pairs.use(b.ID, b.Name)
		marked = b.CacheControl != nil
	case role == "assistant" && (kind == "thinking" || kind == "redacted_thinking"):
		v.thinking(kind, raw)
	default:
		v.wrong("a %s's content has a block of type %q", role, kind)
	}
	if role == "user" && kind != "tool_result" {
		v.pairs.settled("a user's content before its results")
		v.other = true
	}
	v.spoken = v.spoken || role == "assistant" && kind != "thinking" && kind != "redacted_thinking"
	v.unit(role, raw, marked)
	return text
}

func (v *conversation) media(kind string, raw json.RawMessage) bool {
	var b mediaBlock
	v.strict(kind, raw, &b)
	s := b.Source
	ok := s.Type == "url" && s.URL != "" && s.MediaType == "" || s.Type == "base64" && s.Data != "" && s.MediaType != "" ||
		kind == "document" && s.Type == "text" && s.MediaType == "text/plain" && s.Data != ""
	if !ok {
		v.wrong("%s: source %+v", kind, s)
	}
	return b.CacheControl != nil
}

func (v *conversation) toolResult(raw json.RawMessage) (marked bool, text string) {
	var b resultBlock
	v.strict("tool_result", raw, &b)
	if v.other {
		v.wrong("tool_result blocks must come before other content of the user's turn")
	}
	v.pairs.result(b.ToolUseID)
	for _, part := range b.Content {
		switch kind := v.kind(part); kind {
		case "text":
			var p textBlock
			v.strict("tool_result text", part, &p)
			v.text("tool_result", p.Text)
			text += p.Text
		case "image", "document":
			v.media(kind, part)
		case "tool_reference":
			var p struct {
				Type     string `json:"type"`
				ToolName string `json:"tool_name"`
			}
			v.strict(kind, part, &p)
			if !v.loaded[p.ToolName] {
				v.wrong("tool_reference: %q is no deferred tool of the request", p.ToolName)
			}
		default:
			v.wrong("tool_result has a block of type %q", kind)
		}
	}
	return b.CacheControl != nil, text
}

func (v *conversation) thinking(kind string, raw json.RawMessage) {
	var b struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Data      string `json:"data"`
	}
	v.strict(kind, raw, &b)
	sig := b.Signature
	if kind == "redacted_thinking" {
		sig = b.Data
	}
	if !v.server.issued[sig] {
		v.wrong("%s: Invalid signature %q", kind, sig)
	}
	if v.spoken {
		v.wrong("%s stands behind what it led to", kind)
	}
}
