package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/lower"
	"github.com/metaharness/peri/toolview"
)

// responsesForm writes requests of the Responses API. It belongs to one request.
type responsesForm struct {
	model  *model
	native *lower.Native // nil = deferred tools stay with the tool that runs them
}

func newResponsesForm(m *model, r *middleware.Request) *responsesForm {
	f := &responsesForm{model: m}
	if m.opt.NativeSearch {
		f.native = lower.NewNative(r.View)
	}
	return f
}

func (f *responsesForm) path() string { return "responses" }

// Mark ends a cached prefix, for the models that know of such.
func (f *responsesForm) Mark() string {
	if !marks(f.model.id) {
		return ""
	}
	return `,"prompt_cache_breakpoint":{"mode":"explicit"}`
}

// family cuts a model's name into its family and version: gpt-5.6-mini is gpt, 5, 6.
func family(id string) (name string, major, minor int) {
	id = strings.TrimPrefix(id, "ft:")
	name, rest, _ := strings.Cut(id, "-")
	version, _, _ := strings.Cut(rest, "-")
	first, second, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		major = 0
		for _, c := range first { // 4o
			if c < '0' || c > '9' {
				break
			}
			major = major*10 + int(c-'0')
		}
	}
	minor, _ = strconv.Atoi(second)
	return name, major, minor
}

// marks reports whether a model takes breakpoints: those before gpt-5.6 refuse them.
func marks(id string) bool {
	name, major, minor := family(id)
	switch name {
	case "gpt":
		return major > 5 || major == 5 && minor >= 6
	case "chatgpt", "o1", "o3", "o4", "codex":
		return false
	}
	return true
}

// reasons reports whether a model gives its reasoning out, encrypted: the others refuse to be asked for it.
func reasons(id string) bool {
	name, major, _ := family(id)
	return name != "chatgpt" && (name != "gpt" || major >= 5)
}

func (f *responsesForm) request(memo *lower.Memo, r *middleware.Request, more []*message.Message) []byte {
	tail := lower.Tail(r.Tail)
	b := memo.Write(r, f, 2*len(tail)+256)
	prev := r.Messages[len(r.Messages)-1]
	if tail != "" {
		b, _ = f.Message(b, prev, message.Of(message.User, tail))
	}
	for _, m := range more {
		b, _ = f.Message(b, prev, m)
	}
	return append(lower.Quote(append(b, `],"prompt_cache_key":`...), f.key(r)), '}')
}

// key sends the requests of one conversation to one cache, also after a resume.
func (f *responsesForm) key(r *middleware.Request) string {
	const enough = 4 << 10
	first := r.Messages[0].Text()
	agent := ""
	if r.View != nil {
		agent = r.View.Agent()
	}
	sum := sha256.Sum256([]byte(f.model.id + "\x00" + agent + "\x00" + first[:min(len(first), enough)]))
	return "peri-" + hex.EncodeToString(sum[:16])
}

func (f *responsesForm) Head(r *middleware.Request) []byte {
	o := &f.model.opt
	b := lower.Quote([]byte(`{"model":`), f.model.id)
	b = append(b, `,"stream":true,"store":false`...)
	if reasons(f.model.id) {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	if o.Effort != "" {
		b = append(lower.Quote(append(b, `,"reasoning":{"effort":`...), o.Effort), `,"summary":"auto"}`...)
	}
	if o.MaxTokens > 0 {
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(o.MaxTokens), 10)
	}
	if tools := f.native.Direct(r.View); len(tools) > 0 {
		b = append(b, `,"tools":[`...)
		for _, t := range tools {
			if f.native.Searches(t.Name) {
				b = searchTool(b, t)
				continue
			}
			b = function(b, t, false)
		}
		b = append(b, ']')
	}
	b = append(b, `,"input":[`...)
	open := false
	for i := range r.System {
		s := &r.System[i]
		if lower.Blank(s.Text) {
			continue
		}
		if !open {
			// Instructions can hold no breakpoint.
			b, open = append(b, `{"type":"message","role":"developer","content":[`...), true
		}
		b = lower.Quote(append(lower.Next(b), `{"type":"input_text","text":`...), s.Text)
		if s.EndsCache {
			b = append(b, f.Mark()...)
		}
		b = append(b, '}')
	}
	if open {
		b = append(b, "]}"...)
	}
	return b
}

func function(b []byte, t *toolview.Tool, deferred bool) []byte {
	schema, note := lower.Schema(t.Schema)
	doc := t.Doc
	if note != "" {
		doc += "\n\n" + note
	}
	b = lower.Quote(append(lower.Next(b), `{"type":"function","name":`...), t.Name)
	b = lower.Quote(append(b, `,"description":`...), doc)
	b = append(append(append(b, `,"parameters":`...), schema...), `,"strict":false`...)
	if deferred {
		b = append(b, `,"defer_loading":true`...)
	}
	return append(b, '}')
}

func searchTool(b []byte, t *toolview.Tool) []byte {
	schema, _ := lower.Schema(t.Schema)
	b = lower.Quote(append(lower.Next(b), `{"type":"tool_search","execution":"client","description":`...), t.Doc)
	return append(append(append(b, `,"parameters":`...), schema...), '}')
}

// Message appends the items of one message.
func (f *responsesForm) Message(b []byte, prev, m *message.Message) ([]byte, int) {
	switch m.Role {
	case message.Assistant:
		return f.assistant(b, m), -1
	case message.Tool:
		mark := -1
		for i := range m.Parts {
			if r := m.Parts[i].Result; r != nil {
				b, mark = f.result(b, prev, r)
			}
		}
		return b, mark
	}
	start := len(b)
	b = append(lower.Next(b), `{"type":"message","role":"user","content":[`...)
	empty := len(b)
	for i := range m.Parts {
		b = content(b, &m.Parts[i], "")
	}
	if len(b) == empty {
		return b[:start], -1
	}
	return append(b, "]}"...), len(b) - 1
}

func (f *responsesForm) assistant(b []byte, m *message.Message) []byte {
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == message.Reasoning:
			// The API wants what a reasoning led to right behind it.
			if i+1 < len(m.Parts) && f.model.own(m) {
				b = reasoning(b, p)
			}
		case p.Kind == message.ToolUse && p.Use != nil:
			b = f.use(b, p.Use)
		case lower.Kind(p) != "":
			b = append(lower.Next(b), `{"type":"message","role":"assistant","content":`...)
			b = append(lower.Quote(b, lower.Words(p)), '}')
		}
	}
	return b
}

func (f *responsesForm) use(b []byte, u *message.Use) []byte {
	if f.native.Searches(u.Name) {
		b = lower.Quote(append(lower.Next(b), `{"type":"tool_search_call","call_id":`...), lower.ID(u.ID))
		b = append(append(b, `,"execution":"client","status":"completed","arguments":`...), lower.Args(u.Args)...)
		return append(b, '}')
	}
	name, args := f.native.Direction(u)
	b = lower.Quote(append(lower.Next(b), `{"type":"function_call","call_id":`...), lower.ID(u.ID))
	b = lower.Quote(append(b, `,"name":`...), lower.Name(name))
	return append(lower.Quote(append(b, `,"arguments":`...), string(lower.Args(args))), '}')
}

// reasoning replays what read kept: an id, a colon and the encrypted text.
func reasoning(b []byte, p *message.Part) []byte {
	id, encrypted, ok := strings.Cut(p.Signature, ":")
	if !ok || encrypted == "" {
		return b
	}
	b = lower.Quote(append(lower.Next(b), `{"type":"reasoning","id":`...), id)
	b = append(b, `,"summary":[`...)
	if p.Text != "" {
		b = append(lower.Quote(append(b, `{"type":"summary_text","text":`...), p.Text), '}')
	}
	return append(lower.Quote(append(b, `],"encrypted_content":`...), encrypted), '}')
}

func (f *responsesForm) result(b []byte, asked *message.Message, r *message.Result) ([]byte, int) {
	if f.native.Answers(asked, r) {
		return f.found(b, r), -1
	}
	b = lower.Quote(append(lower.Next(b), `{"type":"function_call_output","call_id":`...), lower.ID(r.UseID))
	b = append(b, `,"output":[`...)
	empty := len(b)
	parts := lower.Parts(r)
	for i := range parts {
		failed := ""
		if r.Error && len(b) == empty {
			failed = failedWord
		}
		b = content(b, &parts[i], failed)
	}
	if len(b) == empty {
		b = append(b, `{"type":"input_text","text":"(no output)"}`...)
	}
	return append(b, "]}"...), len(b) - 1
}

// failedWord says what the API has no field for.
const failedWord = "[error] "

func (f *responsesForm) found(b []byte, r *message.Result) []byte {
	b = lower.Quote(append(lower.Next(b), `{"type":"tool_search_output","call_id":`...), lower.ID(r.UseID))
	b = append(b, `,"execution":"client","status":"completed","tools":[`...)
	for _, t := range f.native.Found(r) {
		b = function(b, t, true)
	}
	return append(b, "]}"...)
}

func content(b []byte, p *message.Part, before string) []byte {
	switch lower.Kind(p) {
	case "text":
		b = append(lower.Next(b), `{"type":"input_text","text":`...)
		return append(lower.Quote(b, before+lower.Words(p)), '}')
	case "image":
		b = append(lower.Next(b), `{"type":"input_image","detail":"auto","image_url":`...)
		return append(lower.DataURL(b, p), '}')
	case "pdf":
		if len(p.Data) == 0 {
			return append(lower.Quote(append(lower.Next(b), `{"type":"input_file","file_url":`...), p.URI), '}')
		}
		b = append(lower.Next(b), `{"type":"input_file","filename":"document.pdf","file_data":`...)
		return append(lower.DataURL(b, p), '}')
	}
	return b
}
