package workspace

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"
)

const (
	// grace is how long a process group has between being asked to end and being killed.
	grace = time.Second
	// pipes is how long a dead command's output is waited for while something that it started holds it open.
	pipes = time.Second
)

// procs are the running commands of one session.
type procs struct {
	mu     sync.Mutex
	live   map[*proc]bool
	closed bool
}

// proc is one command with its process group.
type proc struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the command has ended and its group is gone
	// left says that something the command had started outlived it and was killed. Read it after done.
	left bool
}

// start runs a command as the leader of its own process group.
func (p *procs) start(cmd *exec.Cmd) (*proc, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the session is closed")
	}
	lead(cmd)
	cmd.WaitDelay = pipes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	one := &proc{cmd: cmd, done: make(chan struct{})}
	if p.live == nil {
		p.live = map[*proc]bool{}
	}
	p.live[one] = true
	go func() {
		err := cmd.Wait()
		one.left = crowd(cmd) || errors.Is(err, exec.ErrWaitDelay)
		kill(cmd)
		p.mu.Lock()
		delete(p.live, one)
		p.mu.Unlock()
		close(one.done)
	}()
	return one, nil
}

// stop ends a command and all of its group: politely, then not.
func (one *proc) stop() {
	select {
	case <-one.done:
		return
	default:
	}
	terminate(one.cmd)
	if one.ended(grace) {
		return
	}
	kill(one.cmd)
	one.ended(pipes + grace)
}

// ended waits for the end of a command, but no longer than d.
func (one *proc) ended(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-one.done:
		return true
	case <-t.C:
		return false
	}
}

// code is the exit code in the shell's way: 128 and the signal's number for a command that one ended; -1 = it could
// not be ended.
func (one *proc) code() int {
	select {
	case <-one.done:
		return exitCode(one.cmd.ProcessState)
	default:
		return -1
	}
}

// close ends every command. When ctx is over nothing more is waited for; all have been told to end by then.
func (p *procs) close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	var wg sync.WaitGroup
	for one := range p.live {
		wg.Go(one.stop)
	}
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		for one := range p.live {
			kill(one.cmd)
		}
		return ctx.Err()
	}
}

// findShell returns the first of the programs that is there.
func findShell(programs ...string) (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("this machine has no shell: neither bash nor sh was found")
}

// shellCommand is a command line for the machine's shell, starting in dir.
func shellCommand(line, dir string) (*exec.Cmd, error) {
	shell, err := findShell("/bin/bash", "bash", "sh")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(shell, "-c", line)
	cmd.Dir = dir
	return cmd, nil
}
