package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type writeIn struct {
	Path    string `json:"path" doc:"File to write: absolute, or relative to the project's root." min:"1" alias:"file_path"`
	Content string `json:"content" doc:"The whole content of the file."`
}

func writeTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Write", Family: "files", Groups: []string{preset}, Category: "filesystem",
			AllowedWith: []string{"edit"},
			Aliases:     []string{"write", "write_file", "writeFile", "WriteFile", "create_file", "write_to_file", "save_file"},
		},
		Title: "Write a file", Doc: text("write"), Effects: toolview.Edits,
		Subjects: toolview.Subjects(func(in writeIn) []toolview.Subject { return paths(in.Path, true) }),
	}, write)
}

func write(_ context.Context, s *state, _ *toolview.Call, in writeIn) (*message.Result, error) {
	at, err := s.target(in.Path)
	if err != nil {
		return fail(err)
	}
	defer s.shared.locks.lock(at.real)()
	old, err := s.overwritable(at)
	if err != nil {
		return fail(err)
	}
	content := []byte(in.Content)
	if err := replace(at, content, old); err != nil {
		return fail(err)
	}
	s.note(at.real, stampOf(content))
	done := "Created"
	if old != nil {
		done = "Replaced"
	}
	lines := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		lines++
	}
	return message.Say(fmt.Sprintf("%s %s (%d lines, %d bytes).", done, at.shown, lines, len(content))), nil
}

// target finds a path that is to be written.
func (s *state) target(path string) (spot, error) {
	at, err := s.box.find(path)
	if err != nil {
		return at, err
	}
	if dir := s.shared.spill.folder(); dir != "" && s.box.areas() != nil && at.area == dir {
		return at, fmt.Errorf("%s holds the output of a command: it can be read and not written", at.shown)
	}
	return at, nil
}

// overwritable returns the file that stands at a place, nil when there is none, and refuses to lose what the model has
// not seen.
func (s *state) overwritable(at spot) (fs.FileInfo, error) {
	root, err := at.open()
	if err != nil {
		return nil, explain(at.shown, err)
	}
	info, err := root.Stat(at.rel)
	_ = root.Close()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, explain(at.shown, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", at.shown)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file (%s)", at.shown, info.Mode().Type())
	}
	if _, ok := s.knows(at.real); !ok {
		return nil, fmt.Errorf("%s is already there and you have not read it: read it first", at.shown)
	}
	content, info, err := s.load(at)
	if err != nil {
		return nil, err
	}
	return info, s.stale(at, content)
}
