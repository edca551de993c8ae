//go:build external

package builtin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/script"
)

// It runs git, which a machine that only has Go may lack.
func TestAnAgentWithAWorktreeOfItsOwnLeavesTheProjectAlone(t *testing.T) {
	for _, w := range starts("kid") {
		if w.fork {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			f := newFamily(t, "tools: {deny: ['Edit(secrets/**)']}\n", "isolation: worktree",
				"Write", `{"path":"made.txt","content":"x"}`, "Bash", `{"command":"pwd; ls"}`, "Write", `{"path":"secrets/a","content":"x"}`,
				"Write", "")
			root, err := filepath.EvalSymlinks(f.root)
			require.NoError(t, err)
			f.root = root
			dir := filepath.Join(root, ".git", "peri", "worktrees", "main.1")
			f.calls[7] = `{"path":"` + filepath.ToSlash(filepath.Join(dir, "secrets", "a")) + `","content":"x"}`
			f.calls = append(f.calls, "Write", `{"path":"`+filepath.ToSlash(filepath.Join(root, "made.txt"))+`","content":"x"}`)
			f.write("tracked.txt", "x")
			for _, args := range [][]string{{"init", "-q"}, {"add", "tracked.txt"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "one"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = root
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
			}
			got := f.start(t, w)
			require.Contains(t, got.told, dir, "its parent is told where")
			require.FileExists(t, filepath.Join(dir, "made.txt"))
			require.NoFileExists(t, filepath.Join(root, "made.txt"))
			require.Contains(t, got.answers[1], dir)
			require.Contains(t, got.answers[1], "tracked.txt")
			for _, i := range []int{2, 3} {
				require.Contains(t, got.answers[i], "Edit(secrets/**)", "the parent's rule is about the copy too")
			}
			require.Contains(t, got.answers[4], "a folder of its own")
			_, err = os.Stat(filepath.Join(dir, "secrets"))
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
	f := newFamily(t, "", "isolation: worktree", "Glob", `{"pattern":"*"}`)
	got := f.start(t, way{name: "named", start: []script.Step{script.Do("Agent", `{"agent":"kid","prompt":"go"}`)}})
	require.Contains(t, got.told, "in no git repository that could be used")
	require.Empty(t, got.answers)
}
