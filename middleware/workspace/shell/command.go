package shell

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/metaharness/peri/toolview"
)

// Script is the pattern of a command that runs a file of which nobody here knows what is in it: it may do anything, and
// a rule that allows just this file says that somebody knows.
const Script = "?*"

// around is what a simple command stands in.
type around struct {
	// opaque says that what stands around it may change what it does.
	opaque bool
	// outer are the patterns of the wrappers before it: rules that restrict may name those too.
	outer []string
	// more says that a wrapper adds words at the end.
	more  bool
	stdin stdin
	depth int
}

// call judges a simple command with what is assigned before it.
func (b *block) call(n *syntax.CallExpr, in stdin) {
	opaque := false
	for _, a := range n.Assigns {
		switch {
		case a.Name != nil && loader(a.Name.Value):
			opaque = true
		case len(n.Args) > 0 && runs(a):
			opaque = true
		}
	}
	if len(n.Args) == 0 {
		if opaque {
			b.opaque(b.source(n))
		}
		return
	}
	b.command(b.words(n.Args), around{opaque: opaque, stdin: in, depth: b.depth})
}

// runs reports whether a value is made by running something.
func runs(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}

// command adds one simple command: its words are those that run, without assignments.
func (s *scan) command(ws []word, a around) {
	for len(ws) > 0 && ws[0].exact && ws[0].value == "" && ws[0].vanishes {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		return
	}
	name := ws[0]
	if !name.exact || a.depth > deepest {
		s.part(toolview.Subject{Value: written(ws), Opaque: true, Also: also(a.outer, pattern(ws), value(ws))})
		s.touched(ws, toolview.Subject{})
		return
	}
	base := strings.ToLower(path.Base(name.value))
	forms, found := formsOf(ws, base, a), ws[1:]
	if w, ok := wrappers()[base]; ok {
		if s.wrapped(w, ws, forms, a) {
			return
		}
	}
	switch {
	case shells[base]:
		s.shell(ws, forms, a)
		return
	case base == "eval":
		s.part(toolview.Subject{Value: written(ws), Also: forms, ReadOnly: !a.opaque, Opaque: a.opaque})
		s.text(ws[1:], " ", a)
		return
	case base == "trap" && len(ws) > 1:
		s.part(toolview.Subject{Value: written(ws), Also: forms, ReadOnly: !a.opaque, Opaque: a.opaque})
		if v := ws[1].value; !ws[1].exact || !strings.HasPrefix(v, "-") {
			s.text(ws[1:2], "", a)
		}
		return
	case base == "alias":
		s.alias(ws[1:], a)
	case base == "source" || base == ".":
		forms = also(forms, Script)
	case base == "cd" || base == "pushd" || base == "popd" || base == "chdir":
		s.folder(base, ws[1:])
	case base == "find" || base == "fd" || base == "fdfind":
		found = s.exec(ws[1:], a)
	case base == "test" || base == "[":
		a.opaque = a.opaque || !tests(ws[1:]) // what a word holds may be evaluated
	case base == "git":
		s.git(ws[1:], a)
	}
	if strings.Contains(name.value, "/") && !strings.HasPrefix(name.value, "/") {
		forms = also(forms, Script) // a file of the project's, or what a line before has made
	}
	if inline(base, ws[1:]) {
		forms = also(forms, "*")
	}
	if assigning[base] && assigns(base, ws[1:]) {
		a.opaque = true
	}
	s.ordinary(ws, found, base, forms, a)
}

// formsOf are the patterns by which restricting rules may know a command: without quotes, without the folder of its
// program, in lower case, with what wrappers add, and with its wrappers.
func formsOf(ws []word, base string, a around) []string {
	tail := ""
	if a.more {
		tail = "*"
	}
	plain := pattern(ws) + tail
	forms := also(nil, a.outer...)
	forms = also(forms, plain)
	if base != ws[0].value {
		rest := append([]word{{value: base, glob: escape(base), exact: true}}, ws[1:]...)
		forms = also(forms, pattern(rest)+tail)
	}
	return forms
}

// ordinary adds a command that is none of the special ones. found are its words without those that are judged as
// commands of their own.
func (s *scan) ordinary(ws, found []word, base string, forms []string, a around) {
	text := written(ws)
	if a.more {
		text += " {}"
	}
	p := toolview.Subject{Value: text, Also: forms, Opaque: a.opaque}
	p.ReadOnly = !a.opaque && ws[0].value == base && readOnly(base, found, a.more, s.moved)
	s.part(p)
	switch {
	case base == "cd" || base == "pushd" || base == "chdir":
		// Where it leads has been told.
	case !s.edits(base, ws[1:]):
		s.touched(ws[1:], toolview.Subject{ReadOnly: p.ReadOnly})
	}
}

// shell follows a shell that is told what to run.
func (s *scan) shell(ws []word, forms []string, a around) {
	script, rest := -1, ws[1:]
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		if !w.exact {
			break
		}
		v := w.value
		if v == "-o" || v == "+o" || v == "-O" || v == "+O" || v == "--rcfile" || v == "--init-file" {
			if v[1] == '-' {
				a.opaque = true
			}
			i++
			continue
		}
		if strings.HasPrefix(v, "--") && len(v) > 2 {
			continue
		}
		if len(v) < 2 || v[0] != '-' && v[0] != '+' || v == "--" {
			if v == "--" {
				i++
			}
			if i < len(rest) {
				script = i
			}
			break
		}
		if v[0] == '-' && strings.ContainsRune(v, 'c') {
			s.inlineShell(ws, rest[i+1:], forms, a)
			return
		}
		if strings.ContainsRune(v, 's') {
			break
		}
	}
	switch {
	case len(rest) == 1 && rest[0].exact && (rest[0].value == "--version" || rest[0].value == "--help"):
		s.part(toolview.Subject{Value: written(ws), Also: forms, ReadOnly: true, Opaque: a.opaque})
	case script >= 0:
		// What stands in a script nobody knows here. A rule that allows names the script.
		s.part(toolview.Subject{Value: written(ws), Also: also(forms, Script), Opaque: a.opaque})
		s.touched(ws[1:], toolview.Subject{})
	case a.stdin.fed && len(a.stdin.texts) > 0 && exact(ws):
		s.part(toolview.Subject{Value: written(ws) + fed(a.stdin.texts), Also: forms, ReadOnly: !a.opaque, Opaque: a.opaque})
		for _, t := range a.stdin.texts {
			s.line(t, a.depth+1)
		}
	default:
		s.part(toolview.Subject{Value: written(ws), Also: also(forms, "*"), Opaque: true})
	}
}

// fed writes what a shell reads on its own line, so that the part says all of itself.
func fed(texts []string) string {
	var b strings.Builder
	for _, t := range texts {
		if q, err := syntax.Quote(t, syntax.LangBash); err == nil {
			b.WriteString(" <<< " + q)
		}
	}
	return b.String()
}

// inlineShell follows `sh -c TEXT`.
func (s *scan) inlineShell(ws, after []word, forms []string, a around) {
	for len(after) > 0 && after[0].exact && len(after[0].value) > 1 && strings.ContainsAny(after[0].value[:1], "-+") {
		after = after[1:] // further options stand between -c and its text
	}
	if len(after) == 0 || !after[0].exact || a.more || a.opaque {
		s.part(toolview.Subject{Value: written(ws), Also: also(forms, "*"), Opaque: true})
		if len(after) > 0 && after[0].exact {
			s.line(after[0].value, a.depth+1)
		}
		return
	}
	s.part(toolview.Subject{Value: written(ws), Also: forms, ReadOnly: true})
	s.line(after[0].value, a.depth+1)
}

// text follows words that are run as a command line.
func (s *scan) text(ws []word, sep string, a around) {
	if len(ws) == 0 {
		return
	}
	var texts []string
	for _, w := range ws {
		if !w.exact {
			s.opaque(written(ws))
			return
		}
		texts = append(texts, w.value)
	}
	s.line(strings.Join(texts, sep), a.depth+1)
}

func (s *scan) alias(ws []word, a around) {
	for _, w := range ws {
		if !w.exact {
			s.opaque(w.text)
			continue
		}
		if _, text, ok := strings.Cut(w.value, "="); ok {
			s.line(text, a.depth+1)
		}
	}
}

func (s *scan) folder(base string, ws []word) {
	if base == "popd" || base == "pushd" && len(ws) != 1 {
		s.moved, s.lost = true, true
		return
	}
	for len(ws) > 0 && ws[0].exact && len(ws[0].value) > 1 && ws[0].value[0] == '-' {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		s.move(word{value: "~", exact: true})
		return
	}
	s.move(ws[0])
}

var runsFound = map[string]bool{"-exec": true, "-execdir": true, "-ok": true, "-okdir": true, "-x": true, "-X": true, "--exec": true, "--exec-batch": true}

// exec follows what find runs for what it finds, and returns the other words.
func (s *scan) exec(ws []word, a around) (rest []word) {
	for i := 0; i < len(ws); i++ {
		v := ws[i].value
		if !ws[i].exact || !runsFound[v] {
			rest = append(rest, ws[i])
			continue
		}
		end := i + 1
		for end < len(ws) && !(ws[end].exact && (ws[end].value == ";" || ws[end].value == "+" && ws[end-1].value == "{}")) {
			end++
		}
		inner := append([]word(nil), ws[i+1:end]...)
		shelled := len(inner) > 0 && shells[path.Base(inner[0].value)]
		for k := range inner {
			// What is found is put in the place of the braces, also within a text that a shell runs.
			if strings.Contains(inner[k].value, "{}") && (!shelled || inner[k].value != "{}") {
				inner[k].exact, inner[k].safe = false, false
				inner[k].glob = strings.ReplaceAll(inner[k].glob, "{}", "*")
			}
		}
		s.command(inner, around{opaque: a.opaque, more: !strings.HasPrefix(v, "-exec") && !strings.HasPrefix(v, "-ok"), depth: a.depth + 1})
		i = end
	}
	return rest
}

// git follows what git runs for its user: aliases given on the line, and the commands of rebase, bisect and foreach.
func (s *scan) git(ws []word, a around) {
	for i, w := range ws {
		switch v := w.value; {
		case !w.exact:
			continue
		case v == "-c" && i+1 < len(ws):
			if _, text, ok := strings.Cut(ws[i+1].value, "="); ok && ws[i+1].exact {
				s.line(strings.TrimPrefix(text, "!"), a.depth+1)
			} else {
				s.opaque(ws[i+1].text)
			}
		case (v == "--exec" || v == "-x") && i+1 < len(ws):
			s.text(ws[i+1:i+2], "", a)
		case strings.HasPrefix(v, "--exec=") || strings.HasPrefix(v, "-x") && len(v) > 2 && i > 0 && ws[0].value == "rebase":
			s.line(strings.TrimPrefix(strings.TrimPrefix(v, "--exec="), "-x"), a.depth+1)
		case v == "run" && i > 0 && ws[i-1].value == "bisect":
			s.command(ws[i+1:], around{opaque: a.opaque, depth: a.depth + 1})
		case v == "foreach" && i > 0 && ws[i-1].value == "submodule":
			s.text(ws[i+1:], " ", a)
		}
	}
}

// shells run what they are given.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true, "fish": true, "rbash": true, "yash": true,
}

// assigning are builtins that set variables by name.
var assigning = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "printf": true, "getopts": true, "unset": true, "wait": true,
	"export": true, "declare": true, "typeset": true, "local": true, "readonly": true, "let": true,
}

var target = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(\[.*\])?(\+?=.*)?$`)

// assigns reports whether words name a variable that changes what programs do, or hide what they name.
func assigns(base string, ws []word) bool {
	for i, w := range ws {
		if base == "printf" {
			if w.exact && w.value == "-v" && i == 0 {
				return assigns("read", ws[1:min(len(ws), 2)])
			}
			if i > 0 || w.safe {
				return false
			}
		}
		if !w.exact && !(base == "wait" || base == "export" && strings.Contains(w.glob, "=")) {
			return true
		}
		m := target.FindStringSubmatch(strings.TrimPrefix(w.value, "-v"))
		if m != nil && (loader(m[1]) || m[2] != "") {
			return true
		}
	}
	return false
}
