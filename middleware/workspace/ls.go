package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// mostListed bounds the entries that an LS lists.
const mostListed = 500

type lsIn struct {
	Path  string `json:"path,omitempty" doc:"Folder to list: absolute, or relative to the project's root, which it is unless given."`
	Depth int    `json:"depth,omitempty" doc:"How many levels to list; 1 unless given." min:"1" max:"20"`
}

func lsTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "LS", Family: "files", Category: "filesystem",
			Aliases: []string{"list", "ls", "list_dir", "list_directory", "list_files", "listDir"},
		},
		Title: "List a folder", Doc: text("ls"), Effects: toolview.ReadOnly,
		Subjects: toolview.Subjects(func(in lsIn) []toolview.Subject { return paths(in.Path, false) }),
	}, ls)
}

func ls(ctx context.Context, s *state, _ *toolview.Call, in lsIn) (*message.Result, error) {
	w, err := s.enter(in.Path)
	if err != nil {
		return fail(err)
	}
	defer w.close()
	depth := max(in.Depth, 1)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSuffix(w.at.shown, "/")+"/")
	listed, cut := 0, false
	err = w.each(ctx, func(f found) error {
		if listed == mostListed || b.Len() > s.OutputCap {
			cut = true
			return errStop
		}
		listed++
		name := strings.ToValidUTF8(f.entry.Name(), "\uFFFD")
		switch {
		case f.entry.IsDir():
			name += "/"
		case f.entry.Type()&fs.ModeSymlink != 0:
			if target, err := w.root.Readlink(filepath.FromSlash(f.name)); err == nil {
				name += " -> " + strings.ToValidUTF8(target, "\uFFFD")
			}
		}
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", f.depth), name)
		if f.depth >= depth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return fail(explain(w.at.shown, err))
	}
	if listed == 0 {
		b.WriteString("  (empty)\n")
	}
	if cut {
		fmt.Fprintf(&b, "(the first %d entries; there are more)\n", listed)
	}
	if w.skipped > 0 {
		fmt.Fprintf(&b, "(left out by .gitignore: %d)\n", w.skipped)
	}
	b.WriteString(w.remarks())
	return message.Say(b.String()), nil
}
