//go:build unix

package meta_test

import "syscall"

func pipe(path string) error { return syscall.Mkfifo(path, 0o644) }
