package atmention

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/prompt/message"
)

// attaching collects the parts of one prompt.
type attaching struct {
	files  fs.FS
	root   string
	notice func(string)

	parts       []message.Part
	seen        map[string]bool
	text, media int // bytes attached so far
}

func (a *attaching) tell(text string) {
	if a.notice != nil {
		a.notice(text)
	}
}

// refuse tells the person, and the model too, which would else take the mention for an attachment.
func (a *attaching) refuse(name, why string) {
	a.tell(fmt.Sprintf("%s is not attached: %s", name, why))
	a.parts = append(a.parts, message.Part{Kind: message.Text, Text: fmt.Sprintf("[not attached: %s: %s]", name, why)})
}

// add attaches what a mention means: the first of its choices that exists.
func (a *attaching) add(m mention) {
	why := "there is no such file in the project"
	for _, t := range m.choices {
		name, err := a.inside(t.path)
		if err != nil {
			why = err.Error()
			continue
		}
		info, err := fs.Stat(a.files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
			continue
		case err != nil:
			// The reason is the file system's own and may hold a path outside; that a link leaves is all one may know.
			why = reason(err)
			continue
		}
		a.attach(name, t, info)
		return
	}
	a.tell(fmt.Sprintf("@%s stays text: %s", clip(m.text), why))
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func clip(s string) string {
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}

var errOutside = errors.New("it is outside the project")

// inside turns a written path into one of the project's file system.
func (a *attaching) inside(written string) (string, error) {
	p := filepath.ToSlash(written)
	if filepath.IsAbs(written) {
		rel, err := filepath.Rel(a.root, written)
		if a.root == "" || err != nil {
			return "", errOutside
		}
		p = filepath.ToSlash(rel)
	}
	if p = path.Clean(p); !fs.ValidPath(p) || strings.HasPrefix(p, "~/") {
		return "", errOutside
	}
	return p, nil
}

func (a *attaching) attach(name string, t target, info fs.FileInfo) {
	id := fmt.Sprint(name, "\x00", t.from, "\x00", t.to)
	if a.seen[id] {
		return
	}
	a.seen[id] = true
	switch {
	case info.IsDir():
		a.folder(name)
	case !info.Mode().IsRegular():
		a.refuse(name, "it is not a regular file")
	default:
		a.file(name, t)
	}
}

// maxEntries bounds the listing of a folder.
const maxEntries = 200

func (a *attaching) folder(name string) {
	entries, err := fs.ReadDir(a.files, name)
	if err != nil {
		a.refuse(name, reason(err))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[attached folder %s, %d entries]\n", name, len(entries))
	for i, e := range entries {
		if i == maxEntries {
			fmt.Fprintf(&b, "[and %d more]\n", len(entries)-i)
			break
		}
		b.WriteString(e.Name())
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	a.put(name, b.String())
}

// put attaches a text if there is room for it.
func (a *attaching) put(name, text string) {
	if a.text+len(text) > maxTexts {
		a.refuse(name, fmt.Sprintf("the attachments of one prompt may have %d KiB together", maxTexts>>10))
		return
	}
	a.text += len(text)
	a.parts = append(a.parts, message.Part{Kind: message.Text, Text: text})
}
