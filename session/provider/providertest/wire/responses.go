package wire

import (
	"encoding/json"
	"net/http"

	"github.com/metaharness/peri/prompt/message"
)

type responsesRequest struct {
	Model           string            `json:"model"`
	Stream          bool              `json:"stream"`
	Store           *bool             `json:"store"`
	Include         []string          `json:"include"`
	PromptCacheKey  string            `json:"prompt_cache_key"`
	MaxOutputTokens int               `json:"max_output_tokens"`
	Reasoning       json.RawMessage   `json:"reasoning"`
	Tools           []json.RawMessage `json:"tools"`
	Input           []json.RawMessage `json:"input"`
}

type breakpoint struct {
	Mode string `json:"mode"`
}

type inputPart struct {
	Type       string      `json:"type"`
	Text       string      `json:"text"`
	Detail     string      `json:"detail"`
	ImageURL   string      `json:"image_url"`
	Filename   string      `json:"filename"`
	FileData   string      `json:"file_data"`
	FileURL    string      `json:"file_url"`
	Breakpoint *breakpoint `json:"prompt_cache_breakpoint"`
}

// responses checks a request of OpenAI's Responses API.
func (c *check) responses(r *http.Request, req *Request) message.Usage {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" {
		c.wrong("%s %s is not POST /v1/responses", r.Method, r.URL.Path)
	}
	var q responsesRequest
	if !c.strict("request", req.Body, &q) {
		return message.Usage{}
	}
	if q.Model == "" || !q.Stream || len(q.Input) == 0 {
		c.wrong("model, stream and input are required")
	}
	if q.Store == nil || *q.Store {
		c.wrong("store: a session keeps its own transcript")
	}
	if len(q.PromptCacheKey) > 64 {
		c.wrong("prompt_cache_key: it is longer than 64")
	}
	c.responsesTools(q.Tools)
	v := items{check: c, pairs: pairs{c: c}, req: req}
	for _, raw := range q.Input {
		v.item(raw)
	}
	v.pairs.settled("input")
	if v.reasoned {
		c.wrong("input: a reasoning item was provided without its required following item")
	}
	req.Turns = len(q.Input)
	lookback := 0
	if len(c.marks) == 0 {
		lookback = -1
	}
	return c.usage(lookback, req)
}

type responsesTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	Strict       *bool           `json:"strict"`
	DeferLoading bool            `json:"defer_loading"`
	Execution    string          `json:"execution"`
}

func (c *check) responsesTools(tools []json.RawMessage) {
	var names []string
	for _, raw := range tools {
		var t responsesTool
		if !c.strict("tools", raw, &t) {
			continue
		}
		c.unit("tool", raw, false)
		if t.Type == "tool_search" {
			if t.Execution != "client" || t.Name != "" || t.Strict != nil {
				c.wrong("tools: tool_search: %s", raw)
			}
			c.schema(t.Type, t.Parameters)
			continue
		}
		c.function(&t, false)
		names = append(names, t.Name)
	}
	c.names(names)
}

func (c *check) function(t *responsesTool, deferred bool) {
	if t.Type != "function" || t.Strict == nil || *t.Strict || t.Execution != "" || t.DeferLoading != deferred {
		c.wrong("tools: %s must be a function with strict false: its schema is not of the strict kind", t.Name)
	}
	c.schema(t.Name, t.Parameters)
}

// search checks a search of the client's, or what it found.
func (v *items) search(kind string, raw json.RawMessage) {
	var i struct {
		Type      string                     `json:"type"`
		CallID    string                     `json:"call_id"`
		Execution string                     `json:"execution"`
		Status    string                     `json:"status"`
		Arguments map[string]json.RawMessage `json:"arguments"`
		Tools     *[]responsesTool           `json:"tools"`
	}
	v.strict(kind, raw, &i)
	if i.Execution != "client" || i.Status != "completed" {
		v.wrong("%s: %s", kind, raw)
	}
	if kind == "tool_search_call" {
		if i.Arguments == nil {
			v.wrong("tool_search_call: arguments are required")
		}
		v.pairs.use(i.CallID, "tool_search")
		v.reasoned = false
	} else {
		if i.Tools == nil {
			v.wrong("tool_search_output: tools are required")
			return
		}
		for j := range *i.Tools {
			v.function(&(*i.Tools)[j], true)
		}
		v.pairs.result(i.CallID)
	}
	v.unit("item", raw, false)
}

// items checks the input in its order.
type items struct {
	*check
	pairs
	req      *Request
	reasoned bool // a reasoning item waits for what it led to
}

func (v *items) item(raw json.RawMessage) {
	switch kind := v.kind(raw); kind {
	case "", "message":
		v.message(raw)
	case "function_call":
		var i struct {
			Type      string `json:"type"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}
		v.strict(kind, raw, &i)
		if !json.Valid([]byte(i.Arguments)) {
			v.wrong("function_call: arguments %q", i.Arguments)
		}
		v.pairs.use(i.CallID, i.Name)
		v.reasoned = false
		v.unit("item", raw, false)
	case "function_call_output":
		var i struct {
			Type   string            `json:"type"`
			CallID string            `json:"call_id"`
			Output []json.RawMessage `json:"output"`
		}
		v.strict(kind, raw, &i)
		v.pairs.result(i.CallID)
		text, marked := v.parts("output", i.Output)
		v.req.Last = text
		v.unit("item", raw, marked)
	case "tool_search_call", "tool_search_output":
		v.search(kind, raw)
	case "reasoning":
		v.reasoning(raw)
	default:
		v.wrong("input has an item of type %q", kind)
	}
}

func (v *items) reasoning(raw json.RawMessage) {
	var i struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Summary []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"summary"`
		EncryptedContent string `json:"encrypted_content"`
	}
	v.strict("reasoning", raw, &i)
	if i.ID == "" || i.Summary == nil || !v.server.issued[i.EncryptedContent] {
		v.wrong("reasoning: The encrypted content could not be verified: %s", raw)
	}
	v.reasoned = true
	v.unit("item", raw, false)
}

func (v *items) message(raw json.RawMessage) {
	var m struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	v.strict("message", raw, &m)
	var parts []json.RawMessage
	if m.Role != "assistant" {
		v.strict("content", m.Content, &parts)
	}
	switch m.Role {
	case "assistant":
		var text string
		if v.strict("content", m.Content, &text) {
			v.text("an assistant's message", text)
		}
		v.reasoned = false
		v.unit("item", raw, false)
	case "user", "developer":
		if m.Role == "user" {
			v.pairs.settled("input before a user's message")
		}
		if len(parts) == 0 {
			v.wrong("input: a message without content")
		}
		text, marked := v.parts(m.Role, parts)
		if m.Role == "user" {
			v.req.Last = text
		}
		if m.Role == "developer" {
			for _, p := range parts {
				_, marked := (&items{check: v.check, req: v.req}).parts(m.Role, []json.RawMessage{p})
				v.unit("developer", p, marked)
			}
			return
		}
		v.unit("item", raw, marked)
	default:
		v.wrong("input: the role %q", m.Role)
	}
}

func (v *items) parts(what string, parts []json.RawMessage) (text string, marked bool) {
	for i, raw := range parts {
		var p inputPart
		if !v.strict(what, raw, &p) {
			continue
		}
		switch p.Type {
		case "input_text":
			if p.Text == "" && what != "output" {
				v.wrong("%s: an empty text", what)
			}
			text += p.Text
		case "input_image":
			if p.Detail == "" || p.ImageURL == "" {
				v.wrong("%s: an image needs detail and image_url", what)
			}
		case "input_file":
			if (p.FileData == "") == (p.FileURL == "") || p.FileData != "" && p.Filename == "" {
				v.wrong("%s: a file needs file_data and filename, or file_url", what)
			}
		default:
			v.wrong("%s: a part of type %q", what, p.Type)
		}
		if p.Breakpoint != nil {
			if p.Breakpoint.Mode != "explicit" {
				v.wrong("%s: a breakpoint of mode %q", what, p.Breakpoint.Mode)
			}
			if i == len(parts)-1 {
				marked = true
			}
		}
	}
	return text, marked
}
