package workspace

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const (
	readLines = 2000 // lines that a Read shows unless told otherwise
	lineCap   = 2000 // bytes of a line that are shown
	imageCap  = 5 << 20
	pdfCap    = 20 << 20
)

type readIn struct {
	Path   string `json:"path" doc:"File to read: absolute, or relative to the project's root." min:"1" alias:"file_path"`
	Offset int    `json:"offset,omitempty" doc:"First line to show, counted from 1." min:"0"`
	Limit  int    `json:"limit,omitempty" doc:"How many lines to show; 2000 unless given." min:"1"`
}

func readTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Read", Family: "files", Groups: []string{preset}, Category: "filesystem",
			AllowedWith: []string{"edit"},
			Aliases:     []string{"read", "read_file", "readFile", "ReadFile", "view", "view_file", "open_file", "cat"},
		},
		Title: "Read a file", Doc: text("read"), Effects: toolview.ReadOnly,
		Subjects: toolview.Subjects(func(in readIn) []toolview.Subject { return paths(in.Path, false) }),
	}, read)
}

func read(_ context.Context, s *state, _ *toolview.Call, in readIn) (*message.Result, error) {
	at, err := s.box.find(in.Path)
	if err != nil {
		return fail(err)
	}
	content, _, err := s.load(at)
	if err != nil {
		return fail(err)
	}
	if kind, mime, most := media(content); kind != "" {
		if len(content) > most {
			return fail(fmt.Errorf("%s is %s of %d bytes; at most %d are shown", at.shown, mime, len(content), most))
		}
		s.note(at.real, stampOf(content))
		return &message.Result{Parts: []message.Part{
			{Kind: message.Text, Text: fmt.Sprintf("%s (%s, %d bytes)", at.shown, mime, len(content))},
			{Kind: kind, MIME: mime, Data: content},
		}}, nil
	}
	if binary(content) {
		return fail(fmt.Errorf("%s is a binary file of %d bytes, which is not shown", at.shown, len(content)))
	}
	shown, err := numbered(content, in.Offset, in.Limit, 4*s.OutputCap)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", at.shown, err))
	}
	s.note(at.real, stampOf(content))
	return message.Say(shown), nil
}

// media says whether a model can look at the content itself, and how much of it.
func media(content []byte) (kind message.Kind, mime string, most int) {
	switch mime = http.DetectContentType(content); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return message.Image, mime, imageCap
	case "application/pdf":
		return message.Document, mime, pdfCap
	}
	return "", "", 0
}

var bom = []byte("\xef\xbb\xbf")

// numbered is part of a text with the numbers of its lines, and a word on what it leaves out.
func numbered(content []byte, offset, limit, most int) (string, error) {
	content = bytes.TrimPrefix(content, bom)
	if len(content) == 0 {
		return "(the file is empty)", nil
	}
	total := bytes.Count(content, []byte("\n"))
	if content[len(content)-1] != '\n' {
		total++
	}
	first := max(offset, 1)
	if first > total {
		return "", fmt.Errorf("offset %d is behind its end: it has %d lines", offset, total)
	}
	if limit <= 0 {
		limit = readLines
	}
	var b strings.Builder
	n := 0
	for line := range bytes.Lines(content) {
		n++
		if n < first {
			continue
		}
		if n >= first+limit || b.Len() > most {
			n--
			break
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		fmt.Fprintf(&b, "%6d\t%s\n", n, clip(line, lineCap))
	}
	if n < total {
		fmt.Fprintf(&b, "(lines %d to %d of %d; continue with offset %d)\n", first, n, total, n+1)
	} else if first > 1 {
		fmt.Fprintf(&b, "(lines %d to %d of %d)\n", first, n, total)
	}
	return b.String(), nil
}

// clip is valid text of at most about n bytes of a line.
func clip(line []byte, n int) string {
	if len(line) <= n {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	cut := n
	for cut > n-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return strings.ToValidUTF8(string(line[:cut]), "\uFFFD") + fmt.Sprintf("… (%d more bytes)", len(line)-cut)
}
