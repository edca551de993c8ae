package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	cmdline "github.com/metaharness/peri/middleware/workspace/shell"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const (
	mostShells = 32              // background commands that one session may have running
	waitFor    = 10_000          // milliseconds that a BashWait waits unless told otherwise
	inputFor   = 5 * time.Second // how long a command may leave its input unread
)

// shells are the background commands that one session started, the ended ones too until they are stopped.
type shells struct {
	mu   sync.Mutex
	n    int
	list []*shell
}

type shell struct {
	id, line string
	proc     *proc
	out      *ring
	input    sync.Mutex // one writer at a time
	stdin    *os.File
}

type startIn struct {
	Command string `json:"command" doc:"The command line." min:"1"`
	Cwd     string `json:"cwd,omitempty" doc:"Folder to start in: absolute, or relative to the project's root."`
}

type waitIn struct {
	ID      string `json:"id" doc:"The id that the start returned." min:"1"`
	Timeout int    `json:"timeout,omitempty" doc:"Milliseconds to wait for its end; 10000 unless given." min:"1" max:"600000"`
}

type stdinIn struct {
	ID    string `json:"id" doc:"The id that the start returned." min:"1"`
	Input string `json:"input" doc:"Text for its standard input, line breaks included; empty closes it."`
}

type stopIn struct {
	ID string `json:"id" doc:"The id that the start returned." min:"1"`
}

// backgroundTools are the tools for background commands; unsupported is why they are not offered, "" = they are.
func backgroundTools(unsupported string) *toolview.Set {
	tool := func(name, alias, title string, subjects func(json.RawMessage) ([]toolview.Subject, error)) toolview.Tool {
		return toolview.Tool{
			Decl: toolview.Decl{
				Name: name, Family: "commands", Groups: []string{preset}, Category: "terminal", Aliases: []string{alias},
				DeniedWith: bashAliases(),
			},
			Title: title, Doc: text(alias), Effects: toolview.Runs, Subjects: subjects, Unsupported: unsupported,
		}
	}
	id := func(id string) []toolview.Subject { return []toolview.Subject{{Kind: toolview.Name, Value: id}} }
	return toolview.MustSet(
		toolview.New(tool("BashStart", "bash_start", "Start a background command",
			toolview.Subjects(func(in startIn) []toolview.Subject { return cmdline.Subjects(in.Command, in.Cwd) })), bashStart),
		toolview.New(tool("BashWait", "bash_wait", "Wait for a background command",
			toolview.Subjects(func(in waitIn) []toolview.Subject { return id(in.ID) })), bashWait),
		// What is typed into a shell is a command like any other.
		toolview.New(tool("BashStdin", "bash_stdin", "Write to a background command",
			toolview.Subjects(func(in stdinIn) []toolview.Subject { return append(id(in.ID), typed(in.Input)...) })), bashStdin),
		toolview.New(tool("BashStop", "bash_stop", "Stop a background command",
			toolview.Subjects(func(in stopIn) []toolview.Subject { return id(in.ID) })), bashStop),
	)
}

// typed is what is typed into a command: who reads it may be a shell in the middle of anything, so that no rule that
// allows can cover it. Rules that restrict see it as a command line.
func typed(input string) []toolview.Subject {
	whole := toolview.Subject{Kind: toolview.Command, Value: input, Opaque: true, Also: []string{"*"}}
	if input == "" {
		whole.Also = nil
	}
	return append([]toolview.Subject{whole}, cmdline.Subjects(input, "")...)
}

func bashStart(_ context.Context, s *state, _ *toolview.Call, in startIn) (*message.Result, error) {
	dir, err := s.folder(in.Cwd)
	if err != nil {
		return fail(err)
	}
	cmd, err := shellCommand(in.Command, dir)
	if err != nil {
		return fail(err)
	}
	s.shells.mu.Lock()
	defer s.shells.mu.Unlock()
	if err := s.shells.room(); err != nil {
		return fail(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fail(fmt.Errorf("the command could not be started: %w", err))
	}
	defer r.Close()
	sh := &shell{line: in.Command, out: &ring{most: s.OutputCap}, stdin: w}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, sh.out, sh.out
	if sh.proc, err = s.procs.start(cmd); err != nil {
		_ = w.Close()
		return fail(fmt.Errorf("the command could not be started: %w", err))
	}
	go func() { <-sh.proc.done; _ = w.Close() }()
	s.shells.n++
	sh.id = fmt.Sprintf("shell-%d", s.shells.n)
	s.shells.list = append(s.shells.list, sh)
	return sh.report("Started `"+sh.id+"`.", "")
}

// room makes place for one more: the oldest that has ended leaves first.
func (s *shells) room() error {
	if len(s.list) < mostShells {
		return nil
	}
	i := slices.IndexFunc(s.list, func(sh *shell) bool { return !sh.running() })
	if i < 0 {
		return fmt.Errorf("%d background commands are running, and that is the most: stop one first", mostShells)
	}
	s.list = slices.Delete(s.list, i, i+1)
	return nil
}

// find returns a background command of this session, and takes it off the list when take is set.
func (s *shells) find(id string, take bool) (*shell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.list))
	for i, sh := range s.list {
		if sh.id == id {
			if take {
				s.list = slices.Delete(s.list, i, i+1)
			}
			return sh, nil
		}
		names = append(names, sh.id)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no background command %q: none has been started in this session", id)
	}
	return nil, fmt.Errorf("no background command %q: there are %s", id, strings.Join(names, ", "))
}

func (sh *shell) running() bool {
	select {
	case <-sh.proc.done:
		return false
	default:
		return true
	}
}

// report is a background command's new output and how it stands.
func (sh *shell) report(lead, output string) (*message.Result, error) {
	st := struct {
		ID       string `json:"id"`
		Running  bool   `json:"running"`
		ExitCode *int   `json:"exit_code,omitempty"`
	}{ID: sh.id, Running: sh.running()}
	var b strings.Builder
	section(&b, "", lead)
	section(&b, "", output)
	if st.Running {
		b.WriteString("[running]")
	} else {
		code := sh.proc.code()
		st.ExitCode = &code
		fmt.Fprintf(&b, "[exit code %d]", code)
	}
	r := message.Say(b.String())
	var err error
	if r.Structured, err = json.Marshal(st); err != nil {
		return nil, fmt.Errorf("workspace: state of %s: %w", sh.id, err)
	}
	return r, nil
}

func (sh *shell) output() string {
	if out := sh.out.take(); out != "" {
		return out
	}
	return "(no new output)"
}

func bashWait(ctx context.Context, s *state, _ *toolview.Call, in waitIn) (*message.Result, error) {
	sh, err := s.shells.find(in.ID, false)
	if err != nil {
		return fail(err)
	}
	if in.Timeout == 0 {
		in.Timeout = waitFor
	}
	timer := time.NewTimer(time.Duration(in.Timeout) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-sh.proc.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	return sh.report("", sh.output())
}

func bashStdin(_ context.Context, s *state, _ *toolview.Call, in stdinIn) (*message.Result, error) {
	sh, err := s.shells.find(in.ID, false)
	if err != nil {
		return fail(err)
	}
	sh.input.Lock()
	defer sh.input.Unlock()
	if !sh.running() {
		return fail(fmt.Errorf("`%s` has ended and reads no more", sh.id))
	}
	if in.Input == "" {
		_ = sh.stdin.Close() // closing it twice is as good as once
		return sh.report("Its standard input is closed.", "")
	}
	_ = sh.stdin.SetWriteDeadline(time.Now().Add(inputFor)) // where pipes have none, the write alone decides
	n, err := sh.stdin.WriteString(in.Input)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(fmt.Errorf("`%s` does not read: it took %d of %d bytes", sh.id, n, len(in.Input)))
	case errors.Is(err, os.ErrClosed):
		return fail(fmt.Errorf("the standard input of `%s` is closed", sh.id))
	case err != nil:
		return fail(fmt.Errorf("`%s` does not take input: %w", sh.id, err))
	}
	return sh.report(fmt.Sprintf("Wrote %d bytes.", n), "")
}

func bashStop(_ context.Context, s *state, _ *toolview.Call, in stopIn) (*message.Result, error) {
	sh, err := s.shells.find(in.ID, true)
	if err != nil {
		return fail(err)
	}
	sh.proc.stop()
	return sh.report("", sh.output())
}
