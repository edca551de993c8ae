// Package lock writes down what a session is made of, one fact a line, with a digest of every text that a model is given,
// so that a change of it is reviewed like code. A lock holds no absolute path, no time and nothing in the order of a map.
package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// Lock is the facts of a session as lines, sorted, each once. The zero Lock has none.
type Lock struct{ lines []string }

// head begins every file. The number is the version of the form: a reader refuses another.
const head = "# What a session of this project is made of, written by peri lock. Review it like code: peri lock --check compares.\n" +
	"# surface name owner detail... #digest of the text\nperi-lock 1\n"

// Of is the lock of a session. A segment's digest is of its text before placeholders are filled, since what fills them
// may differ between machines; a tool's is of its title, doc and schema, an agent's of its whole definition.
func Of(s *session.Session) Lock {
	var l Lock
	root := s.Root()
	texts := segments(s)
	for _, f := range s.Surface() {
		sum := ""
		switch f.Surface {
		case session.OnSegment:
			sum = digest(texts[f.Name])
		case session.OnTool, session.OnSearch:
			if e, ok := s.View().Lookup(f.Name); ok {
				sum = digest(toolText(e.Tool))
			}
		case session.OnAgent:
			if sp, ok := s.Chain().Agent(f.Name, nil); ok {
				sum = digest(relative(toJSON(sp), root))
			}
		}
		l.add(f.Surface, f.Name, f.Owner, relative(f.Detail, root), sum)
	}
	return l
}

// With is the lock with one more fact.
func (l Lock) With(f session.Fact) Lock {
	l.lines = slices.Clone(l.lines)
	l.add(f.Surface, f.Name, f.Owner, f.Detail, "")
	return l
}

func (l *Lock) add(surface, name, owner, detail, sum string) {
	fields := []string{word(surface), word(name), word(owner)}
	if detail = line(detail); detail != "" {
		fields = append(fields, detail)
	}
	if sum != "" {
		fields = append(fields, "#"+sum)
	}
	text := strings.Join(fields, " ")
	if at, found := slices.BinarySearch(l.lines, text); !found {
		l.lines = slices.Insert(l.lines, at, text)
	}
}

// Parse reads what String wrote. Line ends may be CRLF, so that a checkout of another system reads the same.
func Parse(text string) (Lock, error) {
	var l Lock
	begun := false
	for raw := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		at := strings.TrimRight(raw, "\r\n")
		switch {
		case at == "" || strings.HasPrefix(at, "#"):
		case !begun && at != "peri-lock 1":
			return Lock{}, fmt.Errorf("lock: it begins with %.40q, and a lock that this version reads with %q", at, "peri-lock 1")
		case !begun:
			begun = true
		default:
			if where, found := slices.BinarySearch(l.lines, at); !found {
				l.lines = slices.Insert(l.lines, where, at)
			}
		}
	}
	if !begun {
		return Lock{}, fmt.Errorf("lock: it lacks the line %q", "peri-lock 1")
	}
	return l, nil
}

// Lines are the facts, sorted.
func (l Lock) Lines() []string { return slices.Clone(l.lines) }

// String is the file.
func (l Lock) String() string {
	var b strings.Builder
	b.WriteString(head)
	for _, at := range l.lines {
		b.WriteString(at + "\n")
	}
	return b.String()
}

// Diff is what one lock has and another lacks. Its lists are sorted and never nil.
type Diff struct {
	Gained []string `json:"gained"`
	Lost   []string `json:"lost"`
}

// Compare tells what became of before.
func Compare(before, after Lock) Diff {
	return Diff{Gained: minus(after.lines, before.lines), Lost: minus(before.lines, after.lines)}
}

// Empty reports whether both were the same.
func (d Diff) Empty() bool { return len(d.Gained)+len(d.Lost) == 0 }

// String is a line for each fact, lost ones with a minus and gained ones with a plus, a changed one's two together.
func (d Diff) String() string {
	type row struct{ mark, text string }
	var rows []row
	for _, t := range d.Lost {
		rows = append(rows, row{"-", t})
	}
	for _, t := range d.Gained {
		rows = append(rows, row{"+", t})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(fact(a.text), fact(b.text)) })
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.mark + " " + r.text + "\n")
	}
	return b.String()
}

// fact is a line without its detail: what it is about.
func fact(text string) string {
	fields := strings.SplitN(text, " ", 4)
	return strings.Join(fields[:min(len(fields), 3)], " ")
}

func minus(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		if _, has := slices.BinarySearch(b, x); !has {
			out = append(out, x)
		}
	}
	return out
}

// segments are the texts of the session's segments by id, as their authors wrote them.
func segments(s *session.Session) map[string]string {
	out := map[string]string{}
	for _, m := range s.Chain().Suite().All() {
		for _, seg := range m.Segments {
			out[seg.ID] = seg.Text
			if o, is := s.State().Override(seg.ID); is {
				out[seg.ID] = o.Text
			}
		}
	}
	return out
}

func toolText(t *toolview.Tool) string {
	return toJSON(struct {
		Title, Doc string
		Schema     json.RawMessage
	}{t.Title, t.Doc, t.Schema})
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// digest is short enough to be read over: 48 bits tell an honest change.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// relative takes the project's folder out of a text.
func relative(text, root string) string {
	if root == "" || root == string(filepath.Separator) {
		return text
	}
	return strings.ReplaceAll(text, root+string(filepath.Separator), "")
}

// word is a text without blanks, line one without line ends and other marks that a terminal or a diff would obey.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(line(s), " ", `\x20`)
}

func line(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
