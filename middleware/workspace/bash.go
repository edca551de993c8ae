package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	cmdline "github.com/metaharness/peri/middleware/workspace/shell"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const bashTimeout = 120_000 // milliseconds

type bashIn struct {
	Command string `json:"command" doc:"The command line." min:"1"`
	Timeout int    `json:"timeout,omitempty" doc:"Milliseconds after which it is stopped; 120000 unless given." min:"1" max:"600000"`
	Cwd     string `json:"cwd,omitempty" doc:"Folder to start in: absolute, or relative to the project's root."`
}

func bashTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "Bash", Family: "commands", Groups: []string{preset}, Category: "terminal",
			Aliases: bashAliases(),
		},
		Title: "Run a command", Doc: text("bash"), Effects: toolview.Runs,
		Subjects: toolview.Subjects(func(in bashIn) []toolview.Subject { return cmdline.Subjects(in.Command, in.Cwd) }),
	}, bash)
}

// bashAliases are the other names of Bash. A deny of any of them also covers the tools for background commands.
func bashAliases() []string {
	return []string{
		"bash", "shell", "terminal", "command", "run_command", "run_shell_command", "execute_command",
		"run_terminal_cmd", "exec_command", "local_shell",
	}
}

// outcome is the structured result of a command.
type outcome struct {
	ExitCode  int  `json:"exit_code"`
	TimedOut  bool `json:"timed_out"`
	Cancelled bool `json:"cancelled,omitempty"`
	// Background says that processes which the command left behind were stopped.
	Background  bool   `json:"background_stopped,omitempty"`
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
	StdoutFile  string `json:"stdout_file,omitempty"`
	StderrFile  string `json:"stderr_file,omitempty"`
}

func bash(ctx context.Context, s *state, _ *toolview.Call, in bashIn) (*message.Result, error) {
	dir, err := s.folder(in.Cwd)
	if err != nil {
		return fail(err)
	}
	cmd, err := shellCommand(in.Command, dir)
	if err != nil {
		return fail(err)
	}
	if in.Timeout == 0 {
		in.Timeout = bashTimeout
	}
	stdout := &capture{kind: "stdout", most: s.OutputCap, spill: &s.shared.spill}
	stderr := &capture{kind: "stderr", most: s.OutputCap, spill: &s.shared.spill}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	p, err := s.procs.start(cmd)
	if err != nil {
		return fail(fmt.Errorf("the command could not be started: %w", err))
	}
	var out outcome
	timer := time.NewTimer(time.Duration(in.Timeout) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		out.TimedOut = true
		p.stop()
	case <-ctx.Done():
		out.Cancelled = true
		p.stop()
	}
	out.ExitCode = p.code()
	select {
	case <-p.done:
		out.Background = p.left && !out.TimedOut && !out.Cancelled
	default:
	}
	return out.result(stdout, stderr, s.OutputCap, in.Timeout)
}

// result words an outcome. Each stream may use what the other leaves of most.
func (o *outcome) result(stdout, stderr *capture, most, timeout int) (*message.Result, error) {
	o.StdoutBytes, o.StderrBytes = stdout.size(), stderr.size()
	room := func(other int64) int { return max(most/2, most-int(min(other, int64(most)))) }
	var b strings.Builder
	shown, file := stdout.finish(room(o.StderrBytes))
	o.StdoutFile = file
	section(&b, "", shown)
	shown, file = stderr.finish(room(o.StdoutBytes))
	o.StderrFile = file
	section(&b, "[stderr]\n", shown)
	if b.Len() == 0 {
		b.WriteString("(no output)\n")
	}
	switch {
	case o.TimedOut:
		fmt.Fprintf(&b, "[stopped after %d ms, with all that it had started]", timeout)
	case o.Cancelled:
		b.WriteString("[cancelled]")
	default:
		fmt.Fprintf(&b, "[exit code %d]", o.ExitCode)
	}
	if o.Background {
		b.WriteString("\n[what it had left running in the background was stopped]")
	}
	r := message.Say(b.String())
	r.Error = o.ExitCode != 0 || o.TimedOut || o.Cancelled
	var err error
	if r.Structured, err = json.Marshal(o); err != nil {
		return nil, fmt.Errorf("workspace: outcome: %w", err)
	}
	return r, nil
}

func section(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	b.WriteString(title)
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// folder finds where a command starts.
func (s *state) folder(cwd string) (string, error) {
	at, err := s.box.find(cwd)
	if err != nil {
		return "", fmt.Errorf("cwd: %w", err)
	}
	info, err := os.Stat(at.real)
	switch {
	case err != nil:
		return "", fmt.Errorf("cwd: %w", explain(at.shown, err))
	case !info.IsDir():
		return "", fmt.Errorf("cwd: %s is no directory", at.shown)
	}
	return at.real, nil
}
