package workspace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/meta"
)

// maxFile bounds the files that are read whole, in bytes.
const maxFile = 32 << 20

// sniffed is how much of a file's beginning tells text from binary, as in git.
const sniffed = 8000

func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0
}

// load reads a regular file. Its errors are for the model.
func (s *state) load(at spot) ([]byte, fs.FileInfo, error) {
	root, err := at.open()
	if err != nil {
		return nil, nil, explain(at.shown, err)
	}
	defer root.Close()
	// Opening a pipe that nobody writes to would wait for ever: what it is must be known first.
	info, err := root.Stat(at.rel)
	if err != nil {
		return nil, nil, s.missing(at, root, err)
	}
	if err := ordinary(at.shown, info); err != nil {
		return nil, nil, err
	}
	f, err := root.Open(at.rel)
	if err != nil {
		return nil, nil, explain(at.shown, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, explain(at.shown, err)
	}
	if err := ordinary(at.shown, info); err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, explain(at.shown, err)
	}
	if len(content) > maxFile {
		return nil, nil, tooLarge(at.shown)
	}
	return content, info, nil
}

func ordinary(shown string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory: list it instead", shown)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file (%s)", shown, info.Mode().Type())
	case info.Size() > maxFile:
		return tooLarge(shown)
	}
	return nil
}

func tooLarge(shown string) error {
	return fmt.Errorf("%s is larger than %d MiB, which is not read: take a part of it", shown, maxFile>>20)
}

// missing explains why a file cannot be read and, when it is not there, names those that it could be.
func (s *state) missing(at spot, root *os.Root, err error) error {
	out := explain(at.shown, err)
	if !errors.Is(err, fs.ErrNotExist) {
		return out
	}
	entries, err := fs.ReadDir(root.FS(), path.Dir(filepath.ToSlash(at.rel)))
	if err != nil {
		return out
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := meta.Nearest(filepath.Base(at.rel), names)
	if len(near) == 0 {
		return out
	}
	for i := range near {
		near[i] = path.Join(path.Dir(at.shown), near[i])
	}
	return fmt.Errorf("%w: did you mean %s?", out, strings.Join(near, ", "))
}

// stale says why a file is not as the model knows it; nil = it is, or the model does not know it.
func (s *state) stale(at spot, content []byte) error {
	if known, ok := s.knows(at.real); !ok || known == stampOf(content) {
		return nil
	}
	return fmt.Errorf("%s has changed since you read it: read it again", at.shown)
}

// replace puts content in the place of a file in one step, creating folders on the way. old is the file that is
// replaced, whose mode the new one has; nil = there is none.
func replace(at spot, content []byte, old fs.FileInfo) error {
	root, err := at.open()
	if err != nil {
		return explain(at.shown, err)
	}
	defer root.Close()
	if old != nil {
		if err := writable(root, at.rel); err != nil {
			return explain(at.shown, err)
		}
	}
	dir := filepath.Dir(at.rel)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return explain(filepath.ToSlash(filepath.Dir(at.shown)), err)
	}
	temp := filepath.Join(dir, ".peri-"+rand.Text()+".tmp")
	err = fill(root, temp, content, old)
	if err == nil {
		err = root.Rename(temp, at.rel)
	}
	if err != nil {
		_ = root.Remove(temp) // the first failure counts
		return explain(at.shown, err)
	}
	return nil
}

// writable fails for a file that its user protected: renaming another over it would not ask.
func writable(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// fill writes a new file, with the mode of the old one.
func fill(root *os.Root, name string, content []byte, old fs.FileInfo) (err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}
