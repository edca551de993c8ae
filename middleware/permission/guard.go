package permission

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// column sorts a call. An edit counts as one in the project when its tool only edits and every path that it changes is
// known and inside.
func (g *gate) column(e toolview.Effects, subjects []toolview.Subject) class {
	if onlyLooks(e, subjects) {
		return readOnly
	}
	if !onlyEdits(e) && !e.Has(toolview.Internal) {
		return otherwise
	}
	edits := 0
	for _, s := range subjects {
		if s.Kind != toolview.Path || s.Opaque {
			return otherwise
		}
		if s.Edit {
			edits++
			if !g.inside(s.Value) {
				return otherwise
			}
		}
	}
	if edits == 0 {
		return otherwise
	}
	return projectEdit
}

// absolute is a subject's path. Links are its tool's to follow.
func (g *gate) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && g.at.Home != "" {
		path = filepath.Join(g.at.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.at.Root, path)
	}
	return filepath.Clean(path)
}

func (g *gate) inside(path string) bool {
	if g.at.Root == "" || path == "" || strings.HasPrefix(path, "~") || strings.ContainsRune(path, 0) {
		return false
	}
	rel, err := filepath.Rel(filepath.Clean(g.at.Root), g.absolute(path))
	return err == nil && filepath.IsLocal(rel)
}

// guarded are the folders that hold settings, agents, hooks and a repository's own files.
var guarded = []string{".git", ".peri", ".claude", ".opencode"}

// guards finds a path that a call touches and that holds settings, agents, hooks or a repository's own files. Case is
// ignored, since some disks do. A path that a command changes and that nobody can tell may be one.
func (g *gate) guards(subjects []toolview.Subject) (string, bool) {
	for _, s := range subjects {
		if s.Kind != toolview.Path {
			continue
		}
		if s.Opaque && s.Edit {
			return "`" + s.Value + "` may be a file that", true
		}
		at := g.absolute(s.Value)
		if g.inside(s.Value) { // the project itself may stand below such a folder
			at, _ = filepath.Rel(filepath.Clean(g.at.Root), at)
		}
		for part := range strings.FieldsFuncSeq(strings.ToLower(at), func(r rune) bool { return r == '/' || r == '\\' }) {
			if isGuarded(strings.TrimRight(part, ". "), len(s.Also) > 0) {
				return s.Value, true
			}
		}
	}
	return "", false
}

// isGuarded reports whether one part of a path is a guarded name, or a pattern of names that such a one matches.
func isGuarded(part string, pattern bool) bool {
	for _, name := range guarded {
		if part == name {
			return true
		}
		if ok, err := path.Match(part, name); pattern && strings.ContainsAny(part, "*?[") && part[0] == '.' && (ok || err != nil) {
			return true
		}
	}
	return false
}
