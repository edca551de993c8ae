package memory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	fileVersion = 1
	mostKept    = 5000     // in one scope
	mostBytes   = 64 << 10 // of one file
	suffix      = ".json"
)

// files keeps each memory in a file of its own, in a folder for each user and project: a file is written whole or not at
// all and never changed, so that any number of processes may work in it without a lock. The folder comes to be with the
// first memory.
type files struct{ folder string }

// entry is what stands in a file. User and Project tell a person whose it is; the folder decides.
type entry struct {
	Version int `json:"version"`
	Memory
	Scope
}

// files opens nothing. lacking is why there is no such provider.
func (o Options) files() (f *files, lacking string) {
	folder := o.Folder
	switch {
	case folder == "" && o.Provider == "":
		return nil, "set memory.provider: nobody keeps memories"
	case folder == "" && o.Home == "":
		return nil, "set memory.folder: there is no folder to keep memories in"
	case folder == "":
		folder = filepath.Join(o.Home, "memory")
	case strings.HasPrefix(folder, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Sprintf("memory.folder %s: %v", folder, err)
		}
		folder = filepath.Join(home, folder[2:])
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, folder + " is no folder: set memory.folder to one"
	}
	return &files{folder}, ""
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// of is the folder of a scope: the project's own name for people, and a digest that no other scope has.
func (f *files) of(in Scope) string {
	sum := sha256.Sum256([]byte(in.User + "\x00" + in.Project))
	name := unsafe.ReplaceAllString(filepath.Base(in.Project), "_")
	if in.Project == "" || strings.Trim(name, "._") == "" {
		name = "project"
	}
	if len(name) > 60 {
		name = name[:60]
	}
	return filepath.Join(f.folder, name+"-"+hex.EncodeToString(sum[:12]))
}

// ids are the names that Save gives.
var ids = regexp.MustCompile(`^m[a-z2-7]{12}$`)

func (f *files) Search(ctx context.Context, in Scope, query string, limit int) ([]Memory, error) {
	all, err := f.all(ctx, in)
	return rank(all, query, limit), err
}

// all reads what is there. A file that cannot be read is left as it is and told of.
func (f *files) all(ctx context.Context, in Scope) ([]Memory, error) {
	names, err := f.list(in)
	if err != nil {
		return nil, err
	}
	var all []Memory
	var bad []error
	unread := 0
	for i, name := range names {
		if i >= mostKept {
			bad = append(bad, fmt.Errorf("%s holds more than %d memories, and %d were not looked at", f.of(in), mostKept, len(names)-i))
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := readFile(filepath.Join(f.of(in), name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process removed it
		case err == nil:
			all = append(all, m)
		default:
			if unread++; unread <= 5 {
				bad = append(bad, err)
			}
		}
	}
	if unread > 5 {
		bad = append(bad, fmt.Errorf("and %d more files", unread-5))
	}
	return all, errors.Join(bad...)
}

// list are the names of a scope's files, sorted. What else lies there is not ours.
func (f *files) list(in Scope) ([]string, error) {
	found, err := os.ReadDir(f.of(in))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("memory: %w", err)
	}
	var names []string
	for _, e := range found {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok && ids.MatchString(id) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func readFile(path string) (Memory, error) {
	f, err := os.Open(path)
	if err != nil {
		return Memory{}, fmt.Errorf("memory: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	var e entry
	switch {
	case err != nil:
	case len(raw) > mostBytes:
		err = fmt.Errorf("it is longer than %d KiB", mostBytes>>10)
	default:
		if err = json.Unmarshal(raw, &e); err == nil && e.Version != fileVersion {
			err = fmt.Errorf("version %d is not known", e.Version)
		} else if err == nil && e.ID+suffix != filepath.Base(path) {
			err = fmt.Errorf("it says that its id is %q", e.ID)
		}
	}
	if err != nil {
		return Memory{}, fmt.Errorf("memory: %s cannot be read and is left as it is: %w", path, err)
	}
	return e.Memory, nil
}

func (f *files) Save(_ context.Context, in Scope, m Memory) (id string, err error) {
	names, err := f.list(in)
	if err != nil {
		return "", err
	}
	if len(names) >= mostKept {
		return "", fmt.Errorf("there are %d memories already, which is as many as may be: remove some", len(names))
	}
	m.ID = "m" + strings.ToLower(rand.Text()[:12])
	raw, err := json.MarshalIndent(entry{fileVersion, m, in}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("memory: %w", err)
	}
	dir := f.of(in)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("memory: %w", err)
	}
	return m.ID, create(filepath.Join(dir, m.ID+suffix), append(raw, '\n'))
}

// create writes a new file whole or not at all.
func create(path string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("memory: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

func (f *files) Forget(_ context.Context, in Scope, id string) (Memory, error) {
	path := filepath.Join(f.of(in), id+suffix)
	if !ids.MatchString(id) {
		return Memory{}, fmt.Errorf("nothing is kept as %q", id)
	}
	m, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Memory{}, fmt.Errorf("nothing is kept as %q", id)
	}
	if err != nil {
		return Memory{}, err
	}
	if err := os.Remove(path); err != nil {
		return Memory{}, fmt.Errorf("memory: %w", err)
	}
	return m, nil
}
