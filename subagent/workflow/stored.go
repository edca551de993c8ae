package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview/program"
)

// Stored is a workflow of the project.
type Stored struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	Source string `json:"source"`
}

const (
	folder    = ".peri/workflows"
	storedKey = "stored"
	maxStored = 100
)

var legal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func (w *Stored) file() string { return path.Join(folder, w.Name+".star") }

// stored are the workflows of a session: those that it was created with, or, fresh, those that the project has now.
func stored(ctx context.Context, env middleware.Env) (list []Stored, fresh bool, err error) {
	if env.Resumed && env.Store != nil {
		raw, ok, err := env.Store.Load(ctx, storedKey)
		if err != nil {
			return nil, false, fmt.Errorf("workflow: the session's workflows: %w", err)
		}
		if ok {
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, false, fmt.Errorf("workflow: the session's workflows: %w", err)
			}
			return list, false, nil
		}
	}
	return read(env), true, nil
}

func keep(ctx context.Context, store middleware.Store, list []Stored) error {
	if len(list) == 0 {
		return nil
	}
	raw, err := json.Marshal(list)
	if err == nil {
		err = store.Save(ctx, storedKey, raw)
	}
	if err != nil {
		return fmt.Errorf("workflow: keeping the session's workflows: %w", err)
	}
	return nil
}

// read reads the project's workflows. One that is no workflow is left out and told about.
func read(env middleware.Env) []Stored {
	if env.Project.FS == nil {
		return nil
	}
	files, err := fs.ReadDir(env.Project.FS, folder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			env.Notice(folder + ": its workflows were not read: " + err.Error())
		}
		return nil
	}
	var out []Stored
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".star")
		if !ok || f.IsDir() {
			continue
		}
		if len(out) == maxStored {
			env.Notice(fmt.Sprintf("%s: only the first %d workflows are there", folder, maxStored))
			break
		}
		w, err := readOne(env.Project.FS, name)
		if err != nil {
			env.Notice(err.Error() + " (the workflow is left out)")
			continue
		}
		out = append(out, *w)
	}
	return out
}

func readOne(files fs.FS, name string) (*Stored, error) {
	w := &Stored{Name: name}
	switch {
	case !legal.MatchString(name):
		return nil, fmt.Errorf("%s: name the file with 1 to 64 of a-z A-Z 0-9 _ -, a letter or digit first", w.file())
	case name == route.Name:
		return nil, fmt.Errorf("%s: the command /%s is taken: name the file otherwise", w.file(), name)
	}
	info, err := fs.Stat(files, w.file())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.file(), err)
	}
	if !info.Mode().IsRegular() || info.Size() > program.MaxSource {
		return nil, fmt.Errorf("%s: it is to be a file of at most %d bytes", w.file(), program.MaxSource)
	}
	raw, err := fs.ReadFile(files, w.file())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.file(), err)
	}
	w.Source = strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n")
	w.Doc = heading(w.Source)
	if w.Doc == "" {
		w.Doc = "Runs the workflow " + name + "."
	}
	if err := program.Check(program.Config{File: w.file(), Source: w.Source, Functions: (&runner{}).functions(), Globals: globals(nil)}); err != nil {
		return nil, err
	}
	return w, nil
}

// heading is the first line of a script when it is a comment.
func heading(source string) string {
	first, _, _ := strings.Cut(source, "\n")
	text, ok := strings.CutPrefix(first, "#")
	if !ok {
		return ""
	}
	if text = strings.TrimSpace(text); len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
