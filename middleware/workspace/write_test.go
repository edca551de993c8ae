package workspace

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
)

func TestUnreadFileIsNotOverwritten(t *testing.T) {
	b := open(t, Options{})
	b.put("f", "theirs")
	require.Contains(t, b.refuse("Write", args{"path": "f", "content": "mine"}), "read it first")
	require.Equal(t, "theirs", b.content("f"))
	b.do("Read", args{"path": "f"})
	require.Contains(t, b.do("Write", args{"path": "f", "content": "mine"}), "Replaced f (1 lines, 4 bytes)")
	b.do("Write", args{"path": "f", "content": "again"}) // what it wrote itself it knows
	require.Equal(t, "again", b.content("f"))
}

func TestFileThatChangedSinceItWasReadIsKept(t *testing.T) {
	for _, c := range []struct{ name, now string }{{"longer", "changed"}, {"as long and as old", "b"}} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{})
			b.put("f", "a")
			info, err := os.Stat(b.path("f"))
			require.NoError(t, err)
			b.do("Read", args{"path": "f"})
			b.put("f", c.now)
			require.NoError(t, os.Chtimes(b.path("f"), time.Time{}, info.ModTime()))
			for _, text := range []string{
				b.refuse("Write", args{"path": "f", "content": "mine"}),
				b.refuse("Edit", args{"path": "f", "old": c.now, "new": "mine"}),
			} {
				require.Contains(t, text, "changed since you read it")
			}
			require.Equal(t, c.now, b.content("f"))
			b.do("Read", args{"path": "f"})
			b.do("Edit", args{"path": "f", "old": c.now, "new": "mine"})
			require.Equal(t, "mine", b.content("f"))
		})
	}
}

func TestTouchedFileIsTheSameFile(t *testing.T) {
	b := open(t, Options{})
	b.put("f", "a")
	b.do("Read", args{"path": "f"})
	require.NoError(t, os.Chtimes(b.path("f"), time.Time{}, time.Now().Add(time.Minute)))
	b.do("Write", args{"path": "f", "content": "b"})
	require.Equal(t, "b", b.content("f"))
}

func TestWriteKeepsTheModeAndLeavesNothingBehind(t *testing.T) {
	b := open(t, Options{})
	b.put("run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(b.path("run.sh"), 0o710))
	b.do("Read", args{"path": "run.sh"})
	b.do("Write", args{"path": "run.sh", "content": "#!/bin/sh\ntrue\n"})
	b.do("Edit", args{"path": "run.sh", "old": "true", "new": "false"})
	info, err := os.Stat(b.path("run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o710), info.Mode().Perm())
	entries, err := os.ReadDir(b.root)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestWriteRefusesWhatIsNoFile(t *testing.T) {
	b := open(t, Options{})
	b.put("dir/f", "x")
	require.Contains(t, b.refuse("Write", args{"path": "dir", "content": ""}), "is a directory")
	require.Contains(t, b.refuse("Write", args{"path": "dir/f/g", "content": ""}), "not a directory")
	require.Contains(t, b.refuse("Write", args{"path": "", "content": ""}), "path")
}

func TestParallelEditsOfOneFileAreAllKept(t *testing.T) {
	b := open(t, Options{})
	text := ""
	for i := range 40 {
		text += fmt.Sprintf("<%d>\n", i)
	}
	b.put("f", text)
	b.do("Read", args{"path": "f"})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r := b.try(t.Context(), "Edit", args{"path": "f", "old": fmt.Sprintf("<%d>", i), "new": fmt.Sprintf("[%d]", i)})
			if r.Error {
				t.Error(r.Text())
			}
		})
	}
	wg.Wait()
	require.NotContains(t, b.content("f"), "<")
}

func TestChildHasItsOwnRecordAndAForkItsParents(t *testing.T) {
	b := open(t, Options{NoHome: true, OutputCap: 77})
	b.put("f", "x")
	b.do("Read", args{"path": "f"})
	child := func(fork bool) *bench {
		inst, err := b.inst.Child(t.Context(), middleware.Env{Owner: Name, Agent: middleware.Agent{Fork: fork}, Project: middleware.Project{Root: b.root}})
		require.NoError(t, err)
		return seat(t, b.root, New(Options{}), inst)
	}
	named := child(false)
	require.Same(t, b.inst.State.(*state).shared, named.inst.State.(*state).shared, "a child has what holds for its parent")
	named.refuse("Write", args{"path": "f", "content": "y"})
	named.do("Read", args{"path": "f"})
	named.do("Write", args{"path": "f", "content": "yy"})
	require.Contains(t, b.refuse("Write", args{"path": "f", "content": "z"}), "changed")
	b.do("Read", args{"path": "f"})
	child(true).do("Write", args{"path": "f", "content": "zzz"})
}
