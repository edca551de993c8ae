package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// result is what a model reads of what a tool returned: its text within the cap, its media as they are.
func (s *server) result(c *toolview.Call, r *sdk.CallToolResult) *message.Result {
	out := &message.Result{Error: r.IsError}
	for _, piece := range r.Content {
		out.Parts = append(out.Parts, parts(piece)...)
	}
	if r.StructuredContent != nil {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			out.Structured = raw
			if len(out.Parts) == 0 {
				out.Parts = []message.Part{text(string(raw))}
			}
		}
	}
	if len(out.Parts) == 0 {
		out.Parts = []message.Part{text("(the tool returned nothing)")}
	}
	s.hub.fit(out, c.Name())
	return out
}

func text(t string) message.Part {
	return message.Part{Kind: message.Text, Text: strings.ToValidUTF8(t, "\uFFFD")}
}

// parts are one piece of content as a model is given it.
func parts(piece sdk.Content) []message.Part {
	switch c := piece.(type) {
	case *sdk.TextContent:
		return []message.Part{text(c.Text)}
	case *sdk.ImageContent:
		return []message.Part{{Kind: message.Image, MIME: c.MIMEType, Data: c.Data}}
	case *sdk.AudioContent:
		return []message.Part{{Kind: message.Document, MIME: c.MIMEType, Data: c.Data}}
	case *sdk.ResourceLink:
		line := "[resource " + c.URI
		for _, more := range []string{c.Name, c.MIMEType, c.Description} {
			if more != "" {
				line += ", " + more
			}
		}
		return []message.Part{text(line + "]")}
	case *sdk.EmbeddedResource:
		return contents(c.Resource)
	}
	return []message.Part{text(fmt.Sprintf("[content of the kind %T, which is not understood]", piece))}
}

// contents are a resource as a model is given it.
func contents(r *sdk.ResourceContents) []message.Part {
	if r == nil {
		return nil
	}
	head := "[resource " + r.URI
	if r.MIMEType != "" {
		head += ", " + r.MIMEType
	}
	head += "]"
	switch {
	case r.Blob == nil:
		return []message.Part{text(head + "\n" + r.Text)}
	case strings.HasPrefix(r.MIMEType, "image/"):
		return []message.Part{text(head), {Kind: message.Image, MIME: r.MIMEType, Data: r.Blob}}
	case strings.HasPrefix(r.MIMEType, "text/") && utf8.Valid(r.Blob):
		return []message.Part{text(head + "\n" + string(r.Blob))}
	}
	return []message.Part{text(head), {Kind: message.Document, MIME: r.MIMEType, Data: r.Blob}}
}

// fit keeps the text of a result within the cap: its head and its tail, with the place of the whole between them. Media
// stay, where they stood.
func (h *hub) fit(r *message.Result, name string) {
	total := 0
	for i := range r.Parts {
		if r.Parts[i].Kind == message.Text {
			total += len(r.Parts[i].Text)
		}
	}
	limit := h.opt.OutputCap
	if total <= limit {
		return
	}
	where, err := h.spill.save(h.env.Session, name, r.Parts)
	note := fmt.Sprintf("\n[… %d of %d bytes are left out here. The whole text is in %s …]\n", total-limit, total, where)
	if err != nil {
		note = fmt.Sprintf("\n[… %d of %d bytes are left out here, and could not be kept: %v …]\n", total-limit, total, err)
	}
	head, tail := limit/2, limit-limit/2
	kept := make([]message.Part, 0, len(r.Parts))
	noted := false
	at := 0
	for _, p := range r.Parts {
		if p.Kind != message.Text {
			kept = append(kept, p)
			continue
		}
		from, to := at, at+len(p.Text)
		at = to
		front := p.Text[:cut(p.Text, min(max(head-from, 0), len(p.Text)))]
		back := p.Text[cut(p.Text, min(max(total-tail-from, 0), len(p.Text))):]
		if to <= head {
			back = ""
		}
		if !noted && to > head {
			front, noted = front+note, true
		}
		if front+back != "" {
			p.Text = front + back
			kept = append(kept, p)
		}
	}
	r.Parts = kept
}

// cut moves n back to where a character begins.
func cut(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
