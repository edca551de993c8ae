package lower

import (
	"encoding/base64"
	"strings"

	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
)

// DataURL appends a part's data as a quoted data URL, or the quoted URI that it has instead.
func DataURL(dst []byte, p *message.Part) []byte {
	if len(p.Data) == 0 {
		return Quote(dst, p.URI)
	}
	dst = append(Escape(append(dst, `"data:`...), mime(p)), ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(dst, p.Data), '"')
}

// Base64 appends a part's data as a quoted string.
func Base64(dst []byte, p *message.Part) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), p.Data), '"')
}

func mime(p *message.Part) string {
	if p.MIME != "" {
		return p.MIME
	}
	return "application/octet-stream"
}

// Kind says how a part can be sent, whatever it was declared to be: an image of a kind that every vendor reads, a PDF,
// or text. "" = there is nothing to send.
func Kind(p *message.Part) string {
	base, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	switch base = strings.TrimSpace(base); {
	case p.Kind == message.Text:
		if Blank(p.Text) {
			return ""
		}
		return "text"
	case p.Kind != message.Image && p.Kind != message.Document, len(p.Data) == 0 && p.URI == "":
		return ""
	case base == "image/jpeg", base == "image/png", base == "image/gif", base == "image/webp":
		return "image"
	case base == "application/pdf":
		return "pdf"
	case len(p.Data) == 0 && web(p.URI) && p.Kind == message.Image:
		return "image"
	case len(p.Data) == 0 && web(p.URI):
		return "pdf"
	}
	return "text"
}

// Words is the text of a part that is sent as text: its own, that of a document, or what it was that cannot be sent.
func Words(p *message.Part) string {
	base, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	switch {
	case p.Kind == message.Text:
		return p.Text
	case len(p.Data) > 0 && (strings.HasPrefix(base, "text/") || base == "application/json" || base == "application/xml" ||
		base == "application/yaml" || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml")):
		if text := strings.ToValidUTF8(string(p.Data), "\uFFFD"); !Blank(text) {
			return text
		}
		return "[an empty document]"
	case len(p.Data) == 0:
		return "[" + string(p.Kind) + " at " + p.URI + ", which this model cannot open]"
	}
	return "[" + string(p.Kind) + " of type " + mime(p) + ", which this model cannot read]"
}

func web(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}

// Parts are what of a result a model reads. One that has structure alone is read as JSON.
func Parts(r *message.Result) []message.Part {
	if len(r.Parts) == 0 && len(r.Structured) > 0 {
		return []message.Part{{Kind: message.Text, Text: string(Args(r.Structured))}}
	}
	return r.Parts
}

// Tail is the text that goes behind the last message; "" = there is none.
func Tail(parts []prompt.Contribution) string {
	var b strings.Builder
	for _, c := range parts {
		if Blank(c.Text) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(c.Text)
	}
	return b.String()
}

// System is a system prompt as one text, for an API that has no blocks.
func System(blocks []prompt.Block) string {
	var b strings.Builder
	for _, s := range blocks {
		if Blank(s.Text) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(s.Text)
	}
	return b.String()
}
