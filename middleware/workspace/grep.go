package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const (
	grepLimit   = 100 // lines, or files, unless told otherwise
	grepLine    = 500 // bytes of a line that are shown
	grepContext = 20  // lines of context at most
)

type grepIn struct {
	Pattern    string `json:"pattern" doc:"Regular expression (RE2), matched against each line by itself." min:"1"`
	Path       string `json:"path,omitempty" doc:"File or folder to search: absolute, or relative to the project's root, which it is unless given."`
	Glob       string `json:"glob,omitempty" doc:"Only files that match, such as *.go or src/**/*.ts."`
	Mode       string `json:"mode,omitempty" doc:"content shows matching lines and is the default, files the paths, count the number per file." enum:"content,files,count"`
	Context    int    `json:"context,omitempty" doc:"Lines to show before and after each match." min:"0" max:"20"`
	IgnoreCase bool   `json:"ignore_case,omitempty" doc:"Match letters of either case."`
	Limit      int    `json:"limit,omitempty" doc:"Matching lines (content) or files to show at most; 100 unless given." min:"1" max:"10000"`
}

func grepTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Grep", Family: "files", Category: "filesystem",
			Aliases: []string{"grep", "grep_search", "search_files", "search_file_content", "ripgrep", "rg"},
		},
		Title: "Search in files", Doc: text("grep"), Effects: toolview.ReadOnly,
		Subjects: toolview.Subjects(func(in grepIn) []toolview.Subject { return paths(in.Path, false) }),
	}, grep)
}

// search is one Grep at work.
type search struct {
	grepIn
	re      *regexp.Regexp
	out     strings.Builder
	most    int // bytes
	hits    int // matching lines, or files, that are shown
	full    bool
	skipped int // files too large to search
}

func grep(ctx context.Context, s *state, _ *toolview.Call, in grepIn) (*message.Result, error) {
	g := &search{grepIn: in, most: s.OutputCap}
	if g.Limit == 0 {
		g.Limit = grepLimit
	}
	flags := ""
	if in.IgnoreCase {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + in.Pattern)
	if err != nil {
		return fail(fmt.Errorf("`pattern` is no regular expression of RE2: %w", err))
	}
	g.re = re
	keep, err := globFilter(in.Glob)
	if err != nil {
		return fail(err)
	}
	at, err := s.box.find(in.Path)
	if err != nil {
		return fail(err)
	}
	w, err := s.walk(at)
	if err != nil {
		return fail(err)
	}
	defer w.close()
	info, err := fs.Stat(w.tree, w.base)
	switch {
	case err != nil:
		return fail(s.missing(at, w.root, err))
	case info.IsDir():
		err = w.each(ctx, func(f found) error {
			if !f.entry.Type().IsRegular() || !keep(f.rel) {
				return nil
			}
			return g.file(w, f)
		})
	case !info.Mode().IsRegular():
		return fail(fmt.Errorf("%s is no regular file (%s)", at.shown, info.Mode().Type()))
	default:
		err = g.file(w, found{name: w.base, rel: path.Base(w.base)})
	}
	if err != nil && !errors.Is(err, errStop) {
		return fail(explain(at.shown, err))
	}
	return message.Say(g.result(w)), nil
}

func (g *search) result(w *walk) string {
	if g.hits == 0 {
		g.out.WriteString("Nothing matches.\n")
	}
	if g.full {
		what := "matching lines"
		if g.Mode == "files" || g.Mode == "count" {
			what = "files"
		}
		fmt.Fprintf(&g.out, "(the first %d %s; there are more: narrow the search or raise `limit`)\n", g.hits, what)
	}
	if g.skipped > 0 {
		fmt.Fprintf(&g.out, "(not searched, since larger than %[2]d MiB: %[1]s)\n", count(g.skipped, "files"), maxFile>>20)
	}
	g.out.WriteString(w.remarks())
	return g.out.String()
}

// file searches one file. What cannot be opened is passed over, as a walk passes over what it cannot enter.
func (g *search) file(w *walk, f found) error {
	in, err := w.root.Open(filepath.FromSlash(f.name))
	if err != nil {
		w.blind++
		return nil
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > maxFile {
		g.skipped++
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil || binary(content) {
		return nil
	}
	content = bytes.TrimPrefix(content, bom)
	name := strings.ToValidUTF8(w.shown(f), "\uFFFD")
	switch g.Mode {
	case "files", "count":
		return g.tally(name, content)
	}
	return g.lines(name, content)
}

// tally is a file's entry in the modes that show no lines.
func (g *search) tally(name string, content []byte) error {
	n := 0
	for line := range bytes.Lines(content) {
		if g.re.Match(bytes.TrimRight(line, "\r\n")) {
			if n++; g.Mode == "files" {
				break
			}
		}
	}
	if n == 0 {
		return nil
	}
	if g.hits >= g.Limit || g.out.Len() > g.most {
		g.full = true
		return errStop
	}
	g.hits++
	if g.Mode == "files" {
		fmt.Fprintln(&g.out, name)
	} else {
		fmt.Fprintf(&g.out, "%s:%d\n", name, n)
	}
	return nil
}

// lines shows a file's matching lines with their surroundings.
func (g *search) lines(name string, content []byte) error {
	var before [][]byte // the lines that could become context, the newest last
	n, after, shown := 0, 0, -1
	for line := range bytes.Lines(content) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if !g.re.Match(line) {
			if after > 0 {
				after--
				shown = g.show(name, n, shown, '-', line)
				continue
			}
			if g.Context > 0 {
				if len(before) == min(g.Context, grepContext) {
					before = append(before[:0], before[1:]...)
				}
				before = append(before, line)
			}
			continue
		}
		if g.hits >= g.Limit || g.out.Len() > g.most {
			g.full = true
			return errStop
		}
		g.hits++
		for i, b := range before {
			shown = g.show(name, n-len(before)+i, shown, '-', b)
		}
		before, after = before[:0], g.Context
		shown = g.show(name, n, shown, ':', line)
	}
	return nil
}

// show writes one line, parted from the last one shown when lines lie between them.
func (g *search) show(name string, n, last int, mark byte, line []byte) int {
	if g.Context > 0 && g.out.Len() > 0 && n != last+1 {
		g.out.WriteString("--\n")
	}
	fmt.Fprintf(&g.out, "%s%c%d%c%s\n", name, mark, n, mark, around(g.re, line))
	return n
}

// around is a line, or of a long one what surrounds its first match.
func around(re *regexp.Regexp, line []byte) string {
	if len(line) <= grepLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if at := re.FindIndex(line); at != nil {
		from = max(0, min(at[0]-grepLine/4, len(line)-grepLine))
	}
	to := min(from+grepLine, len(line))
	out := end(whole(line[from:to]))
	if from > 0 {
		out = "…" + out
	}
	if to < len(line) {
		out += "…"
	}
	return out
}
