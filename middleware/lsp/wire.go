package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// frames reads and writes messages as the protocol frames them. The library's own codec would read frames of any size and
// stop at a line that a server logs where it should not.
type frames struct{}

const (
	maxFrame = 64 << 20
	maxJunk  = 64 << 10 // between two frames
)

func (frames) WriteObject(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(data), data)
	return err
}

func (frames) ReadObject(r *bufio.Reader, v any) error {
	size, junk := -1, 0
	for {
		line, err := r.ReadSlice('\n')
		if junk += len(line); junk > maxJunk {
			return errors.New("lsp: what came is no protocol")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" && size >= 0 {
			break
		}
		// A header may follow junk on one line when that lacks its end.
		if i := strings.Index(strings.ToLower(text), "content-length:"); i >= 0 {
			if size, err = strconv.Atoi(strings.TrimSpace(text[i+len("content-length:"):])); err != nil || size < 0 || size > maxFrame {
				return fmt.Errorf("lsp: a message of %.40q bytes", text[i:])
			}
		}
	}
	data := make([]byte, 0, min(size, 1<<20))
	for len(data) < size {
		n := min(size-len(data), 1<<20)
		at := len(data)
		data = append(data, make([]byte, n)...)
		if _, err := io.ReadFull(r, data[at:]); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, v)
}

// What follows are the parts of the protocol that are used. Lines and characters count from 0, characters in UTF-16 units.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// location is a Location or a LocationLink.
type location struct {
	URI         string `json:"uri"`
	Range       span   `json:"range"`
	TargetURI   string `json:"targetUri"`
	TargetRange *span  `json:"targetSelectionRange"`
}

func (l *location) at() (string, position) {
	if l.TargetURI != "" && l.TargetRange != nil {
		return l.TargetURI, l.TargetRange.Start
	}
	return l.URI, l.Range.Start
}

// locations is one location, a list of them, or nothing.
type locations []location

func (l *locations) UnmarshalJSON(b []byte) error {
	var list []location
	if json.Unmarshal(b, &list) == nil {
		*l = list
		return nil
	}
	var one location
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = locations{one}
	return nil
}

// symbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type symbol struct {
	Name      string   `json:"name"`
	Detail    string   `json:"detail"`
	Container string   `json:"containerName"`
	Kind      int      `json:"kind"`
	Selection *span    `json:"selectionRange"`
	Location  location `json:"location"`
	Children  []symbol `json:"children"`
}

func (s *symbol) kind() string {
	names := [...]string{
		"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
		"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
		"event", "operator", "type parameter",
	}
	if s.Kind < 0 || s.Kind >= len(names) {
		return ""
	}
	return names[s.Kind]
}

type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

func (d *diagnostic) severity() string {
	switch d.Severity {
	case 1, 0:
		return "error"
	case 2:
		return "warning"
	case 3:
		return "information"
	}
	return "hint"
}

type published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// hover is text in any of the shapes that the protocol has had.
type hover struct {
	Contents json.RawMessage `json:"contents"`
}

func (h *hover) text() string {
	var parts []json.RawMessage
	if json.Unmarshal(h.Contents, &parts) != nil {
		parts = []json.RawMessage{h.Contents}
	}
	var out []string
	for _, p := range parts {
		var plain string
		var marked struct{ Value string }
		switch {
		case json.Unmarshal(p, &plain) == nil:
		case json.Unmarshal(p, &marked) == nil:
			plain = marked.Value
		}
		if plain = strings.TrimSpace(plain); plain != "" {
			out = append(out, plain)
		}
	}
	return strings.Join(out, "\n\n")
}
