package shell

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/metaharness/peri/toolview"
)

//go:embed wrappers.txt
var wrappersText string

// wrapper is a program that runs another whose words stand in its own.
type wrapper struct {
	valued  map[string]bool // options that take a value
	flags   map[string]bool // options that take none
	strings map[string]bool // options whose value is run as a command line
	skip    int             // words of its own before the command
	assigns bool            // NAME=value may stand before the command
	more    bool            // it adds words at the end
	judged  bool            // it is itself a command that a rule has to allow
	sub     string          // the sub-command behind which the other stands
	not     map[string]bool // options with which it runs nothing
}

var wrappers = sync.OnceValue(func() map[string]wrapper {
	out := map[string]wrapper{}
	for _, line := range entries(wrappersText) {
		fields := strings.Fields(line)
		w := wrapper{valued: map[string]bool{}, flags: map[string]bool{}, strings: map[string]bool{}, not: map[string]bool{}}
		for _, f := range fields[1:] {
			switch {
			case f == "@more":
				w.more = true
			case f == "@judged":
				w.judged = true
			case f == "@assigns":
				w.assigns = true
			case strings.HasPrefix(f, "@not:"):
				w.not[f[len("@not:"):]] = true
			case strings.HasPrefix(f, "@skip"):
				w.skip = int(f[len(f)-1] - '0')
			case strings.HasPrefix(f, "@sub:"):
				w.sub = f[len("@sub:"):]
			case strings.HasSuffix(f, "=!"):
				w.strings[strings.TrimSuffix(f, "=!")] = true
			case strings.HasSuffix(f, "="):
				w.valued[strings.TrimSuffix(f, "=")] = true
			default:
				w.flags[f] = true
			}
		}
		out[fields[0]] = w
	}
	return out
})

// wrapped follows a wrapper to the command in it. false = it runs nothing, and is a command like any other.
func (s *scan) wrapped(w wrapper, ws []word, forms []string, a around) bool {
	rest := ws[1:]
	if w.sub != "" {
		if len(rest) == 0 || !rest[0].exact || rest[0].value != w.sub {
			return false
		}
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].exact && w.not[rest[0].value] {
		return false
	}
	inner, lines, known := w.inner(rest, &a)
	if !known {
		// Which of its words is the command cannot be told.
		s.part(toolview.Subject{Value: written(ws), Opaque: true, Also: also(forms, "*")})
		s.touched(ws[1:], toolview.Subject{})
		return true
	}
	if len(inner) == 0 && len(lines) == 0 {
		if !a.more {
			return false
		}
		known = false // what is added is the command
	}
	if !known {
		s.part(toolview.Subject{Value: written(ws), Opaque: true, Also: also(forms, "*")})
		return true
	}
	if w.more {
		inner = replaced(inner, rest)
	}
	plain := ws[0].value == strings.ToLower(ws[0].value) && !strings.Contains(ws[0].value, "/")
	if w.judged || !plain || len(inner) == 0 || a.opaque {
		s.part(toolview.Subject{Value: written(ws), Also: forms, ReadOnly: !w.judged && plain && !a.opaque, Opaque: a.opaque})
	}
	for _, l := range lines {
		if !l.exact {
			s.opaque(l.text)
			continue
		}
		s.line(l.value, a.depth+1)
	}
	if len(inner) > 0 && strings.ContainsAny(inner[0].value, " \t\n;|&") && exact(inner) {
		// A line in one word, as ssh and watch take it.
		s.line(value(inner), a.depth+1)
	} else if len(inner) > 0 {
		a.outer, a.more, a.depth = also(forms, escape(written(ws))), a.more || w.more, a.depth+1
		s.command(inner, a)
	}
	return true
}

// replaced are words in which a wrapper puts what it reads in the place of a mark.
func replaced(inner, all []word) []word {
	marks := []string{"{}"}
	for i, w := range all[:len(all)-len(inner)] {
		for _, o := range []string{"-I", "-J", "--replace="} {
			if v, ok := strings.CutPrefix(w.value, o); ok && v != "" {
				marks = append(marks, v)
			} else if ok && i+1 < len(all) {
				marks = append(marks, all[i+1].value)
			}
		}
	}
	out := append([]word(nil), inner...)
	for i := range out {
		for _, m := range marks {
			if m != "" && strings.Contains(out[i].value, m) {
				out[i].exact, out[i].safe, out[i].loose = false, false, true
				out[i].glob = strings.ReplaceAll(out[i].glob, escape(m), "*")
			}
		}
	}
	return out
}

// inner finds the command behind a wrapper's options, and the values that it runs as lines.
func (w wrapper) inner(ws []word, a *around) (inner, lines []word, known bool) {
	skip := w.skip
	for i := 0; i < len(ws); i++ {
		v := ws[i]
		if !v.exact {
			// Only where the command itself is due can it be anything: then it is the command's name that nobody knows.
			if skip > 0 && v.safe {
				skip--
				continue
			}
			return ws[i:], lines, skip == 0 && v.safe
		}
		switch {
		case v.value == "--":
			for skip > 0 && i+1 < len(ws) {
				i, skip = i+1, skip-1
			}
			return w.assigned(ws[min(i+1, len(ws)):], a), lines, true
		case len(v.value) > 1 && (v.value[0] == '-' || v.value[0] == '+' && w.flags["+"]):
			next, line, ok := w.option(ws, i)
			if !ok {
				return nil, nil, false
			}
			if line != nil {
				lines = append(lines, *line)
			}
			i = next
		case w.assigns && target.MatchString(v.value) && strings.Contains(v.value, "="):
			name, _, _ := strings.Cut(v.value, "=")
			a.opaque = a.opaque || loader(strings.TrimSuffix(name, "+"))
		case skip > 0:
			skip--
		default:
			return ws[i:], lines, true
		}
	}
	return nil, lines, true
}

func (w wrapper) assigned(ws []word, a *around) []word {
	for w.assigns && len(ws) > 0 && ws[0].exact && strings.Contains(ws[0].value, "=") {
		name, _, _ := strings.Cut(ws[0].value, "=")
		a.opaque = a.opaque || loader(strings.TrimSuffix(name, "+"))
		ws = ws[1:]
	}
	return ws
}

// option reads the option at i: the index of its last word, and a value that is run.
func (w wrapper) option(ws []word, i int) (last int, line *word, ok bool) {
	v := ws[i].value
	if name, val, has := strings.Cut(v, "="); has && strings.HasPrefix(v, "--") {
		if w.strings[name] {
			return i, &word{text: val, value: val, exact: true}, true
		}
		return i, nil, w.valued[name] || w.flags[name]
	}
	switch {
	case w.flags[v] || w.flags["@num"] && strings.Trim(v, "-0123456789") == "":
		return i, nil, true
	case w.valued[v] && i+1 < len(ws):
		return i + 1, nil, true
	case w.strings[v] && i+1 < len(ws):
		return i + 1, &ws[i+1], true
	case strings.HasPrefix(v, "--"):
		return 0, nil, false
	}
	// A cluster of short ones, the last of which may have its value in the same word.
	for k := 1; k < len(v); k++ {
		one := "-" + v[k:k+1]
		switch {
		case w.flags[one]:
		case w.valued[one] && k+1 < len(v):
			return i, nil, true
		case w.valued[one] && i+1 < len(ws):
			return i + 1, nil, true
		case w.strings[one] && k+1 < len(v):
			return i, &word{text: v[k+1:], value: v[k+1:], exact: true}, true
		case w.strings[one] && i+1 < len(ws):
			return i + 1, &ws[i+1], true
		default:
			return 0, nil, false
		}
	}
	return i, nil, true
}
