package meta

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxOverride  = 64 << 10  // bytes of one file
	maxOverrides = 256 << 10 // bytes of all texts together
)

// Folder is one folder of override files, named <segment>.md. FS should be that of an os.Root, which refuses links
// that leave the folder; Dir is what people are shown.
type Folder struct {
	Layer, Dir string
	FS         fs.FS
}

// Documents are the folders, low to high: the highest that has a segment's file gives its text.
type Documents []Folder

// loader counts the bytes of one Freeze.
type loader struct{ total int }

// load gives the text of one segment, or a zero Override and the reason.
func (l *loader) load(docs Documents, d decided) (Override, []Diagnostic) {
	name := d.Key + ".md"
	refuse := func(code string, origin Origin, message, suggestion string) (Override, []Diagnostic) {
		return Override{}, []Diagnostic{{
			Severity: SeverityWarning, Code: code, Key: d.Key, Origin: origin,
			Message: message + "; the built-in text is kept", Suggestion: suggestion,
		}}
	}
	i := slices.IndexFunc(docs.reversed(), func(f Folder) bool { return f.has(name) })
	if i < 0 {
		return refuse("override_missing", d.Origin, fmt.Sprintf("%s is true but there is no %s%s", d.Key, name, docs.in()),
			"write that file, or "+d.Key+": false")
	}
	folder := docs.reversed()[i]
	origin := Origin{Layer: folder.Layer, File: path.Join(folder.Dir, name)}
	raw, err := folder.read(name)
	if err != nil {
		return refuse("override_unreadable", origin, err.Error(), "make it a regular file inside "+folder.Dir)
	}
	text, bad := clean(raw)
	if bad == nil {
		bad = checkPlaceholders(text, d.key)
	}
	if bad == nil && l.total+len(text) > maxOverrides {
		bad = &Error{Message: fmt.Sprintf("all overrides together are over %d KiB", maxOverrides>>10), Suggestion: "shorten them"}
	}
	if bad != nil {
		origin.Line, origin.Column = bad.Origin.Line, bad.Origin.Column
		return refuse("override_refused", origin, bad.Message, bad.Suggestion)
	}
	l.total += len(text)
	var diags []Diagnostic
	if d.key.Safety {
		diags = []Diagnostic{{
			Severity: SeverityInfo, Code: "override_safety", Key: d.Key, Origin: origin,
			Message: d.Key + " is a safety text and is replaced; what is enforced does not change",
		}}
	}
	return Override{text, origin}, diags
}

func (docs Documents) reversed() []Folder {
	out := slices.Clone(docs)
	slices.Reverse(out)
	return out
}

func (docs Documents) in() string {
	if len(docs) == 0 {
		return ", and there is no folder for it"
	}
	var dirs []string
	for _, f := range docs.reversed() {
		dirs = append(dirs, f.Dir)
	}
	return " in " + strings.Join(dirs, " or ")
}

// has does not follow links: a broken or escaping one is this folder's answer, and is refused, rather than a reason
// to look in the next folder.
func (f Folder) has(name string) bool {
	if f.FS == nil {
		return false
	}
	_, err := fs.Lstat(f.FS, name)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// read looks before it opens, since opening a pipe would wait for a writer.
func (f Folder) read(name string) ([]byte, error) {
	info, err := fs.Stat(f.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	return io.ReadAll(io.LimitReader(file, maxOverride+1))
}

// clean makes the text the same on every machine: no BOM, LF, one final newline less.
func clean(raw []byte) (string, *Error) {
	if len(raw) > maxOverride {
		return "", &Error{Message: fmt.Sprintf("over %d KiB", maxOverride>>10), Suggestion: "shorten it"}
	}
	if !utf8.Valid(raw) {
		at := 0
		for at < len(raw) {
			r, n := utf8.DecodeRune(raw[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		line, column := position(string(raw), at)
		return "", &Error{Origin: Origin{Line: line, Column: column}, Message: "not UTF-8", Suggestion: "save it as UTF-8"}
	}
	text := strings.TrimPrefix(string(raw), "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.TrimSuffix(text, "\n")
	if strings.TrimSpace(text) == "" {
		return "", &Error{Message: "empty", Suggestion: "write a text, or close the middleware that owns the segment"}
	}
	return text, nil
}

// position counts lines and columns from 1, columns in bytes.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
