package agentsmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxBytes bounds what one file may add to the prompt of every request.
const maxBytes = 64 << 10

const (
	agents = "AGENTS.md"
	claude = "CLAUDE.md"
)

// document is one file of guidance as the prompt shows it.
type document struct {
	name, head, text string
}

// project reads the project's guidance. AGENTS.md is the name that tools share, so it goes before CLAUDE.md; either may
// consist of nothing but a reference to the other.
func project(files fs.FS, notice func(string, ...any)) (document, bool) {
	first, hasFirst := read(files, agents, agents, notice)
	second, hasSecond := read(files, claude, claude, notice)
	if hasFirst && refersTo(first.text, claude) {
		hasFirst = false
	}
	if hasSecond && refersTo(second.text, agents) {
		hasSecond = false
	}
	switch {
	case hasFirst:
		if hasSecond && second.text != first.text {
			notice("%s is not read: %s is there and goes before it", claude, agents)
		}
	case hasSecond:
		first = second
	default:
		return document{}, false
	}
	first.head = fmt.Sprintf("From the project's `%s`:", first.name)
	return first, true
}

// own reads the user's AGENTS.md. The folder is the user's, so a link there may lead anywhere.
func own(home string, notice func(string, ...any)) (document, bool) {
	d, ok := read(os.DirFS(home), agents, filepath.Join(home, agents), notice)
	d.head = fmt.Sprintf("From the user's own `%s`, for every project:", agents)
	return d, ok
}

// refersTo reports whether a text is nothing but the import of another file.
func refersTo(text, name string) bool {
	ref, ok := strings.CutPrefix(strings.TrimSpace(text), "@")
	return ok && strings.TrimPrefix(ref, "./") == name
}

// read takes one file. A missing or blank one is no guidance; one that cannot be used is reported under label.
func read(files fs.FS, name, label string, notice func(string, ...any)) (document, bool) {
	raw, size, err := head(files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return document{}, false
	case err != nil:
		notice("%s is not read: %v", label, err)
		return document{}, false
	}
	raw, err = clean(raw, size > maxBytes)
	if err != nil {
		notice("%s is not read: %v", label, err)
		return document{}, false
	}
	text := strings.Trim(string(raw), "\n")
	if strings.TrimSpace(text) == "" {
		return document{}, false
	}
	if size > maxBytes {
		notice("%s has %d bytes: only its first %d are in the prompt", label, size, len(text))
		text += fmt.Sprintf("\n\n[`%s` goes on: %d bytes, of which %d are shown here]", name, size, len(text))
	}
	return document{name: name, text: text}, true
}

// head returns at most maxBytes of a regular file, and how large it is.
func head(files fs.FS, name string) ([]byte, int64, error) {
	// Stat first: opening a pipe could wait for ever.
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is not a regular file")
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, 0, err
	}
	size := max(info.Size(), int64(len(raw)))
	return raw[:min(len(raw), maxBytes)], size, nil
}

// clean makes the same text of the same file on every machine: no byte order mark, lines end in LF. A text that was
// cut ends with its last whole line.
func clean(raw []byte, cut bool) ([]byte, error) {
	text := strings.TrimPrefix(string(raw), "\ufeff")
	if cut {
		if i := strings.LastIndexByte(text, '\n'); i > 0 {
			text = text[:i]
		} else {
			text = whole(text)
		}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("it is not UTF-8 text: save it as UTF-8")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return []byte(strings.ReplaceAll(text, "\r", "\n")), nil
}

// whole drops the bytes of a character that a cut has split.
func whole(text string) string {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
