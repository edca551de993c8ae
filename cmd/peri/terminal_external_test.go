//go:build external && unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// screen is peri in a terminal of tmux.
type screen struct {
	t      *testing.T
	socket string
}

// onScreen runs a prompt in a new project in a terminal of its own. The test's program is peri when it is called so.
func onScreen(t *testing.T, prompt string) (*screen, string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(root, "peri")))
	require.NoError(t, os.Mkdir(filepath.Join(root, ".peri"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "prompt"), []byte(prompt), 0o600))
	s := &screen{t: t, socket: filepath.Join(t.TempDir(), "s")}
	s.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "60", "-c", root,
		`./peri run --root . --home home "$(cat prompt)"; echo "ended $?"; sleep 1000`)
	t.Cleanup(func() { s.tmux("kill-server") })
	return s, root
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	require.NoError(s.t, err, string(out))
	return string(out)
}

func (s *screen) keys(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

// shows waits until a text stands on the screen, and returns all of it.
func (s *screen) shows(want string) string {
	s.t.Helper()
	var got string
	require.Eventually(s.t, func() bool {
		got = s.tmux("capture-pane", "-p", "-J")
		return strings.Contains(got, want)
	}, 20*time.Second, 20*time.Millisecond, "%s", want)
	return got
}

func TestAPersonApprovesInARealTerminal(t *testing.T) {
	s, root := onScreen(t, `call Bash {"command": "touch made"}`)
	s.shows("Run it? y for this once")
	require.NoFileExists(t, filepath.Join(root, "made"))
	s.keys("y", "Enter")
	s.shows("ended 0")
	require.FileExists(t, filepath.Join(root, "made"))
}

func TestAPersonRefusesInARealTerminal(t *testing.T) {
	for keys, told := range map[string]string{"not on a Friday": "not on a Friday", "": "the user rejected it"} {
		s, root := onScreen(t, `call Bash {"command": "touch made"}`)
		s.shows("Run it?")
		s.keys("-l", keys)
		s.keys("Enter")
		require.Contains(t, s.shows("ended"), told)
		require.NoFileExists(t, filepath.Join(root, "made"))
	}
}

func TestKeysPressedEarlyApproveNothingInARealTerminal(t *testing.T) {
	s, root := onScreen(t, "call Bash {\"command\": \"touch first; sleep 2\"}\n\ncall Bash {\"command\": \"touch second\"}")
	s.shows("Run it?")
	s.keys("y", "Enter")
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(root, "first")); return err == nil }, 20*time.Second, 10*time.Millisecond)
	s.keys("y", "Enter", "y")
	s.shows("touch second")
	s.keys("Enter")
	s.shows("ended")
	require.NoFileExists(t, filepath.Join(root, "second"))
}

func TestAPersonSeesTheDiffOfAnEditAndAnswersABatchAtOnce(t *testing.T) {
	s, root := onScreen(t, "call Write {\"path\": \"a\", \"content\": \"one line\"}\ncall Write {\"path\": \"b\", \"content\": \"another\"}")
	require.Contains(t, s.shows("all or none for these 2"), "+one line")
	s.keys("all", "Enter")
	s.shows("ended 0")
	require.FileExists(t, filepath.Join(root, "a"))
	require.FileExists(t, filepath.Join(root, "b"))
}

func TestAPersonChoosesAnAnswerInARealTerminal(t *testing.T) {
	s, _ := onScreen(t, `call AskUserQuestion {"questions": [{"question": "Which way?", "header": "Way", "options": [{"label": "left", "description": "over there"}, {"label": "right", "description": "over here"}]}]}`)
	s.shows("A number, your own words")
	s.keys("2", "Enter")
	require.Contains(t, s.shows("ended 0"), "right")
}
