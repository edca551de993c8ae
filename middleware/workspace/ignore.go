package workspace

import (
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreCap bounds a .gitignore that is read, in bytes.
const ignoreCap = 1 << 20

// ignoreFile is one .gitignore: its rules hold for what is below its folder.
type ignoreFile struct {
	dir   string // slash path below the walked tree, "." = its top
	rules []ignoreRule
}

// ignoreRule is one line of a .gitignore, as gitignore(5) reads it.
type ignoreRule struct {
	glob     string
	negated  bool
	dirs     bool // folders alone
	anchored bool // the whole path below the file's folder counts, not the last name
}

func parseIgnore(dir, text string) *ignoreFile {
	f := &ignoreFile{dir: dir}
	for line := range strings.Lines(strings.TrimPrefix(text, string(bom))) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			f.rules = append(f.rules, r)
		}
	}
	if len(f.rules) == 0 {
		return nil
	}
	return f
}

func parseRule(line string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirs, line = true, strings.TrimSuffix(line, "/")
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	// `a/**` is what a holds, never a itself.
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	// Git knows no alternatives: its braces are letters.
	r.glob = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `{`, `\{`, `}`, `\}`).Replace(line)
	return r, line != "" && doublestar.ValidatePattern(r.glob)
}

// verdict says what a file's rules make of a path; ok is false when none speaks of it. The last rule that does counts.
func (f *ignoreFile) verdict(name string, dir bool) (ignored, ok bool) {
	rel := name
	if f.dir != "." {
		rel = strings.TrimPrefix(name, f.dir+"/")
	}
	for i := len(f.rules) - 1; i >= 0; i-- {
		r := &f.rules[i]
		if r.dirs && !dir {
			continue
		}
		against := rel
		if !r.anchored {
			against = path.Base(rel)
		}
		if doublestar.MatchUnvalidated(r.glob, against) {
			return !r.negated, true
		}
	}
	return false, false
}

// ignored judges a path by all files above it, the nearest first. What is below an ignored folder is not asked about:
// as in git, nothing in there can be brought back.
func ignored(files []*ignoreFile, name string, dir bool) bool {
	for i := len(files) - 1; i >= 0; i-- {
		if is, ok := files[i].verdict(name, dir); ok {
			return is
		}
	}
	return false
}

// readIgnore adds what a folder itself brings to the files above it.
func readIgnore(tree fs.FS, dir string, files []*ignoreFile) []*ignoreFile {
	for _, name := range []string{".git/info/exclude", ".gitignore"} {
		name = path.Join(dir, name)
		info, err := fs.Lstat(tree, name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > ignoreCap {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			continue // what cannot be read ignores nothing
		}
		if f := parseIgnore(dir, string(text)); f != nil {
			files = append(files[:len(files):len(files)], f)
		}
	}
	return files
}
