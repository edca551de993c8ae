//go:build unix

package workspace

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lifeline is a pipe that a command's grandchild holds open: it ends when the grandchild does, reaped or not.
type lifeline struct {
	path string
	born chan struct{}
	dead chan struct{}
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{path: t.TempDir() + "/fifo", born: make(chan struct{}), dead: make(chan struct{})}
	require.NoError(t, syscall.Mkfifo(l.path, 0o600))
	go func() {
		f, err := os.Open(l.path)
		if err != nil {
			return
		}
		defer f.Close()
		r := bufio.NewReader(f)
		if line, _ := r.ReadString('\n'); line == "alive\n" {
			close(l.born)
		}
		_, _ = io.Copy(io.Discard, r) // ends with the last writer
		close(l.dead)
	}()
	return l
}

// grandchild is a command that leaves a process behind which holds the lifeline and, if loud, the command's output.
func (l *lifeline) grandchild(loud bool) string {
	quiet := " >/dev/null 2>&1"
	if loud {
		quiet = ""
	}
	return "sh -c 'exec 9>" + l.path + "; echo alive >&9; sleep 300'" + quiet + " & "
}

func wait(t *testing.T, what string, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(waitLong):
		require.Fail(t, "the grandchild is not "+what)
	}
}

func TestTimeoutKillsTheWholeProcessGroup(t *testing.T) {
	b := open(t, Options{})
	l := newLifeline(t)
	r := b.try(t.Context(), "Bash", args{"command": l.grandchild(true) + "echo up; wait", "timeout": 500})
	wait(t, "born", l.born)
	wait(t, "dead", l.dead)
	require.True(t, r.Error)
	require.Equal(t, "up\n[stopped after 500 ms, with all that it had started]", r.Text())
	require.True(t, structured(t, r).TimedOut)
}

func TestGroupThatIgnoresTheRequestIsKilled(t *testing.T) {
	b := open(t, Options{})
	l := newLifeline(t)
	r := b.try(t.Context(), "Bash", args{"command": "trap '' TERM; " + l.grandchild(true) + "wait; sleep 300", "timeout": 300})
	wait(t, "dead", l.dead)
	require.Equal(t, 137, structured(t, r).ExitCode)
}

func TestCommandIsNotHeldUpByWhatItLeavesBehind(t *testing.T) {
	for _, loud := range []bool{true, false} {
		b := open(t, Options{})
		l := newLifeline(t)
		// The command ends when its grandchild is there.
		b.put("wait.sh", "while [ ! -e up ]; do sleep 0.02; done; echo done\n")
		go func() { <-l.born; _ = os.WriteFile(b.path("up"), nil, 0o600) }()
		r := b.try(t.Context(), "Bash", args{"command": l.grandchild(loud) + ". ./wait.sh"})
		require.True(t, strings.HasPrefix(r.Text(), "done\n[exit code 0]\n[what it had left running in the background was stopped]"), r.Text())
		require.True(t, structured(t, r).Background)
		wait(t, "dead", l.dead)
	}
}

func TestCloseKillsBackgroundGroups(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	l := newLifeline(t)
	b.do("BashStart", args{"command": l.grandchild(true) + "wait"})
	wait(t, "born", l.born)
	require.NoError(t, b.inst.Close(t.Context()))
	wait(t, "dead", l.dead)
}

func TestStopKillsBackgroundGroups(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	l := newLifeline(t)
	b.do("BashStart", args{"command": l.grandchild(true) + "wait"})
	wait(t, "born", l.born)
	b.do("BashStop", args{"id": "shell-1"})
	wait(t, "dead", l.dead)
}

func TestReadDoesNotWaitForAPipe(t *testing.T) {
	b := open(t, Options{})
	require.NoError(t, syscall.Mkfifo(b.path("pipe"), 0o600))
	b.put("f", "x")
	for name, in := range map[string]args{
		"Read": {"path": "pipe"}, "Edit": {"path": "pipe", "old": "a", "new": "b"},
		"Write": {"path": "pipe", "content": ""}, "Grep": {"path": "pipe", "pattern": "x"},
	} {
		require.Contains(t, b.refuse(name, in), "no regular file", name)
	}
	require.Equal(t, "f:1:x\n", b.do("Grep", args{"pattern": "x"}))
}
