package closuretest

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/middleware"
)

// Mention is a line of a user's own text that names a tool.
type Mention struct {
	// File is named from the project's root where it is below it. Line counts from 1.
	File string `json:"file"`
	Line int    `json:"line"`
	// Tool is what it names, Owner whose that is, and Why why the session lacks it.
	Tool  string `json:"tool"`
	Owner string `json:"owner"`
	Why   string `json:"why"`
	// Text is the line, cut where it is long.
	Text string `json:"text"`
}

// longest is how much of a user's file is read, and of its lines shown.
const (
	longest = 1 << 20
	wide    = 160
)

// mentionsOf looks for tools in everything that users wrote for the session as it is: overrides, agents' files, and what
// middlewares say that they read.
func (l *lab) mentionsOf(tools map[string]string) []Mention {
	out := []Mention{}
	if l.own == nil || len(tools) == 0 {
		return out
	}
	for _, file := range l.written() {
		raw, err := os.ReadFile(file)
		if err != nil || len(raw) > longest || !utf8.Valid(raw) {
			continue // whoever reads it for the session has said so
		}
		n := 0
		for line := range prose(string(raw)) {
			n++
			m := scan(line)
			for _, tool := range sorted(tools) {
				if m.tool(tool) {
					out = append(out, Mention{
						File: l.named(file), Line: n, Tool: tool, Owner: tools[tool], Why: l.why(tool, tools[tool]),
						Text: clipped(strings.TrimSpace(line)),
					})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Mention) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// described is the one field of a front matter that a model is shown.
var described = regexp.MustCompile(`^\s*(description|when_to_use)\s*:`)

// prose yields every line of a text. Of a front matter, whose lists are no text, all but descriptions come out blank.
func prose(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
		front, shown, first := false, false, true
		for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			fence := strings.TrimRight(line, " \t\n") == "---"
			switch {
			case first && fence:
				front = true
			case front && fence:
				front = false
			case front:
				if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
					shown = described.MatchString(line)
				}
				if !shown {
					line = ""
				}
			}
			first = false
			if !yield(line) {
				return
			}
		}
	}
}

// written are the files, absolute and each once.
func (l *lab) written() []string {
	var out []string
	add := func(file string) {
		rest, home := strings.CutPrefix(file, "~")
		switch {
		case home && l.own.Home != "":
			file = filepath.Join(l.own.Home, rest)
		case !filepath.IsAbs(file):
			file = filepath.Join(l.root, file)
		}
		if !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	for _, r := range l.base.shown() {
		if r.Override && r.Origin.File != "" {
			add(r.Origin.File)
		}
	}
	for i := range l.base.links {
		at := &l.base.links[i]
		if at.Instance == nil || at.Fate.Status != middleware.Live {
			continue
		}
		for _, file := range at.Instance.Written {
			add(file)
		}
		if at.Instance.Agents == nil {
			continue
		}
		for _, a := range at.Instance.Agents.List() {
			if a.File != "" {
				add(a.File)
			}
		}
	}
	return out
}

// named is a file as people of the project call it.
func (l *lab) named(file string) string {
	if rel, err := filepath.Rel(l.root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// why says which gate keeps a tool from the session.
func (l *lab) why(tool, owner string) string {
	e := l.base.view.Explain(tool)
	if e.Visible {
		return "would close with " + owner
	}
	out := e.Rule
	if e.Gate != "" {
		out = string(e.Gate) + ": " + e.Rule
	}
	from := e.Origin
	for i := range l.base.links {
		if fate := &l.base.links[i].Fate; fate.Name == owner && from.File == "" {
			from = fate.Origin
		}
	}
	if from.File != "" {
		out += " (" + from.String() + ")"
	}
	return strings.ReplaceAll(out, l.root+string(filepath.Separator), "")
}

func clipped(s string) string {
	if len(s) <= wide {
		return s
	}
	return strings.ToValidUTF8(s[:wide], "") + "…"
}
