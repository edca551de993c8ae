package atmention

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mention is one @ of a prompt with everything that it could mean, the likeliest first.
type mention struct {
	text    string // as it was written, without the @
	choices []target
}

// target is a path with a range of lines; from 0 = the whole file, to 0 = until its end.
type target struct {
	path     string
	from, to int
}

// mentions finds the mentions of a text in order. Fenced code is not read: an @ there is somebody's annotation.
func mentions(text string) []mention {
	var out []mention
	fence := ""
	for line := range strings.Lines(text) {
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence == "" {
			out = inLine(strings.TrimRight(line, "\r\n"), out)
		}
	}
	return out
}

func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func inLine(line string, out []mention) []mention {
	for at := 0; at < len(line); {
		i := strings.IndexByte(line[at:], '@')
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		if before, _ := utf8.DecodeLastRuneInString(line[:i]); i > 0 && !mayPrecede(before) {
			continue
		}
		m, length := parse(line[i+1:])
		if length == 0 {
			continue
		}
		at = i + 1 + length
		out = append(out, m)
	}
	return out
}

// mayPrecede says whether an @ behind r begins a mention: not in an address (a@b.c, x/@scope), nor in code (`@x`).
// Scripts that are written without blanks may run into it.
func mayPrecede(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._%+-/@`\\", r)
}

// parse reads what follows an @, and how many bytes of it are the mention; 0 = it is none.
func parse(rest string) (mention, int) {
	if rest == "" {
		return mention{}, 0
	}
	if q := rest[0]; q == '"' || q == '\'' {
		path, tail, ok := strings.Cut(rest[1:], string(q))
		if !ok || strings.TrimSpace(path) == "" {
			return mention{}, 0
		}
		m := mention{text: rest[:len(path)+2], choices: []target{{path: path}}}
		if r := rangeHead.FindString(tail); r != "" {
			m.text += r
			m.choices = withRange(path + r)[1:]
		}
		return m, len(m.text)
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`<>|", r) })
	if end < 0 {
		end = len(rest)
	}
	m := mention{text: strings.TrimRightFunc(rest[:end], closes)}
	for _, c := range endings(rest[:end]) {
		for _, t := range withRange(c) {
			if !slices.Contains(m.choices, t) {
				m.choices = append(m.choices, t)
			}
		}
	}
	if len(m.choices) == 0 {
		return mention{}, 0
	}
	return m, end
}

// closes says whether r may end a sentence or a bracket rather than a path.
func closes(r rune) bool {
	return strings.ContainsRune(".,;:!?)]}*_…", r) || r > unicode.MaxASCII && unicode.IsPunct(r)
}

// endings are the places where an unquoted path may end: a path may hold what also ends a sentence, so all are tried,
// the longest first.
func endings(run string) []string {
	var out []string
	add := func(s string) {
		if s != "" && strings.Trim(s, "./") != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if strings.HasPrefix(run, "./") && strings.Trim(run, "./") == "" {
		return []string{"./"}
	}
	add(run)
	for s := run; s != ""; {
		r, n := utf8.DecodeLastRuneInString(s)
		if !closes(r) {
			break
		}
		s = s[:len(s)-n]
		add(s)
	}
	for _, stop := range []func(rune) bool{
		func(r rune) bool {
			return strings.ContainsRune(",;()", r) || r > unicode.MaxASCII && unicode.IsPunct(r)
		},
		func(r rune) bool { return r > unicode.MaxASCII },
	} {
		if i := strings.IndexFunc(run, stop); i > 0 {
			add(strings.TrimRightFunc(run[:i], closes))
		}
	}
	return out
}

var (
	rangeTail = regexp.MustCompile(`^(.+?)(?::|#L)(\d{1,9})(?:(-)L?(\d{1,9})?)?(?::\d+)?$`)
	rangeHead = regexp.MustCompile(`^(?::|#L)\d{1,9}(?:-L?(?:\d{1,9})?)?`)
)

// withRange is a path as it stands and, when it ends like one with lines (a.go:10, a.go:10-20, a.go#L10-L20), that.
func withRange(path string) []target {
	out := []target{{path: path}}
	m := rangeTail.FindStringSubmatch(path)
	if m == nil {
		return out
	}
	from, _ := strconv.Atoi(m[2])
	to, _ := strconv.Atoi(m[4])
	if m[3] == "" {
		to = from
	}
	return append(out, target{m[1], from, to})
}
