package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/meta"
)

const (
	maxLevels  = 5     // of folders below a mount
	maxFolders = 20000 // that one mount is searched through
	maxSkills  = 5000  // of all mounts: each is stored with every session
)

// fileNames are how a skill's file may be called; the first that is there counts.
var fileNames = []string{"SKILL.md", "skill.md"}

var errOutside = errors.New("a link that leads out of its folder is not followed")

// inside resolves the links of a path below root, which has none, and refuses one that leads out of it.
func inside(root, rel string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		return "", plain(err)
	}
	out, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(out) {
		return "", errOutside
	}
	return filepath.ToSlash(out), nil
}

// walk is the search through one mount.
type walk struct {
	*loader
	m      Mount
	root   string
	opened *os.Root
	seen   map[string]bool // real folders, so that loops end
	full   bool
}

// mount reads one folder of skills.
func (l *loader) mount(m Mount) {
	origin := meta.Origin{Layer: m.Layer, File: m.Shown}
	if m.At != (meta.Origin{}) {
		origin = m.At
	}
	fail := func(err error) {
		if !errors.Is(err, fs.ErrNotExist) || m.At != (meta.Origin{}) {
			l.report(meta.SeverityError, "skill_folder", origin, m.Shown+": "+plain(err).Error(), "make it a readable folder inside "+m.Root)
		}
	}
	root, err := filepath.EvalSymlinks(m.Root)
	if err != nil {
		fail(err)
		return
	}
	dir, err := inside(root, m.Dir)
	if err != nil {
		fail(err)
		return
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		fail(err)
		return
	}
	defer opened.Close()
	w := &walk{loader: l, m: m, root: root, opened: opened, seen: map[string]bool{}}
	if !w.holds(dir, ".") {
		w.folder(dir, ".", 0)
	}
}

// holds takes the skill of a folder, if it is one. real is the folder below the root, dir as the mount sees it.
func (w *walk) holds(real, dir string) bool {
	for _, name := range fileNames {
		at := path.Join(real, name)
		info, err := w.opened.Lstat(at)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if at, err = inside(w.root, at); err != nil {
				w.link(path.Join(dir, name), err)
				return true
			}
		}
		w.skill(at, dir, name)
		return true
	}
	return false
}

func (w *walk) link(dir string, err error) {
	w.report(meta.SeverityWarning, "skill_link", meta.Origin{Layer: w.m.Layer, File: path.Join(w.m.Shown, dir)},
		err.Error(), "put the folder itself there, or name its place in skills.mounts")
}

// folder looks for skills below a folder.
func (w *walk) folder(real, dir string, level int) {
	if w.seen[real] || w.full {
		return
	}
	w.seen[real] = true
	origin := meta.Origin{Layer: w.m.Layer, File: path.Join(w.m.Shown, dir)}
	if len(w.seen) > maxFolders {
		w.full = true
		w.report(meta.SeverityWarning, "skill_folder", meta.Origin{Layer: w.m.Layer, File: w.m.Shown}, fmt.Sprintf("over %d folders: the rest is not searched", maxFolders), "name a smaller folder")
		return
	}
	entries, err := fs.ReadDir(w.opened.FS(), real)
	if err != nil {
		w.report(meta.SeverityError, "skill_folder", origin, plain(err).Error(), "make it a readable folder")
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
			continue
		}
		w.entry(path.Join(real, e.Name()), path.Join(dir, e.Name()), level+1, e)
	}
}

func (w *walk) entry(real, dir string, level int, e fs.DirEntry) {
	if len(w.skills) >= maxSkills && !w.full {
		w.full = true
		w.report(meta.SeverityWarning, "skill_folder", meta.Origin{Layer: w.m.Layer, File: w.m.Shown}, fmt.Sprintf("over %d skills: the rest is not read", maxSkills), "name a smaller folder")
	}
	if w.full {
		return
	}
	if e.Type()&fs.ModeSymlink != 0 {
		at, err := inside(w.root, real)
		if err != nil {
			w.link(dir, err)
			return
		}
		info, err := w.opened.Stat(at)
		if err != nil || !info.IsDir() {
			return
		}
		real = at
	} else if !e.IsDir() {
		return
	}
	if w.holds(real, dir) {
		return
	}
	if level >= maxLevels {
		w.report(meta.SeverityWarning, "skill_folder", meta.Origin{Layer: w.m.Layer, File: path.Join(w.m.Shown, dir)}, "folders this deep are not searched", "move it up")
		return
	}
	w.folder(real, dir, level)
}
