//go:build !unix

package workspace

import (
	"os"
	"os/exec"
)

// Without process groups a command alone is ended; what it started ends when its pipes close.

func lead(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended by itself

func crowd(*exec.Cmd) bool { return false }

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
