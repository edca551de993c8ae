package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed and not read yet, an unfinished line included. A file that is no terminal keeps it.
func flushInput(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
