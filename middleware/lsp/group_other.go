//go:build !unix

package lsp

import "os/exec"

// Without process groups a server alone is ended; what it started ends when its pipes close.

func lead(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended by itself
