//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// lead makes a command the leader of a group, and its end the end of all that it started.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
