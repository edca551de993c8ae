package toolview

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled glob. It matches whole texts.
type pattern struct {
	// literal is the whole of it when it has no wildcard, else what every match begins with.
	literal string
	items   []item // nil = no wildcard
}

type item struct {
	kind  itemKind
	r     rune
	class []span // of kind oneOf
	not   bool
}

type itemKind uint8

const (
	oneRune itemKind = iota
	anyRune
	oneOf
	anyRun
)

type span struct{ from, to rune }

// globPattern compiles a glob of names: `*` any run, `?` one character, `[a-c]` or `[!a-c]` one of some. Its text is
// lower case.
func globPattern(text string) (*pattern, error) {
	p := &pattern{}
	for rest := text; rest != ""; {
		r, n := decode(rest)
		rest = rest[n:]
		switch r {
		case '*':
			p.run()
		case '?':
			p.items = append(p.items, item{kind: anyRune})
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 || end == 0 || rest[:end] == "!" || rest[:end] == "^" {
				return nil, errors.New("a [ without what it is to match and its ]")
			}
			p.items = append(p.items, classOf(rest[:end]))
			rest = rest[end+1:]
		default:
			p.items = append(p.items, item{r: r})
		}
	}
	return p.done(), nil
}

func classOf(text string) item {
	it := item{kind: oneOf}
	if text[0] == '!' || text[0] == '^' {
		it.not, text = true, text[1:]
	}
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		s := span{rs[i], rs[i]}
		if i+2 < len(rs) && rs[i+1] == '-' {
			s.to = rs[i+2]
			i += 2
		}
		it.class = append(it.class, s)
	}
	return it
}

// escapable are the characters that a backslash makes literal in a scope; before any other one it is itself.
const escapable = `*?()|,\`

// Escape makes a text match itself alone in a scope.
func Escape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(escapable, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// scopePattern compiles the pattern of a scope: `*` any run, `?` one character, and a backslash before one of
// escapable makes it literal.
func scopePattern(text string) *pattern {
	p := &pattern{}
	for rest := text; rest != ""; {
		r, n := decode(rest)
		rest = rest[n:]
		switch {
		case r == '\\' && rest != "" && strings.IndexByte(escapable, rest[0]) >= 0:
			p.items = append(p.items, item{r: rune(rest[0])})
			rest = rest[1:]
		case r == '*':
			p.run()
		case r == '?':
			p.items = append(p.items, item{kind: anyRune})
		default:
			p.items = append(p.items, item{r: r})
		}
	}
	return p.done()
}

// run adds a wildcard for any run; two of them say no more than one.
func (p *pattern) run() {
	if n := len(p.items); n == 0 || p.items[n-1].kind != anyRun {
		p.items = append(p.items, item{kind: anyRun})
	}
}

func (p *pattern) done() *pattern {
	var b strings.Builder
	for i := range p.items {
		if p.items[i].kind != oneRune {
			p.literal = b.String()
			return p
		}
		encode(&b, p.items[i].r)
	}
	p.literal, p.items = b.String(), nil
	return p
}

// notUTF8 and above stand for single bytes that are no UTF-8, which match themselves alone.
const notUTF8 = utf8.MaxRune + 1

func decode(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return notUTF8 + rune(s[0]), 1
	}
	return r, n
}

func encode(b *strings.Builder, r rune) {
	if r >= notUTF8 {
		b.WriteByte(byte(r - notUTF8))
		return
	}
	b.WriteRune(r)
}

// all reports whether it matches every text.
func (p *pattern) all() bool { return len(p.items) == 1 && p.items[0].kind == anyRun }

// match goes back to the latest run alone, so that the work is bounded by the product of both lengths.
func (p *pattern) match(s string) bool {
	if p.items == nil {
		return s == p.literal
	}
	if !strings.HasPrefix(s, p.literal) {
		return false
	}
	at, star, mark := 0, -1, 0
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		switch {
		case at < len(p.items) && p.items[at].kind == anyRun:
			star, mark = at, i
			at++
		case at < len(p.items) && p.items[at].one(r):
			at++
			i += n
		case star >= 0:
			_, n = decode(s[mark:])
			mark += n
			at, i = star+1, mark
		default:
			return false
		}
	}
	for at < len(p.items) && p.items[at].kind == anyRun {
		at++
	}
	return at == len(p.items)
}

func (it *item) one(r rune) bool {
	switch it.kind {
	case oneRune:
		return it.r == r
	case anyRune:
		return true
	}
	for _, s := range it.class {
		if s.from <= r && r <= s.to {
			return !it.not
		}
	}
	return it.not
}
