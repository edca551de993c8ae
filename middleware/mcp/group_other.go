//go:build !unix

package mcp

import "os/exec"

// lead leaves a command as it is: there are no process groups here.
func lead(*exec.Cmd) {}

// ask does nothing: there is no signal that a process could heed. end ends the process.
func ask(*exec.Cmd)     {}
func end(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
