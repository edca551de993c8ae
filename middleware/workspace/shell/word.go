package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command as the shell will see it.
type word struct {
	// text is how it is written, value what it says once quotes are gone; exact says that value is all of it, and not
	// what the shell decides when it runs.
	text, value string
	exact       bool
	// glob is a pattern of what it may turn out to be. vanishes says that it may be no word, or several.
	glob     string
	vanishes bool
	// loose says that outside of quotes it may become several words.
	loose bool
	// files says that all it leaves open is which files there are.
	files bool
	// safe says that it cannot begin with a dash.
	safe bool
}

// words are the words of a command, braces expanded.
func (b *block) words(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		text := b.source(w)
		if !strings.Contains(text, "{") {
			out = append(out, read(w, text))
			continue
		}
		split := copied(w)
		if !syntax.SplitBraces(split) {
			out = append(out, read(w, text))
			continue
		}
		out = append(out, expanded(split, text)...)
	}
	return out
}

// expanded is a word whose braces make several of it.
func expanded(w *syntax.Word, text string) []word {
	var out []word
	for e, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(out) == mostWord {
			return []word{{text: text, glob: "*", vanishes: true, loose: true}}
		}
		v := read(e, "")
		if v.text = v.value; !v.exact {
			v.text = text
		}
		out = append(out, v)
	}
	return out
}

// copied is a word that SplitBraces may change.
func copied(w *syntax.Word) *syntax.Word {
	c := *w
	c.Parts = append([]syntax.WordPart(nil), w.Parts...)
	return &c
}

// read takes the quotes off a word.
func read(w *syntax.Word, text string) word {
	if w.Lit() == "[" { // a command's name, and the beginning of no set
		return word{text: "[", value: "[", exact: true, glob: "[", safe: true}
	}
	r := reader{exact: true, vanishes: len(w.Parts) > 0}
	for _, p := range w.Parts {
		r.part(p, false)
	}
	out := word{text: text, value: r.value.String(), exact: r.exact, glob: r.glob.String(), vanishes: r.vanishes && !r.exact, loose: r.splits, files: !r.exact && !r.expands}
	first := strings.TrimPrefix(out.glob, `\`)
	out.safe = r.exact && !strings.HasPrefix(out.value, "-") ||
		!r.exact && !r.splits && first != "" && first[0] != '-' && !strings.HasPrefix(out.glob, "*")
	return out
}

type reader struct {
	value, glob strings.Builder
	exact       bool
	vanishes    bool // so far nothing is certain to be there
	expands     bool // there was something else than the name of a file
	splits      bool // an expansion outside of quotes may make several words of it
}

func (r *reader) literal(s string) {
	if s != "" {
		r.vanishes = false
	}
	r.value.WriteString(s)
	r.glob.WriteString(escape(s))
}

func (r *reader) unknown(quoted bool) {
	r.exact, r.expands = false, true
	if quoted {
		r.vanishes = false
	} else {
		r.splits = true
	}
	if !strings.HasSuffix(r.glob.String(), "*") || strings.HasSuffix(r.glob.String(), `\*`) {
		r.glob.WriteByte('*')
	}
}

func (r *reader) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.lit(p.Value, quoted)
	case *syntax.SglQuoted:
		r.vanishes = false
		v, ok := p.Value, true
		if p.Dollar {
			v, ok = ansi(p.Value)
		}
		if !ok {
			r.unknown(true)
			return
		}
		r.literal(v)
	case *syntax.DblQuoted:
		r.vanishes = false
		if p.Dollar {
			r.unknown(true)
			return
		}
		for _, q := range p.Parts {
			r.part(q, true)
			if x, ok := q.(*syntax.ParamExp); ok && many(x) {
				r.splits, r.vanishes = true, len(p.Parts) == 1
			}
		}
	default:
		r.unknown(quoted)
	}
}

// many reports whether an expansion is several words even in quotes, as "$@" is.
func many(x *syntax.ParamExp) bool {
	if x.Param != nil && x.Param.Value == "@" || x.Names != 0 {
		return true
	}
	w, ok := x.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// lit reads literal text: a backslash quotes what follows, and outside of quotes a glob is what files are called.
func (r *reader) lit(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			next := s[i+1]
			switch {
			case next == '\n':
				i++
			case quoted && !strings.ContainsRune("$`\"\\", rune(next)):
				r.literal(`\`)
			default:
				i++
				r.literal(string(s[i : i+1]))
			}
		case !quoted && (c == '*' || c == '?' || c == '['):
			before := r.splits
			had := r.expands
			r.unknown(false)
			r.splits, r.expands = before, had // names of files are one word each, and keep what stands before
			r.value.WriteByte(c)
			r.vanishes = false
		default:
			r.literal(s[i : i+1])
		}
	}
}

// ansi decodes $'…'.
func ansi(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		digits := func(most, base int) bool {
			n := 0
			for n < most && i+1+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF"[:min(22, map[int]int{8: 8, 16: 22}[base])], s[i+1+n]) >= 0 {
				n++
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], base, 32)
			if err != nil || v == 0 {
				return false
			}
			if i += n; most > 3 {
				b.WriteRune(rune(v))
			} else {
				b.WriteByte(byte(v))
			}
			return true
		}
		ok := true
		switch c := s[i]; c {
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'e', 'E':
			b.WriteByte(0x1b)
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case 'x':
			ok = digits(2, 16)
		case 'u':
			ok = digits(4, 16)
		case 'U':
			ok = digits(8, 16)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i--
			ok = digits(3, 8)
		default:
			return "", false
		}
		if !ok {
			return "", false
		}
	}
	return b.String(), true
}

// here reads a here-document or a here-string. One whose limit is quoted is taken as it stands; in any other a backslash
// may make what is text here a command there, and so nothing is known of it.
func (b *block) here(r *syntax.Redirect) (string, bool) {
	if r.Op == syntax.WordHdoc {
		v := read(r.Word, b.source(r.Word))
		return v.value, v.exact
	}
	if r.Hdoc == nil {
		return "", true
	}
	var text strings.Builder
	for _, p := range r.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			return "", false
		}
		text.WriteString(l.Value)
	}
	quoted := strings.ContainsAny(b.source(r.Word), `'"\\`)
	return text.String(), quoted || !strings.Contains(text.String(), `\`)
}

// value joins the words without their quotes; pattern joins what they may turn out to be; written joins them as they
// are.
func value(ws []word) string { return join(ws, func(w word) string { return w.value }) }

func written(ws []word) string { return join(ws, func(w word) string { return w.text }) }

func join(ws []word, of func(word) string) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(of(w))
	}
	return b.String()
}

func pattern(ws []word) string {
	var b strings.Builder
	gap := false
	for _, w := range ws {
		if w.vanishes {
			b.WriteByte('*')
			gap = false
			continue
		}
		if gap {
			b.WriteByte(' ')
		}
		b.WriteString(w.glob)
		gap = true
	}
	return b.String()
}

func exact(ws []word) bool {
	for _, w := range ws {
		if !w.exact {
			return false
		}
	}
	return true
}
