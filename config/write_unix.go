//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file that will take another's place the other's owner and group.
func keepOwner(f *os.File, was fs.FileInfo) error {
	old, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == old.Uid && now.Gid == old.Gid {
		return nil
	}
	if err := f.Chown(int(old.Uid), int(old.Gid)); err != nil {
		return fmt.Errorf("its owner would be another: %w", err)
	}
	return nil
}
