package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file whole or not at all: killed at any instant, the old or the new bytes are there. Through a
// link it writes the target. A file that is there keeps its mode and its owner; mode is for a new one.
func WriteFile(name string, data []byte, mode fs.FileMode) error {
	return replace(name, data, mode, nil)
}

// replace is WriteFile that asks once more, at the last moment before the file is another.
func replace(name string, data []byte, mode fs.FileMode, last func() error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("config: write %s: %w", name, err)
		}
	}()
	if name, err = realFile(name); err != nil {
		return err
	}
	was, err := os.Stat(name)
	switch {
	case err == nil:
		mode = was.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil && was != nil {
		err = keepOwner(f, was)
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil && last != nil {
		err = last()
	}
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	syncFolder(dir)
	return nil
}

// syncFolder makes a rename last. Some systems cannot sync a folder; the file is whole either way.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// realFile follows links to the file that they lead to, also to one that is not there yet.
func realFile(name string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		to, bad := os.Readlink(name)
		if bad != nil {
			// Neither a file nor a link: it will be made here.
			return name, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", fmt.Errorf("too many links")
}
