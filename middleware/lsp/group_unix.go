//go:build unix

package lsp

import (
	"os/exec"
	"syscall"
)

// lead makes a server the leader of a new process group, so that all it starts can be ended with it.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it may have ended by itself
