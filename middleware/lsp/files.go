package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxFile    = 8 << 20
	maxWatched = 20_000
)

// document is a file as a server has been told of it.
type document struct {
	version int
	text    string
}

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	at   time.Time
}

// spot finds a path as the model wrote it. Nothing outside of the project is asked about, links included.
func (s *state) spot(path string) (string, error) {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(s.root, abs)
	}
	real, err := filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: there is no such file", path)
	case err != nil:
		return "", fmt.Errorf("%s cannot be looked at", path)
	case !s.holds(real):
		return "", fmt.Errorf("%s is outside of the project's folder %s", path, s.root)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", path)
	case info.Size() > maxFile:
		return "", fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return real, nil
}

func (s *state) holds(real string) bool {
	rel, err := filepath.Rel(s.root, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// show names a path as results do: relative to the project where it is inside.
func (s *state) show(path string) string {
	if s.holds(path) {
		if rel, err := filepath.Rel(s.root, path); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

func uriOf(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/x
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// pathOf is the path of a file's address, "" for another address.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	return filepath.FromSlash(p)
}

// sync tells the server how a file is now, and what else has changed in the project.
func (r *running) sync(ctx context.Context, s *state, exts []string, path string) (text string, err error) {
	if err := r.watch(ctx, s, exts); err != nil {
		return "", err
	}
	for known := range r.docs {
		if known != path {
			if err := r.open(ctx, known); err != nil && ctx.Err() != nil {
				return "", err
			}
		}
	}
	if path == "" {
		return "", nil
	}
	if err := r.open(ctx, path); err != nil {
		return "", err
	}
	return r.docs[path].text, nil
}

// open tells of one file: that it is open, how it has changed, or that it is gone.
func (r *running) open(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	doc := r.docs[path]
	id := map[string]any{"uri": uriOf(path)}
	switch {
	case err != nil:
		if doc != nil {
			delete(r.docs, path)
			_ = r.notify(ctx, "textDocument/didClose", map[string]any{"textDocument": id})
		}
		return fmt.Errorf("the file cannot be read: %w", err)
	case doc == nil:
		r.forget(uriOf(path))
		r.docs[path] = &document{version: 1, text: string(data)}
		id["languageId"], id["version"], id["text"] = languageID(path), 1, string(data)
		return r.notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": id})
	case doc.text != string(data):
		r.forget(uriOf(path))
		doc.version++
		doc.text = string(data)
		id["version"] = doc.version
		return r.notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": id, "contentChanges": []any{map[string]any{"text": doc.text}},
		})
	}
	return nil
}

// forget drops diagnostics of a text that is no more.
func (r *running) forget(uri string) {
	r.mu.Lock()
	delete(r.published, uri)
	r.mu.Unlock()
}

// watch looks for files that were made, changed or removed since the last call: nobody else tells the server.
func (r *running) watch(ctx context.Context, s *state, exts []string) error {
	now := map[string]stamp{}
	_ = filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		name := ""
		if d != nil {
			name = d.Name()
		}
		switch {
		case ctx.Err() != nil || len(now) >= maxWatched:
			return filepath.SkipAll
		case err != nil:
			return nil //nolint:nilerr // what cannot be looked at is not watched
		case d.IsDir():
			if path != s.root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "target") {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && (slices.Contains(exts, strings.ToLower(filepath.Ext(name))) || name == "go.mod" || name == "go.sum"):
			if info, err := d.Info(); err == nil {
				now[path] = stamp{info.Size(), info.ModTime()}
			}
		}
		return nil
	})
	var changes []any
	tell := func(path string, kind int) {
		changes = append(changes, map[string]any{"uri": uriOf(path), "type": kind})
	}
	if r.seen != nil {
		for path, is := range now {
			if was, known := r.seen[path]; !known {
				tell(path, 1)
			} else if was != is {
				tell(path, 2)
			}
		}
		for path := range r.seen {
			if _, there := now[path]; !there {
				tell(path, 3)
			}
		}
	}
	r.seen, r.changed = now, len(changes) > 0
	if len(changes) == 0 {
		return nil
	}
	return r.notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
}

// lineOf is one line of a text, counted from 0, without its end.
func lineOf(text string, n int) (string, bool) {
	for ; n > 0; n-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return "", false
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), true
}

// units is how many UTF-16 units the first characters of a line take.
func units(line string, characters int) int {
	n := 0
	for _, c := range line {
		if characters == 0 {
			break
		}
		characters--
		n += max(1, utf16.RuneLen(c))
	}
	return n
}

// characters is how many characters of a line the first UTF-16 units hold.
func characters(line string, units int) int {
	n := 0
	for _, c := range line {
		if units <= 0 {
			return n
		}
		units -= max(1, utf16.RuneLen(c))
		n++
	}
	return n
}

// place finds the position that a call is about: by its column, or by the name that stands on its line.
func place(text string, in args) (position, error) {
	if in.Line < 1 {
		return position{}, errors.New("`line` is needed, counted from 1")
	}
	line, ok := lineOf(text, in.Line-1)
	if !ok {
		return position{}, fmt.Errorf("the file has no line %d", in.Line)
	}
	p := position{Line: in.Line - 1}
	switch length := utf8.RuneCountInString(line); {
	case in.Column > length+1:
		return p, fmt.Errorf("line %d has %d characters and no column %d: %s", in.Line, length, in.Column, strings.TrimSpace(line))
	case in.Column > 0:
		p.Character = units(line, in.Column-1)
	case in.Query != "":
		i := strings.Index(line, in.Query)
		if i < 0 {
			return p, fmt.Errorf("%q does not stand on line %d: %s", in.Query, in.Line, strings.TrimSpace(line))
		}
		p.Character = units(line, utf8.RuneCountInString(line[:i]))
	default:
		return p, errors.New("`column` is needed, counted from 1, or `query`: the name as it stands on the line")
	}
	return p, nil
}
