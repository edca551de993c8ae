//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package config

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder takes the advisory lock of a folder without waiting; ok is false while another process has it. It leaves
// nothing behind, and ends with the process.
func lockFolder(dir string) (unlock func() error, ok bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f.Close, true, nil
	}
	bad := f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, bad
	}
	return nil, false, &os.PathError{Op: "lock", Path: dir, Err: err}
}
