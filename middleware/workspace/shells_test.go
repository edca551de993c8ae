package workspace

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

const (
	waitLong = 20 * time.Second
	poll     = 5 * time.Millisecond
)

func TestBackgroundToolsNeedTheSetting(t *testing.T) {
	names := []string{"BashStart", "BashWait", "BashStdin", "BashStop"}
	on, off := open(t, Options{BashAsync: true}), open(t, Options{})
	for _, name := range names {
		require.True(t, on.view.Explain(name).Visible, name)
		x := off.view.Explain(name)
		require.False(t, x.Visible, name)
		require.Equal(t, toolview.GateSupported, x.Gate)
		require.Equal(t, "set workspace.bash_async: true", x.Rule)
	}
	require.Contains(t, off.refuse("BashStart", args{"command": "true"}), "There is no tool")
	require.Same(t, off.inst.Deferred.Tools(), off.inst.Deferred.Tools())
}

func TestBackgroundCommandIsFedWatchedAndStopped(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	require.Equal(t, "Started `shell-1`.\n[running]", b.do("BashStart", args{"command": "while read l; do echo got $l; done; echo bye"}))
	require.Contains(t, b.do("BashStdin", args{"id": "shell-1", "input": "one\ntwo\n"}), "Wrote 8 bytes.")
	var out string
	require.Eventually(t, func() bool {
		out += b.do("BashWait", args{"id": "shell-1", "timeout": 1})
		return strings.Contains(out, "got one\n") && strings.Contains(out, "got two\n")
	}, waitLong, poll)
	require.Contains(t, b.do("BashWait", args{"id": "shell-1", "timeout": 1}), "(no new output)\n[running]")
	b.do("BashStdin", args{"id": "shell-1", "input": ""})
	require.Equal(t, "bye\n[exit code 0]", b.do("BashWait", args{"id": "shell-1"}))
	require.Contains(t, b.refuse("BashStdin", args{"id": "shell-1", "input": "x"}), "has ended")
	require.Equal(t, "(no new output)\n[exit code 0]", b.do("BashStop", args{"id": "shell-1"}))
	require.Contains(t, b.refuse("BashWait", args{"id": "shell-1"}), "none has been started")

	b.do("BashStart", args{"command": "echo up; sleep 300"})
	r := b.try(t.Context(), "BashStop", args{"id": "shell-2"})
	require.Contains(t, r.Text(), "[exit code 143]")
	require.JSONEq(t, `{"id":"shell-2","running":false,"exit_code":143}`, string(r.Structured))
}

func TestBackgroundOutputIsBounded(t *testing.T) {
	b := open(t, Options{BashAsync: true, OutputCap: 100})
	b.do("BashStart", args{"command": "i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done"})
	got := b.do("BashWait", args{"id": "shell-1"})
	require.Less(t, len(got), 200)
	require.Regexp(t, `older bytes were dropped`, got)
	require.Contains(t, got, "line 999\n[exit code 0]")
}

func TestBackgroundCommandsAreLimitedToThoseThatRun(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	b.do("BashStart", args{"command": "true"})
	b.do("BashWait", args{"id": "shell-1"})
	for range mostShells {
		b.do("BashStart", args{"command": "sleep 300"})
	}
	require.Contains(t, b.refuse("BashWait", args{"id": "shell-1"}), "there are shell-2, ", "what had ended made room")
	require.Contains(t, b.refuse("BashStart", args{"command": "true"}), "stop one first")
}

func TestChildOwnsWhatItStarts(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	inst, err := b.inst.Child(t.Context(), middleware.Env{Owner: Name, Project: middleware.Project{Root: b.root}})
	require.NoError(t, err)
	child := seat(t, b.root, New(Options{BashAsync: true}), inst)
	b.do("BashStart", args{"command": "cat"})
	child.do("BashStart", args{"command": "cat"})
	mine, err := b.inst.State.(*state).shells.find("shell-1", false)
	require.NoError(t, err)
	theirs, err := inst.State.(*state).shells.find("shell-1", false)
	require.NoError(t, err)
	r := child.try(t.Context(), "Bash", args{"command": "head -c 40000 /dev/zero"})
	require.NoError(t, inst.Close(t.Context()))
	require.False(t, theirs.running())
	require.True(t, mine.running())
	require.FileExists(t, structured(t, r).StdoutFile, "what a child tells its parent of is still there")
	require.Contains(t, child.refuse("Bash", args{"command": "true"}), "the session is closed")
	require.NoError(t, b.inst.Close(t.Context()))
	require.False(t, mine.running())
	require.NoFileExists(t, structured(t, r).StdoutFile)
}

func TestTextsAndTitlesAreThere(t *testing.T) {
	m := New(Options{})
	tools := append(append([]*toolview.Tool(nil), m.Tools.All()...), m.Deferred.All()...)
	require.Len(t, tools, 11)
	for _, tool := range tools {
		require.NotEmpty(t, tool.Title, tool.Name)
		require.Less(t, strings.Count(tool.Doc, "\n"), 60, tool.Name)
		require.True(t, json.Valid(tool.Schema), tool.Name)
		require.NotNil(t, tool.Subjects, tool.Name)
	}
}
