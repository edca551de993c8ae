package atmention

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/prompt/message"
)

const (
	// maxText and maxTexts bound text, of one file and of one prompt.
	maxText  = 256 << 10
	maxTexts = 1 << 20
	// maxMedium and maxMedia bound images and PDFs, which cannot be cut.
	maxMedium = 5 << 20
	maxMedia  = 20 << 20
	// maxScan is how far into a file lines are looked for.
	maxScan = 16 << 20
)

func (a *attaching) file(name string, t target) {
	ranged, limit := t.from > 0 || t.to > 0, maxMedium
	if ranged {
		limit = maxScan
	}
	raw, more, err := a.read(name, limit)
	if err != nil {
		a.refuse(name, reason(err))
		return
	}
	if mime := medium(raw); mime != "" {
		a.medium(name, mime, raw, more)
		return
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if more {
		raw = cut(raw, len(raw))
	}
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		a.refuse(name, "it is binary, or not UTF-8 text")
		return
	}
	head := "[attached file " + name
	if ranged {
		lines, total := pick(raw, t)
		of := fmt.Sprint(total)
		if more {
			of = fmt.Sprintf("the %d in its first %d MiB", total, maxScan>>20)
		}
		if lines == nil {
			a.refuse(name, fmt.Sprintf("it has no lines %s; it has %s", t.lines(), of))
			return
		}
		raw, head = lines, fmt.Sprintf("%s, lines %s of %s", head, t.lines(), of)
		more = false
	}
	note := ""
	if len(raw) > maxText || more {
		raw = cut(raw, maxText)
		note = fmt.Sprintf("\n[%s goes on: only %d KiB of a file are attached]", name, maxText>>10)
		a.tell(fmt.Sprintf("%s is attached in part: only %d KiB of a file are", name, maxText>>10))
	}
	a.put(name, head+"]\n"+string(raw)+note)
}

func (a *attaching) read(name string, limit int) (raw []byte, more bool, err error) {
	f, err := a.files.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	raw, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if len(raw) > limit {
		return raw[:limit], true, err
	}
	return raw, false, err
}

// medium is the type of what models read as an image or a document; "" = it is none.
func medium(raw []byte) string {
	switch mime := http.DetectContentType(raw); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return mime
	}
	return ""
}

func (a *attaching) medium(name, mime string, raw []byte, more bool) {
	switch {
	case more || len(raw) > maxMedium:
		a.refuse(name, fmt.Sprintf("images and PDFs may have %d MiB", maxMedium>>20))
		return
	case a.media+len(raw) > maxMedia:
		a.refuse(name, fmt.Sprintf("the images and PDFs of one prompt may have %d MiB together", maxMedia>>20))
		return
	}
	a.media += len(raw)
	kind := message.Image
	if mime == "application/pdf" {
		kind = message.Document
	}
	a.parts = append(a.parts,
		message.Part{Kind: message.Text, Text: "[attached file " + name + "]"},
		message.Part{Kind: kind, MIME: mime, Data: raw})
}

// cut keeps at most n bytes and no half of a character.
func cut(raw []byte, n int) []byte {
	if len(raw) < n {
		return raw
	}
	raw = raw[:n]
	for i := len(raw) - 1; i >= 0 && i >= len(raw)-utf8.UTFMax; i-- {
		if utf8.RuneStart(raw[i]) {
			if !utf8.FullRune(raw[i:]) {
				return raw[:i]
			}
			break
		}
	}
	return raw
}

// pick takes a range of lines, counted from 1; nil = the text has none of them.
func pick(raw []byte, t target) (lines []byte, total int) {
	var b bytes.Buffer
	for line := range strings.Lines(string(raw)) {
		total++
		if total >= t.from && (t.to == 0 || total <= t.to) {
			b.WriteString(line)
		}
	}
	if b.Len() == 0 {
		return nil, total
	}
	return b.Bytes(), total
}

func (t target) lines() string {
	switch t.to {
	case 0:
		return fmt.Sprintf("%d-", t.from)
	case t.from:
		return fmt.Sprint(t.from)
	}
	return fmt.Sprintf("%d-%d", t.from, t.to)
}
