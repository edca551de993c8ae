package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
)

func structured(t *testing.T, r *message.Result) (o outcome) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.Structured, &o))
	return o
}

func TestBashReturnsExitCodeAndBothStreams(t *testing.T) {
	b := open(t, Options{})
	r := b.try(t.Context(), "Bash", args{"command": "echo out; echo err >&2; exit 3"})
	require.True(t, r.Error)
	require.Equal(t, "out\n[stderr]\nerr\n[exit code 3]", r.Text())
	require.Equal(t, outcome{ExitCode: 3, StdoutBytes: 4, StderrBytes: 4}, structured(t, r))
	require.Equal(t, "(no output)\n[exit code 0]", b.do("Bash", args{"command": "true"}))
	require.Contains(t, b.refuse("Bash", args{"command": "kill -TERM $$"}), "[exit code 143]")
	require.Contains(t, b.refuse("Bash", args{"command": "("}), "[exit code ")
}

func TestBashStartsInTheRootAndReadsNothing(t *testing.T) {
	b := open(t, Options{})
	require.NoError(t, os.Mkdir(b.path("sub"), 0o755))
	require.Equal(t, b.root+"\n[exit code 0]", b.do("Bash", args{"command": "pwd"}))
	require.Equal(t, b.path("sub")+"\n[exit code 0]", b.do("Bash", args{"command": "pwd", "cwd": "sub"}))
	require.Equal(t, "(no output)\n[exit code 0]", b.do("Bash", args{"command": "cat"}))
	b.put("f", "")
	require.Contains(t, b.refuse("Bash", args{"command": "pwd", "cwd": "f"}), "no directory")
	require.Contains(t, b.refuse("Bash", args{"command": "pwd", "cwd": "none"}), "does not exist")
	require.Contains(t, b.refuse("Bash", args{"command": "pwd", "timeout": 600001}), "at most 600000")
}

func TestShellIsWhatTheMachineHas(t *testing.T) {
	sh, err := findShell("/none/bash", "sh")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(sh, "/sh"))
	_, err = findShell("/none/bash")
	require.ErrorContains(t, err, "no shell")
}

func TestLongOutputShowsHeadAndTailAndKeepsTheWhole(t *testing.T) {
	b := open(t, Options{OutputCap: 1000, NoHome: true})
	r := b.try(t.Context(), "Bash", args{"command": "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo oops >&2"})
	text, o := r.Text(), structured(t, r)
	require.Less(t, len(text), 1300)
	require.True(t, strings.HasPrefix(text, "line 0\nline 1\n"), text)
	require.Contains(t, text, "line 1999\n[stderr]\noops\n[exit code 0]")
	require.Contains(t, text, "bytes left out; the whole is in "+o.StdoutFile)
	whole, err := os.ReadFile(o.StdoutFile)
	require.NoError(t, err)
	require.EqualValues(t, o.StdoutBytes, len(whole))
	require.Equal(t, 2000, strings.Count(string(whole), "line "))
	require.Contains(t, b.do("Read", args{"path": o.StdoutFile, "offset": 1500, "limit": 1}), "line 1499")
	require.Contains(t, b.refuse("Edit", args{"path": o.StdoutFile, "old": "line 7\n", "new": ""}), "can be read and not written")

	require.NoError(t, b.inst.Close(t.Context()))
	require.NoFileExists(t, o.StdoutFile)
	require.NoError(t, b.inst.Close(t.Context()), "closing twice is as good as once")
}

func TestStreamsShareTheRoom(t *testing.T) {
	b := open(t, Options{OutputCap: 1000})
	say := func(n int) string { return strings.Repeat("z", n) }
	for _, c := range []struct {
		name           string
		out, err       int
		outCut, errCut bool
	}{
		{"one alone has it all", 1000, 0, false, false},
		{"both fit", 500, 500, false, false},
		{"the longer one is cut", 900, 300, true, false},
		{"both are cut", 900, 900, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := b.try(t.Context(), "Bash", args{"command": "printf %s " + say(c.out) + "; printf %s '" + say(c.err) + "' >&2"})
			o := structured(t, r)
			require.Equal(t, c.outCut, o.StdoutFile != "")
			require.Equal(t, c.errCut, o.StderrFile != "")
			for _, file := range []string{o.StdoutFile, o.StderrFile} {
				if file != "" {
					whole, err := os.ReadFile(file)
					require.NoError(t, err)
					require.Len(t, whole, max(c.out, c.err))
				}
			}
			require.LessOrEqual(t, strings.Count(r.Text(), "z"), 1000)
		})
	}
}

func TestCutOutputIsValidText(t *testing.T) {
	b := open(t, Options{OutputCap: 101})
	b.put("f", strings.Repeat("é", 400))
	require.NotContains(t, b.do("Bash", args{"command": "cat f"}), "\uFFFD")
	require.Contains(t, b.do("Bash", args{"command": `printf '\377'`}), "\uFFFD")
}

func TestCancelledCommandIsStopped(t *testing.T) {
	b := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		require.Eventually(t, func() bool { _, err := os.Stat(b.path("up")); return err == nil }, waitLong, poll)
		cancel()
	}()
	r := b.try(ctx, "Bash", args{"command": "echo before; touch up; sleep 300"})
	<-ready
	require.True(t, r.Error)
	require.Equal(t, "before\n[cancelled]", r.Text())
	require.True(t, structured(t, r).Cancelled)
}

func TestCloseEndsARunningCommand(t *testing.T) {
	b := open(t, Options{})
	ended := make(chan *message.Result)
	go func() { ended <- b.try(t.Context(), "Bash", args{"command": "touch up; sleep 300"}) }()
	require.Eventually(t, func() bool { _, err := os.Stat(b.path("up")); return err == nil }, waitLong, poll)
	require.NoError(t, b.inst.Close(t.Context()))
	require.Contains(t, (<-ended).Text(), "[exit code 143]")
}

func TestCallsBesideEachOtherDoNotMixTheirOutput(t *testing.T) {
	b := open(t, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := b.try(t.Context(), "Bash", args{"command": fmt.Sprintf("echo a%d; echo b%d", i, i)})
			if want := fmt.Sprintf("a%d\nb%d\n[exit code 0]", i, i); r.Text() != want {
				t.Errorf("got %q, want %q", r.Text(), want)
			}
		})
	}
	wg.Wait()
}

func TestOpenStartsAndMakesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := open(t, Options{BashAsync: true})
	made := func() int {
		entries, err := os.ReadDir(os.Getenv("TMPDIR"))
		require.NoError(t, err)
		return len(entries)
	}
	require.Zero(t, made())
	b.do("Bash", args{"command": "head -c 40000 /dev/zero"})
	require.Equal(t, 1, made())
}

func TestPolicyIsWhatOpenReads(t *testing.T) {
	m := New(Options{})
	require.JSONEq(t, `{"sandbox":true,"allow_home":true,"restrict_system":false,"bash_async":false,"output_cap":30000}`, string(m.Policy))
	for _, raw := range []string{"", "{}", string(m.Policy)} {
		s, err := readPolicy(json.RawMessage(raw))
		require.NoError(t, err)
		require.Equal(t, Options{}.settings(), s)
	}
	o := Options{NoSandbox: true, NoHome: true, RestrictSystem: true, BashAsync: true, OutputCap: 5, Home: "/h"}
	s, err := readPolicy(o.policy())
	require.NoError(t, err)
	require.Equal(t, o.settings(), s)
	_, err = readPolicy(json.RawMessage(`{"sand_box":true}`))
	require.ErrorContains(t, err, "sand_box")
}
