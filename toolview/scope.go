package toolview

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where the relative paths of a scope, and those behind `~/`, begin. Fold says that the file system there takes
// names that differ in case alone for the same.
type Place struct {
	Root, Home string
	Fold       bool
}

// PlaceOf looks at the disk, once, to see what Fold is.
func PlaceOf(root, home string) Place { return Place{Root: root, Home: home, Fold: folds(root)} }

// folds reports whether a folder is also found under its name in the other case.
func folds(dir string) bool {
	if dir == "" {
		return false
	}
	other := strings.ToUpper(dir)
	if other == dir {
		other = strings.ToLower(dir)
	}
	a, errA := os.Stat(dir)
	b, errB := os.Stat(other)
	return other != dir && errA == nil && errB == nil && os.SameFile(a, b)
}

// scope is what stands in the parentheses of a selector: which subjects of a call it is about. Every kind of subject
// reads the same text in its own way.
type scope struct {
	text    string
	command reading
	path    reading
	folded  reading // path in lower case
	base    base
	host    *pattern
	names   []*pattern
	hosts   bool // `domain:`: it is about hosts alone
}

// reading is a scope as one kind of subject reads it: one of the patterns matches.
type reading []*pattern

func (r reading) match(s string) bool {
	for _, p := range r {
		if p.match(s) {
			return true
		}
	}
	return false
}

// base is what a path of a scope is relative to.
type base uint8

const (
	fromRoot base = iota
	fromHome
	fromTop
)

// newScope compiles a scope; nil = it is about every call.
func newScope(text string) *scope {
	if scopePattern(text).all() {
		return nil
	}
	s := &scope{text: text}
	if host, ok := strings.CutPrefix(text, "domain:"); ok {
		s.hosts = true
		s.host = scopePattern(foldHost(host))
		return s
	}
	s.command = commandReading(text)
	s.base, s.path = pathReading(text)
	_, s.folded = pathReading(strings.ToLower(text))
	s.host = scopePattern(foldHost(text))
	s.names = []*pattern{scopePattern(strings.ToLower(text))}
	for name := range parts(text, ',') {
		s.names = append(s.names, scopePattern(strings.ToLower(strings.TrimSpace(name))))
	}
	return s
}

// commandReading: `git:*` is `git *`, and a trailing ` *` also matches nothing.
func commandReading(text string) reading {
	if head, ok := strings.CutSuffix(text, ":*"); ok {
		text = head + " *"
	}
	r := reading{scopePattern(text)}
	if head, ok := strings.CutSuffix(text, " *"); ok {
		r = append(r, scopePattern(head))
	}
	return r
}

// pathReading: a trailing `/**` or `/*` is also about the folder itself, and a `**` between two of them, or at the
// beginning, also about no folder at all.
func pathReading(text string) (base, reading) {
	from := fromRoot
	switch {
	case strings.HasPrefix(text, "~/"):
		from, text = fromHome, text[2:]
	case strings.HasPrefix(text, "/"):
		from, text = fromTop, "/"+strings.TrimLeft(text, "/")
	default:
		for strings.HasPrefix(text, "./") {
			text = text[2:]
		}
	}
	var r reading
	for _, t := range []string{text, strings.ReplaceAll(strings.TrimPrefix(text, "**/"), "/**/", "/")} {
		r = append(r, scopePattern(t))
		if head, ok := strings.CutSuffix(t, "/**"); ok {
			r = append(r, scopePattern(head))
		} else if head, ok := strings.CutSuffix(t, "/*"); ok {
			r = append(r, scopePattern(head))
		}
	}
	return from, r
}

// matches reports whether the scope is about a subject.
func (s *scope) matches(sub Subject, at Place) bool {
	switch {
	case sub.Kind == Domain:
		return s.host.match(foldHost(sub.Value))
	case s.hosts:
		return false
	case sub.Kind == Command:
		return s.command.match(strings.TrimSpace(sub.Value))
	case sub.Kind == Path:
		path, ok := s.base.of(sub.Value, at)
		if ok && at.Fold {
			return s.folded.match(strings.ToLower(path))
		}
		return ok && s.path.match(path)
	}
	return s.naming(sub.Value) || slices.ContainsFunc(sub.Same, s.naming)
}

// naming reports whether the scope is about what has that name.
func (s *scope) naming(name string) bool {
	name = strings.ToLower(name)
	for _, p := range s.names {
		if p.match(name) {
			return true
		}
	}
	return false
}

// of is a path as a scope spells it. false = it lies elsewhere.
func (b base) of(path string, at Place) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && at.Home != "" {
		path = filepath.Join(at.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.Root, path)
	}
	path = filepath.Clean(path)
	from := at.Root
	switch b {
	case fromTop:
		return filepath.ToSlash(path), true
	case fromHome:
		from = at.Home
	}
	if from == "" {
		return "", false
	}
	from = filepath.Clean(from)
	if at.Fold {
		from, path = strings.ToLower(from), strings.ToLower(path)
	}
	rel, err := filepath.Rel(from, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

func foldHost(h string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h), "."))
}

// parts yields what stands between separators that no parentheses hold and no backslash makes literal.
func parts(text string, separator byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		depth, start := 0, 0
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\' && i+1 < len(text) && strings.IndexByte(escapable, text[i+1]) >= 0:
				i++
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == separator && depth <= 0:
				if !yield(text[start:i]) {
					return
				}
				start = i + 1
			}
		}
		yield(text[start:])
	}
}
