package workspace

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGitignoreRules holds the rules against what gitignore(5) says of them; each verdict is git's own.
func TestGitignoreRules(t *testing.T) {
	for _, c := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.log", "a.log", false, true},
		{"*.log", "x/y/a.log", false, true},
		{"*.log\n!keep.log", "x/keep.log", false, false},
		{"!keep.log\n*.log", "keep.log", false, true},
		{"/a", "a", false, true},
		{"/a", "x/a", false, false},
		{"x/a", "x/a", false, true},
		{"x/a", "y/x/a", false, false},
		{"build/", "build", true, true},
		{"build/", "build", false, false},
		{"build/", "x/build", true, true},
		{"**/foo/bar", "a/foo/x/foo/bar", false, true},
		{"a/**", "a", true, false},
		{"a/**", "a/b/c", false, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"# note", "# note", false, false},
		{`\#a`, "#a", false, true},
		{`\!a`, "!a", false, true},
		{"a  ", "a", false, true},
		{`a\ `, "a ", false, true},
		{"{a,b}", "a", false, false},
		{"{a,b}", "{a,b}", false, true},
		{"[ab].c", "b.c", false, true},
		{"[!ab].c", "b.c", false, false},
		{"a?c", "abc", false, true},
		{"a*c", "a/c", false, false},
		{"[", "[", false, false},
		{"a\r\n", "a", false, true},
		{"", "a", false, false},
	} {
		var files []*ignoreFile
		if f := parseIgnore(".", c.rules); f != nil {
			files = append(files, f)
		}
		require.Equal(t, c.want, ignored(files, c.path, c.dir), "%q for %q", c.rules, c.path)
	}
}

func FuzzIgnoreRulesNeverFail(f *testing.F) {
	f.Add("*.log\n!a/**/b/\n[", "a/b")
	f.Add("\\", "\\")
	f.Add("{,}\n{", "{")
	f.Fuzz(func(t *testing.T, rules, path string) {
		if file := parseIgnore(".", rules); file != nil {
			ignored([]*ignoreFile{file}, path, true)
		}
	})
}

// forest is a tree with ignored parts.
func forest(t *testing.T) *bench {
	b := open(t, Options{})
	b.put(".gitignore", "*.log\n/out/\nnode_modules\n")
	b.put(".git/config", "needle")
	b.put(".git/info/exclude", "private.txt\n")
	b.put("private.txt", "needle")
	b.put("main.go", "package main\n\nfunc Needle() {}\n")
	b.put("debug.log", "needle")
	b.put("out/gen.go", "needle")
	b.put("sub/.gitignore", "!special.log\nlocal.txt\n")
	b.put("sub/special.log", "needle")
	b.put("sub/local.txt", "needle")
	b.put("sub/out/kept.go", "needle")
	b.put("sub/node_modules/m/index.js", "needle")
	b.put("bin", "needle\x00")
	return b
}

func TestGitignoreIsRespected(t *testing.T) {
	b := forest(t)
	want := "main.go\nsub/out/kept.go\nsub/special.log\n"
	require.Equal(t, want, b.do("Grep", args{"pattern": "needle", "mode": "files", "ignore_case": true}))
	require.Equal(t, "sub/out/kept.go\nsub/special.log\n", b.do("Grep", args{"pattern": "needle", "mode": "files", "path": "sub"}), "rules above the start count")

	found := strings.Fields(b.do("Glob", args{"pattern": "**"}))
	require.ElementsMatch(t, []string{".gitignore", "bin", "main.go", "sub/.gitignore", "sub/out/kept.go", "sub/special.log"}, found)

	require.Equal(t, b.root+"/\n  .gitignore\n  bin\n  main.go\n  sub/\n    .gitignore\n    out/\n    special.log\n(left out by .gitignore: 5)\n", b.do("LS", args{"depth": 2}))
}

func TestIgnoredFolderThatIsNamedIsSearched(t *testing.T) {
	b := forest(t)
	require.Equal(t, "out/gen.go\n", b.do("Glob", args{"pattern": "out/*.go"}))
	require.Equal(t, "sub/node_modules/m/index.js:1:needle\n", b.do("Grep", args{"pattern": "needle", "path": "sub/node_modules"}))
	require.Equal(t, "debug.log:1:needle\n", b.do("Grep", args{"pattern": "needle", "path": "debug.log"}))
	require.Contains(t, b.do("LS", args{"path": "out"}), "  gen.go\n")
}

func TestGlobListsTheNewestFirst(t *testing.T) {
	b := open(t, Options{})
	now := time.Now()
	for i, name := range []string{"a/old.go", "b/c/new.go", "mid.go", "other.txt"} {
		b.put(name, "")
		at := now.Add(time.Duration([]int{-3, -1, -2, 0}[i]) * time.Hour)
		require.NoError(t, os.Chtimes(b.path(name), at, at))
	}
	require.Equal(t, "b/c/new.go\nmid.go\na/old.go\n", b.do("Glob", args{"pattern": "**/*.go"}))
	require.Equal(t, "mid.go\n", b.do("Glob", args{"pattern": "*.go"}))
	require.Equal(t, "b/c/new.go\n", b.do("Glob", args{"pattern": "**/*.go", "path": "b"}))
	require.Equal(t, "b/c/new.go\n", b.do("Glob", args{"pattern": b.root + "/b/**/*.{go,txt}"}))
	require.Equal(t, "No file matches.\n", b.do("Glob", args{"pattern": "*.rs"}))
	require.Contains(t, b.refuse("Glob", args{"pattern": "[a"}), "is no pattern")
	require.Contains(t, b.refuse("Glob", args{"pattern": "*", "path": "mid.go"}), "is a file")
	require.Contains(t, b.refuse("Glob", args{"pattern": "none/*"}), "does not exist")
}

func TestSearchesAreBounded(t *testing.T) {
	b := open(t, Options{})
	for i := range mostListed + 1 {
		b.put(fmt.Sprintf("d/%03d.txt", i), "x\n")
	}
	require.Contains(t, b.do("Glob", args{"pattern": "d/*"}), "(the newest 200 of 501;")
	require.Contains(t, b.do("LS", args{"path": "d"}), "(the first 500 entries; there are more)")
	for mode, what := range map[string]string{"content": "matching lines", "files": "files", "count": "files"} {
		got := b.do("Grep", args{"pattern": "x", "mode": mode, "limit": 7})
		require.Equal(t, 8, strings.Count(got, "\n"))
		require.Contains(t, got, "(the first 7 "+what+"; there are more")
	}
	require.NotContains(t, b.do("Grep", args{"pattern": "x", "limit": 501}), "there are more")
}

func TestGrepShowsContextOnce(t *testing.T) {
	b := open(t, Options{})
	b.put("f", "1\nA\n3\nA\n5\n6\n7\n8\nA\n")
	require.Equal(t, "f-1-1\nf:2:A\nf-3-3\nf:4:A\nf-5-5\n--\nf-8-8\nf:9:A\n", b.do("Grep", args{"pattern": "A", "context": 1}))
	b.put("g", "A\n")
	require.Equal(t, "g:1:A\n", b.do("Grep", args{"pattern": "A", "context": 1, "glob": "g"}))
	require.Contains(t, b.do("Grep", args{"pattern": "A", "context": 1}), "f:9:A\n--\ng:1:A\n")
}

func TestGrepModesAndFilters(t *testing.T) {
	b := open(t, Options{})
	b.put("a.go", "one\r\nTwo two\n")
	b.put("sub/b.ts", "two\n")
	require.Equal(t, "a.go:2:Two two\nsub/b.ts:1:two\n", b.do("Grep", args{"pattern": "two$"}))
	require.Equal(t, "a.go:1:one\n", b.do("Grep", args{"pattern": "one$"}), "a line ends before CRLF")
	require.Equal(t, "a.go:1\nsub/b.ts:1\n", b.do("Grep", args{"pattern": "two", "mode": "count"}))
	require.Equal(t, "sub/b.ts\n", b.do("Grep", args{"pattern": "^two", "mode": "files"}))
	require.Equal(t, "a.go\nsub/b.ts\n", b.do("Grep", args{"pattern": "^x|^two", "mode": "files", "ignore_case": true}))
	require.Equal(t, "sub/b.ts\n", b.do("Grep", args{"pattern": "two", "mode": "files", "glob": "*.ts"}))
	require.Equal(t, "sub/b.ts\n", b.do("Grep", args{"pattern": "two", "mode": "files", "glob": "sub/**"}))
	require.Equal(t, "Nothing matches.\n", b.do("Grep", args{"pattern": "three"}))
	require.Contains(t, b.refuse("Grep", args{"pattern": "("}), "no regular expression")
	require.Contains(t, b.refuse("Grep", args{"pattern": "x", "glob": "[a"}), "no pattern")
	require.Contains(t, b.refuse("Grep", args{"pattern": "x", "path": "none"}), "does not exist")
	require.Contains(t, b.refuse("Grep", args{"pattern": "x", "mode": "lines"}), "content")
}

func TestGrepCutsLongLinesAroundTheMatch(t *testing.T) {
	b := open(t, Options{})
	b.put("min.js", strings.Repeat("é", 5000)+"needle"+strings.Repeat("z", 5000))
	got := b.do("Grep", args{"pattern": "needle"})
	require.Contains(t, got, "needle")
	require.Less(t, len(got), grepLine+40)
	require.NotContains(t, got, "\uFFFD")
}
