package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// mostVisited bounds the entries that one walk looks at.
const mostVisited = 500_000

// walk goes through a tree in the order of names, past what .gitignore files leave out, and past .git. It follows no
// links.
type walk struct {
	box  *sandbox
	at   spot
	tree fs.FS
	root *os.Root
	base string // where it starts, as a slash path below the area

	visited int
	skipped int  // ignored entries
	cut     bool // it stopped at mostVisited
	blind   int  // folders and files that could not be read
}

// errStop ends a walk early.
var errStop = errors.New("enough")

func (s *state) walk(at spot) (*walk, error) {
	root, err := at.open()
	if err != nil {
		return nil, explain(at.shown, err)
	}
	return &walk{box: s.box, at: at, root: root, tree: root.FS(), base: filepath.ToSlash(at.rel)}, nil
}

func (w *walk) close() { _ = w.root.Close() }

// found is one entry: name is its slash path below the area, rel below where the walk started.
type found struct {
	name, rel string
	entry     fs.DirEntry
	depth     int
}

// each calls visit for everything below the start that is not ignored. visit may return fs.SkipDir for a folder, or
// errStop.
func (w *walk) each(ctx context.Context, visit func(found) error) error {
	files := w.above()
	err := w.into(ctx, w.base, ".", 1, files, visit)
	if errors.Is(err, errStop) {
		err = nil
	}
	return err
}

// above collects the ignore files over the start: from the folder that holds the repository, or else the project's
// root. A start that is itself ignored was named on purpose: then only what is below it counts.
func (w *walk) above() []*ignoreFile {
	var dirs []string
	project := ""
	if rel, err := filepath.Rel(w.at.area, w.box.root); err == nil {
		project = filepath.ToSlash(rel)
	}
	top := -1
	for dir := w.base; dir != "."; {
		dir = path.Dir(dir)
		dirs = append(dirs, dir)
		if _, err := fs.Lstat(w.tree, path.Join(dir, ".git")); err == nil {
			top = len(dirs)
			break
		}
		if dir == project {
			top = len(dirs)
		}
	}
	if _, err := fs.Lstat(w.tree, path.Join(w.base, ".git")); err == nil || top < 0 || w.base == project {
		return nil
	}
	var files []*ignoreFile
	for i := top - 1; i >= 0; i-- {
		files = readIgnore(w.tree, dirs[i], files)
		next := w.base
		if i > 0 {
			next = dirs[i-1]
		}
		if ignored(files, next, true) {
			return nil
		}
	}
	return files
}

func (w *walk) into(ctx context.Context, name, rel string, depth int, files []*ignoreFile, visit func(found) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.tree, name)
	if err != nil && len(entries) == 0 {
		if rel == "." {
			return err
		}
		w.blind++
		return nil
	}
	files = readIgnore(w.tree, name, files)
	for _, e := range entries {
		if w.visited++; w.visited > mostVisited {
			w.cut = true
			return errStop
		}
		f := found{name: path.Join(name, e.Name()), rel: path.Join(rel, e.Name()), entry: e, depth: depth}
		if e.Name() == ".git" || w.box.hidden(w.real(f)) {
			continue
		}
		if ignored(files, f.name, e.IsDir()) {
			w.skipped++
			continue
		}
		err := visit(f)
		if err == nil && e.IsDir() {
			err = w.into(ctx, f.name, f.rel, depth+1, files, visit)
		}
		if err != nil && !errors.Is(err, fs.SkipDir) {
			return err
		}
	}
	return nil
}

// real is the absolute path of an entry.
func (w *walk) real(f found) string { return filepath.Join(w.at.area, filepath.FromSlash(f.name)) }

// shown is how results name an entry.
func (w *walk) shown(f found) string { return w.box.show(w.real(f)) }

// remarks says what a walk could not see.
func (w *walk) remarks() string {
	out := ""
	if w.cut {
		out += "(stopped after " + count(mostVisited, "entries") + ": name a folder further down)\n"
	}
	if w.blind > 0 {
		out += "(could not be read: " + count(w.blind, "entries") + ")\n"
	}
	return out
}
