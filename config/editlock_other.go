//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// staleLock is how old a lock file is that nobody holds any more: an edit takes a fraction of a second.
const staleLock = time.Minute

// lockFolder takes a folder by a file in it, where folders themselves cannot be locked; ok is false while another
// process has it.
func lockFolder(dir string) (unlock func() error, ok bool, err error) {
	name := filepath.Join(dir, ".edit.lock")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if info, bad := os.Stat(name); bad == nil && time.Since(info.ModTime()) > staleLock {
			return nil, false, os.Remove(name)
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := f.Close(); err != nil {
		return nil, false, errors.Join(err, os.Remove(name))
	}
	return func() error { return os.Remove(name) }, true, nil
}
