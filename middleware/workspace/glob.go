package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// mostFound bounds the paths that a Glob lists.
const mostFound = 200

type globIn struct {
	Pattern string `json:"pattern" doc:"Pattern such as **/*.go, src/{a,b}/*.ts or go.mod." min:"1"`
	Path    string `json:"path,omitempty" doc:"Folder to look in: absolute, or relative to the project's root, which it is unless given."`
}

func globTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Glob", Family: "files", Category: "filesystem",
			Aliases: []string{"glob", "find_files", "file_search", "glob_search"},
		},
		Title: "Find files by name", Doc: text("glob"), Effects: toolview.ReadOnly,
		Subjects: toolview.Subjects(func(in globIn) []toolview.Subject {
			dir, _ := in.split()
			return paths(dir, false)
		}),
	}, glob)
}

// split moves the leading folders of the pattern to the path, so that the path says where the call really looks.
func (in globIn) split() (dir, pattern string) {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	if strings.HasPrefix(base, "/") || strings.HasPrefix(base, "~") || filepath.IsAbs(base) || in.Path == "" {
		return base, rest
	}
	return strings.TrimSuffix(filepath.ToSlash(in.Path), "/") + "/" + base, rest
}

func glob(ctx context.Context, s *state, _ *toolview.Call, in globIn) (*message.Result, error) {
	dir, pattern := in.split()
	if !doublestar.ValidatePattern(pattern) {
		return fail(fmt.Errorf("%q is no pattern: `*` is any run within a name, `**` any folders, `{a,b}` alternatives, `[a-z]` a class", in.Pattern))
	}
	w, err := s.enter(dir)
	if err != nil {
		return fail(err)
	}
	defer w.close()
	type hit struct {
		shown string
		mtime time.Time
	}
	var hits []hit
	err = w.each(ctx, func(f found) error {
		if f.entry.IsDir() || !doublestar.MatchUnvalidated(pattern, f.rel) {
			return nil
		}
		if info, err := f.entry.Info(); err == nil { // it may have gone meanwhile
			hits = append(hits, hit{w.shown(f), info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return fail(explain(w.at.shown, err))
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].mtime.After(hits[j].mtime) })
	var b strings.Builder
	n := 0
	for ; n < min(len(hits), mostFound) && b.Len() < s.OutputCap; n++ {
		fmt.Fprintln(&b, strings.ToValidUTF8(hits[n].shown, "\uFFFD"))
	}
	switch {
	case len(hits) == 0:
		b.WriteString("No file matches.\n")
	case n < len(hits):
		fmt.Fprintf(&b, "(the newest %d of %d; narrow the pattern for the others)\n", n, len(hits))
	}
	b.WriteString(w.remarks())
	return message.Say(b.String()), nil
}

// enter begins a walk in a folder.
func (s *state) enter(dir string) (*walk, error) {
	at, err := s.box.find(dir)
	if err != nil {
		return nil, err
	}
	w, err := s.walk(at)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(w.tree, w.base)
	switch {
	case err != nil:
		err = s.missing(at, w.root, err)
	case !info.IsDir():
		err = fmt.Errorf("%s is a file, not a folder", at.shown)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// globFilter matches paths below where a search starts; a pattern without a slash is about the last name.
func globFilter(pattern string) (func(rel string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if !doublestar.ValidatePattern(pattern) {
		return nil, errors.New("`glob` is no pattern: use one such as *.go or src/**/*.{ts,tsx}")
	}
	if !strings.Contains(pattern, "/") {
		return func(rel string) bool { return doublestar.MatchUnvalidated(pattern, path.Base(rel)) }, nil
	}
	return func(rel string) bool { return doublestar.MatchUnvalidated(pattern, rel) }, nil
}

// count words a number of things.
func count(n int, many string) string {
	if n == 1 {
		many = strings.TrimSuffix(many, "s")
	}
	return fmt.Sprintf("%d %s", n, many)
}
