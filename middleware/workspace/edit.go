package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type editIn struct {
	Path string `json:"path" doc:"File to change: absolute, or relative to the project's root." min:"1" alias:"file_path"`
	Old  string `json:"old" doc:"The text to replace, exactly as it stands in the file, without line numbers." alias:"old_string"`
	New  string `json:"new" doc:"The text to put in its place." alias:"new_string"`
	All  bool   `json:"all,omitempty" doc:"Replace every occurrence; otherwise there must be exactly one." alias:"replace_all"`
}

func editTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Edit", Family: "files", Groups: []string{preset}, Category: "filesystem",
			Aliases: []string{"edit", "edit_file", "editFile", "EditFile", "str_replace", "replace", "replace_in_file", "search_replace"},
		},
		Title: "Edit a file", Doc: text("edit"), Effects: toolview.Edits,
		Subjects: toolview.Subjects(func(in editIn) []toolview.Subject { return paths(in.Path, true) }),
	}, edit)
}

func edit(_ context.Context, s *state, _ *toolview.Call, in editIn) (*message.Result, error) {
	switch {
	case in.Old == "":
		return fail(errors.New("`old` is empty: give the text that is to be replaced; a new file is written, not edited"))
	case plain(in.Old) == plain(in.New):
		return fail(errors.New("`old` and `new` are the same: nothing would change"))
	}
	at, err := s.target(in.Path)
	if err != nil {
		return fail(err)
	}
	defer s.shared.locks.lock(at.real)()
	raw, info, err := s.load(at)
	if err != nil {
		return fail(err)
	}
	if binary(raw) {
		return fail(fmt.Errorf("%s is a binary file, which is not edited", at.shown))
	}
	if err := s.stale(at, raw); err != nil {
		return fail(err)
	}
	f := parse(raw)
	spans, err := f.spans(in.Old, in.All)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", at.shown, err))
	}
	content := f.rewrite(spans, in.New)
	if err := replace(at, content, info); err != nil {
		return fail(err)
	}
	// Replacing a part is no reading of the whole: what was unknown stays so.
	if _, known := s.knows(at.real); known {
		s.note(at.real, stampOf(content))
	}
	diff, err := f.diff(at.shown, spans, in.New)
	if err != nil {
		return nil, fmt.Errorf("workspace: diff of %s: %w", at.shown, err)
	}
	return message.Say(shorten(diff, s.OutputCap)), nil
}

// body is a text file with its line endings taken apart, so that a model which writes \n meets one that holds \r\n.
type body struct {
	bom   []byte
	text  string // every \r\n as \n
	crlf  []int  // where in text those \n stand
	usual string // the line ending of what is put in
}

func plain(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func parse(raw []byte) *body {
	f := &body{usual: "\n"}
	if bytes.HasPrefix(raw, bom) {
		f.bom, raw = bom, raw[len(bom):]
	}
	s := string(raw)
	for from := 0; ; {
		i := strings.Index(s[from:], "\r\n")
		if i < 0 {
			break
		}
		from += i
		f.crlf = append(f.crlf, from-len(f.crlf))
		from += 2
	}
	f.text = plain(s)
	if 2*len(f.crlf) > strings.Count(f.text, "\n") {
		f.usual = "\r\n"
	}
	return f
}

// span is a stretch of body.text.
type span struct{ from, to int }

// spans finds what is to be replaced. Its errors are for the model.
func (f *body) spans(old string, all bool) ([]span, error) {
	old = plain(old)
	var out []span
	for from := 0; ; {
		i := strings.Index(f.text[from:], old)
		if i < 0 {
			break
		}
		out = append(out, span{from + i, from + i + len(old)})
		from += i + 1
		if all {
			from += len(old) - 1 // what is replaced does not overlap; what must be unique must not do so either
		}
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("`old` does not stand in it" + f.hint(old))
	case len(out) > 1 && !all:
		lines := make([]string, 0, 10)
		for _, s := range out[:min(len(out), cap(lines))] {
			lines = append(lines, fmt.Sprint(f.line(s.from)))
		}
		return nil, fmt.Errorf("`old` stands in it %d times (lines %s): give more of what surrounds it, or set `all`", len(out), strings.Join(lines, ", "))
	}
	return out, nil
}

func (f *body) line(at int) int { return 1 + strings.Count(f.text[:at], "\n") }

// hint says where the text stands when white space does not count.
func (f *body) hint(old string) string {
	wanted := strings.Split(strings.Trim(old, "\n"), "\n")
	lines := strings.Split(f.text, "\n")
	for i := range wanted {
		wanted[i] = strings.Join(strings.Fields(wanted[i]), " ")
	}
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	if strings.Join(wanted, "") == "" {
		return ""
	}
	for i := 0; i+len(wanted) <= len(lines); i++ {
		same := true
		for j := 0; same && j < len(wanted); j++ {
			same = lines[i+j] == wanted[j]
		}
		if same {
			return fmt.Sprintf(": line %d differs from it in white space alone", i+1)
		}
	}
	return ": read the file again and copy the text without its line numbers"
}

// rewrite is the file with the spans replaced. What stands outside of them keeps its bytes.
func (f *body) rewrite(spans []span, put string) []byte {
	put = strings.ReplaceAll(plain(put), "\n", f.usual)
	out := append([]byte(nil), f.bom...)
	at := 0
	for _, s := range spans {
		out = append(f.raw(out, at, s.from), put...)
		at = s.to
	}
	return f.raw(out, at, len(f.text))
}

// raw appends a stretch of the text with the line endings that the file has there.
func (f *body) raw(out []byte, from, to int) []byte {
	for i := sort.SearchInts(f.crlf, from); i < len(f.crlf) && f.crlf[i] < to; i++ {
		out = append(append(out, f.text[from:f.crlf[i]]...), "\r\n"...)
		from = f.crlf[i] + 1
	}
	return append(out, f.text[from:to]...)
}

// diff is what the replacement changes, as a unified diff.
func (f *body) diff(name string, spans []span, put string) (string, error) {
	edits := make([]udiff.Edit, len(spans))
	for i, s := range spans {
		edits[i] = udiff.Edit{Start: s.from, End: s.to, New: plain(put)}
	}
	d, err := udiff.ToUnified(name, name, f.text, edits, udiff.DefaultContextLines)
	return strings.ToValidUTF8(d, "\uFFFD"), err
}
