package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type args struct {
	Action string `json:"action" doc:"What to ask." enum:"definition,references,hover,symbols,diagnostics"`
	Path   string `json:"path,omitempty" doc:"File, relative to the project." alias:"file_path,file"`
	Line   int    `json:"line,omitempty" doc:"Line, counted from 1." min:"1"`
	Column int    `json:"column,omitempty" doc:"Column, counted from 1 in characters." min:"1" alias:"character"`
	Query  string `json:"query,omitempty" doc:"For symbols: what to look for; else: the name on the line, in place of a column." max:"1000"`
}

func tool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl:  toolview.Decl{Name: "LSP", Family: "lsp", Category: "code"},
		Title: "Ask a language server", Doc: strings.TrimSpace(doc), Effects: toolview.ReadOnly,
		Subjects: toolview.Subjects(func(in args) []toolview.Subject {
			if in.Path == "" {
				return nil
			}
			return []toolview.Subject{{Kind: toolview.Path, Value: filepath.Clean(in.Path), ReadOnly: true}}
		}),
	}, ask)
}

const (
	// maxLines bounds the lines of one result.
	maxLines = 200
	maxWidth = 300
	maxHover = 20_000
	// settle is how long a server that says it is busy is waited for.
	settle = 15 * time.Second
	// diagnosed is how long diagnostics of a file are waited for.
	diagnosed = 10 * time.Second
	// recheck is how long a server may look at a file anew after others have changed.
	recheck = 2 * time.Second
)

func ask(ctx context.Context, s *state, _ *toolview.Call, in args) (*message.Result, error) {
	path := ""
	if in.Path != "" {
		real, err := s.spot(in.Path)
		if err != nil {
			return message.Fail(err.Error()), nil
		}
		path = real
	}
	one, err := s.choose(in, path)
	if err != nil {
		return message.Fail(err.Error()), nil
	}
	timed, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	var out string
	err = one.with(timed, func(ctx context.Context, r *running) error {
		text, err := r.sync(ctx, s, one.extensions(), path)
		if err != nil {
			return err
		}
		r.settled(ctx, settle)
		out, err = s.answer(ctx, r, in, path, text)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return message.Fail(fmt.Sprintf("The language server %s did not answer within %s.", one.Name, s.opt.Timeout)), nil
	case err != nil:
		return message.Fail(err.Error()), nil
	}
	return message.Say(out), nil
}

// choose finds the server to ask.
func (s *state) choose(in args, path string) (*server, error) {
	if path == "" {
		if in.Action != "symbols" {
			return nil, fmt.Errorf("`path` is needed for %s", in.Action)
		}
		if in.Query == "" {
			return nil, errors.New("`query` or `path` is needed for symbols")
		}
		for _, one := range s.servers {
			if one.path != "" {
				return one, nil
			}
		}
	}
	if one := s.serverFor(path); one != nil {
		return one, nil
	}
	var known []string
	for _, one := range s.servers {
		if one.path != "" {
			known = append(known, one.extensions()...)
		}
	}
	return nil, fmt.Errorf("no language server is set up for %s; there is one for %s", s.show(path), strings.Join(known, " "))
}

func (s *state) answer(ctx context.Context, r *running, in args, path, text string) (string, error) {
	id := map[string]any{"uri": uriOf(path)}
	switch in.Action {
	case "symbols":
		return s.symbols(ctx, r, in, path, text)
	case "diagnostics":
		return s.diagnostics(ctx, r, path, text)
	}
	at, err := place(text, in)
	if err != nil {
		return "", err
	}
	params := map[string]any{"textDocument": id, "position": at}
	if in.Action == "hover" {
		var h *hover
		if err := r.call(ctx, "textDocument/hover", params, &h); err != nil {
			return "", err
		}
		if h == nil || h.text() == "" {
			return "Nothing is known of what stands there.", nil
		}
		return cut(h.text(), maxHover), nil
	}
	if in.Action == "references" {
		params["context"] = map[string]any{"includeDeclaration": true}
	}
	var found locations
	if err := r.call(ctx, "textDocument/"+in.Action, params, &found); err != nil {
		return "", err
	}
	lines := make([]string, 0, len(found))
	texts := map[string]string{}
	for i := range found {
		uri, at := found[i].at()
		lines = append(lines, s.line(texts, uri, at, ""))
	}
	if in.Action == "references" {
		slices.Sort(lines)
	}
	return list(lines, "Nothing was found for what stands there."), nil
}

// line is a position as `path:line:column: text`. note stands in place of the line's text.
func (s *state) line(texts map[string]string, uri string, at position, note string) string {
	path := pathOf(uri)
	if path == "" {
		return strings.TrimSuffix(fmt.Sprintf("%s:%d:%d: %s", uri, at.Line+1, at.Character+1, note), ": ")
	}
	// Only files of the project are read: a server may name any.
	text, known := texts[path]
	if !known {
		if real, err := s.spot(path); err == nil {
			if b, err := os.ReadFile(real); err == nil {
				text = string(b)
			}
		}
		texts[path] = text
	}
	line, _ := lineOf(text, at.Line)
	column := at.Character + 1
	if text != "" {
		column = characters(line, at.Character) + 1
	}
	if note == "" {
		note = strings.TrimSpace(line)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s:%d:%d: %s", s.show(path), at.Line+1, column, cut(note, maxWidth)), ": ")
}

func (s *state) symbols(ctx context.Context, r *running, in args, path, text string) (string, error) {
	var found []symbol
	var err error
	if path == "" {
		err = r.call(ctx, "workspace/symbol", map[string]any{"query": in.Query}, &found)
	} else {
		err = r.call(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}, &found)
	}
	if err != nil {
		return "", err
	}
	texts := map[string]string{path: text}
	var lines []string
	var add func(all []symbol, depth int)
	add = func(all []symbol, depth int) {
		for i := range all {
			x := &all[i]
			uri, at := x.Location.at()
			if x.Selection != nil {
				uri, at = uriOf(path), x.Selection.Start
			}
			name := strings.TrimSpace(x.kind() + " " + x.Name)
			if x.Detail != "" {
				name += " " + x.Detail
			}
			if x.Container != "" {
				name += " in " + x.Container
			}
			if path == "" || in.Query == "" || strings.Contains(strings.ToLower(x.Name), strings.ToLower(in.Query)) {
				lines = append(lines, s.line(texts, uri, at, strings.Repeat("  ", depth)+name))
			}
			if depth < 20 {
				add(x.Children, depth+1)
			}
		}
	}
	add(found, 0)
	return list(lines, "There is no such symbol."), nil
}

// diagnostics waits for what the server has to say about the file as it is now.
func (s *state) diagnostics(ctx context.Context, r *running, path, text string) (string, error) {
	uri := uriOf(path)
	doc := r.docs[path]
	if r.changed {
		// What changed elsewhere may bring other diagnostics under the same version.
		r.until(ctx, recheck, func() bool { return false })
	}
	var got published
	came := r.until(ctx, diagnosed, func() bool {
		p, ok := r.published[uri]
		got = p
		return ok && (p.Version == nil || *p.Version == doc.version)
	})
	if !came {
		if r.dead() {
			return "", errDied
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return "The language server said nothing about the file.", nil
	}
	texts := map[string]string{path: text}
	var lines []string
	for i := range got.Diagnostics {
		d := &got.Diagnostics[i]
		note := d.severity() + ": " + strings.Join(strings.Fields(d.Message), " ")
		if d.Source != "" {
			note += " (" + d.Source + ")"
		}
		lines = append(lines, s.line(texts, uri, d.Range.Start, note))
	}
	return list(lines, "The file has no errors and no warnings."), nil
}

func list(lines []string, none string) string {
	if len(lines) == 0 {
		return none
	}
	more := ""
	if len(lines) > maxLines {
		more = fmt.Sprintf("\n[%d more are left out]", len(lines)-maxLines)
		lines = lines[:maxLines]
	}
	return strings.Join(lines, "\n") + more
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
