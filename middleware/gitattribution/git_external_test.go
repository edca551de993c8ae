//go:build external

package gitattribution_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/gitattribution"
	"github.com/metaharness/peri/session/provider/script"
)

// It runs git, which a machine that only has Go may lack.
func TestGitTakesTheTrailerForOne(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	before := git("status", "--porcelain", "--ignored")
	got, _ := tails(t, root, "", nil, "", script.Do("Change", `{}`), script.Say("ok"))
	require.Contains(t, got[1], gitattribution.Trailer)
	require.Equal(t, before, git("status", "--porcelain", "--ignored"), "it changes nothing itself")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), nil, 0o600))
	git("add", "a")
	git("commit", "-q", "-m", "a: begin\n\n"+gitattribution.Trailer)
	require.Equal(t, gitattribution.Trailer, git("log", "-1", "--format=%(trailers:only,unfold)"))
}
