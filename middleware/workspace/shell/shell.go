// Package shell takes a command line apart, so that rules can judge each simple command in it on its own: in lists,
// pipelines, subshells, substitutions, here-documents, functions, strings that another shell will run, and behind
// wrappers. It parses and never runs anything, and reads no disk.
//
// Whatever it cannot follow it says so: such a part is Opaque, and no pattern that allows can cover it.
package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/metaharness/peri/toolview"
)

const (
	deepest  = 12      // strings within strings that are followed
	mostText = 1 << 17 // bytes of one line that are looked at
	mostDirs = 16      // folders that relative paths of one line may start in
	mostWord = 512     // words that one command's braces may expand to
)

// Subjects are what a command line touches: one Command for each simple command in it, and the Paths that it names.
// dir is the folder in which it starts, as the model wrote it; "" = the project's root. Paths are joined to it.
func Subjects(line, dir string) []toolview.Subject {
	s := &scan{whole: line, dirs: []string{""}}
	if dir != "" {
		s.moved = true
		s.path(dir, toolview.Subject{ReadOnly: true, Within: true})
		s.dirs[0] = dir
	}
	if len(line) > mostText {
		s.opaque(line[:200] + "…")
		return s.out
	}
	s.line(line, 0)
	if s.parts == 0 {
		// Nothing runs, as in a comment or an assignment; rules still see what was written.
		s.part(toolview.Subject{Value: strings.TrimSpace(line), ReadOnly: true})
	}
	return s.out
}

// scan is one command line on its way to subjects.
type scan struct {
	whole string
	out   []toolview.Subject
	parts int
	dirs  []string // where relative paths may start: the first folder and those that a cd may have led to
	moved bool     // there was a cd: where commands run is not the project's root
	lost  bool     // a cd led where nobody can tell
}

// part adds a simple command. The first one also stands for the whole line, which restricting rules may name.
func (s *scan) part(p toolview.Subject) {
	p.Kind = toolview.Command
	if s.parts++; s.parts == 1 {
		p.Also = also(p.Also, escape(strings.TrimSpace(s.whole)))
	}
	p.Also = slices.DeleteFunc(p.Also, func(a string) bool { return a == escape(p.Value) })
	s.out = append(s.out, p)
}

// opaque adds a part of which nobody can tell what it does.
func (s *scan) opaque(text string) {
	s.part(toolview.Subject{Value: strings.TrimSpace(text), Opaque: true, Also: []string{"*"}})
}

// line parses text and adds what it would run.
func (s *scan) line(text string, depth int) {
	// Bash reads a NUL as nothing, and other shells end the line there.
	if depth > deepest || strings.ContainsRune(text, 0) {
		s.opaque(text)
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.opaque(text)
		return
	}
	b := &block{scan: s, text: text, depth: depth}
	syntax.Walk(file, b.visit)
}

// block is one parsed text.
type block struct {
	*scan
	text  string
	depth int
}

// visit adds what one node runs or touches. Walk reaches every node: commands within words come by themselves.
func (b *block) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		b.stmt(n)
	case *syntax.DeclClause:
		b.declare(n)
	case *syntax.LetClause:
		b.opaque(b.source(n))
	case *syntax.ArithmExp:
		b.arithmetic(n, n.X)
	case *syntax.ArithmCmd:
		b.arithmetic(n, n.X)
	case *syntax.CStyleLoop:
		b.arithmetic(n, n.Init)
		b.arithmetic(n, n.Cond)
		b.arithmetic(n, n.Post)
	case *syntax.WordIter:
		if loader(n.Name.Value) {
			b.opaque(b.source(n))
		}
	case *syntax.ParamExp:
		b.param(n)
	case *syntax.BinaryTest:
		if arithmeticTest(n.Op) && !(b.number(n.X) && b.number(n.Y)) {
			b.opaque(b.source(n))
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			b.opaque(b.source(n))
		}
	case *syntax.Assign:
		b.arithmetic(n, n.Index)
	case *syntax.ArrayElem:
		b.arithmetic(n, n.Index)
	case *syntax.CoprocClause, *syntax.TestDecl:
		b.opaque(b.source(n))
	case *syntax.FuncDecl:
		// Its body is walked, so that what it runs is judged wherever it is called from.
		if n.Name != nil && strings.Contains(n.Name.Value, "/") {
			b.opaque(b.source(n))
		}
	}
	return true
}

func (b *block) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(b.text) || from > to {
		return b.text
	}
	return strings.TrimSpace(b.text[from:to])
}

func (b *block) stmt(n *syntax.Stmt) {
	var input []string // what a here-document gives the command, where it can be told
	fed := false
	for _, r := range n.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			fed = true
			if text, ok := b.here(r); ok {
				input = append(input, text)
			}
		default:
			b.redirect(r)
		}
	}
	if call, ok := n.Cmd.(*syntax.CallExpr); ok {
		b.call(call, stdin{fed: fed, texts: input})
	}
}

// stdin is what is known of a command's input.
type stdin struct {
	fed   bool
	texts []string
}

// redirect adds the file that a redirection writes or reads.
func (b *block) redirect(r *syntax.Redirect) {
	if r.Word == nil {
		return
	}
	words := b.words([]*syntax.Word{r.Word})
	if len(words) != 1 {
		b.out = append(b.out, toolview.Subject{Kind: toolview.Path, Value: b.source(r.Word), Edit: true, Opaque: true})
		return
	}
	w := words[0]
	reads := r.Op == syntax.RdrIn
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if w.exact && strings.Trim(w.value, "0123456789-") == "" {
			return
		}
	}
	if w.exact && strings.HasPrefix(path.Clean(w.value), "/dev/") {
		switch base := path.Clean(w.value); {
		case base == "/dev/null", base == "/dev/stdout", base == "/dev/stderr", base == "/dev/stdin", base == "/dev/tty",
			strings.HasPrefix(base, "/dev/fd/"):
			return
		case strings.HasPrefix(base, "/dev/tcp/"), strings.HasPrefix(base, "/dev/udp/"):
			b.opaque(b.source(r))
			return
		}
	}
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") && loader(strings.Trim(r.N.Value, "{}")) {
		b.opaque(b.source(r))
	}
	b.file(w, toolview.Subject{Edit: !reads, ReadOnly: reads})
}

// file adds a path that a word names.
func (s *scan) file(w word, as toolview.Subject) {
	if w.exact {
		s.path(w.value, as)
		return
	}
	if w.files && !s.moved {
		as.Kind, as.Value, as.Also = toolview.Path, path.Clean(w.value), []string{w.glob}
		s.out = append(s.out, as)
		return
	}
	as.Kind, as.Value, as.Opaque, as.Also = toolview.Path, w.text, true, []string{w.glob}
	s.out = append(s.out, as)
}

// path adds a path, once for each folder that it may be relative to.
func (s *scan) path(p string, as toolview.Subject) {
	as.Kind = toolview.Path
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
		as.Value = path.Clean(p)
		s.out = append(s.out, as)
		return
	}
	as.Opaque = as.Opaque || s.lost
	for _, d := range s.dirs {
		one := as
		one.Value = path.Join(d, p)
		if s.lost {
			one.Also = []string{"*" + escape(strings.TrimLeft(path.Clean(p), "./"))}
		}
		s.out = append(s.out, one)
	}
}

// move follows a cd.
func (s *scan) move(to word) {
	s.moved = true
	if !to.exact || to.value == "-" || len(s.dirs) >= mostDirs {
		s.lost = true
		return
	}
	s.path(to.value, toolview.Subject{ReadOnly: true, Within: true})
	if strings.HasPrefix(to.value, "/") || strings.HasPrefix(to.value, "~") {
		s.dirs = append(s.dirs, to.value)
		return
	}
	for _, d := range s.dirs[:len(s.dirs):len(s.dirs)] {
		s.dirs = append(s.dirs, path.Join(d, to.value))
	}
	if len(s.dirs) > mostDirs {
		s.lost = true
	}
}

// also adds patterns that are not there yet.
func also(list []string, more ...string) []string {
	for _, m := range more {
		if m != "" && !slices.Contains(list, m) {
			list = append(list[:len(list):len(list)], m)
		}
	}
	return list
}

// escape makes a pattern that matches a text and nothing else.
func escape(text string) string { return toolview.Escape(text) }
