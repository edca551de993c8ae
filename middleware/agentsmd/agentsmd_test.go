package agentsmd_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/agentsmd"
)

func guidance(t *testing.T, files fs.FS, o agentsmd.Options) (text string, notices []string, inst *middleware.Instance) {
	t.Helper()
	m := agentsmd.New(o)
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{
		Project: middleware.Project{FS: files},
		Notice:  func(s string) { notices = append(notices, s) },
	})
	require.NoError(t, err)
	return inst.Vars["guidance"], notices, inst
}

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func TestGuidanceComesFromOneProjectFile(t *testing.T) {
	const a, c = "From the project's `AGENTS.md`:\n\n", "From the project's `CLAUDE.md`:\n\n"
	for name, tc := range map[string]struct {
		files  fs.FS
		want   string
		notice string
	}{
		"none":                 {files(), "", ""},
		"no project":           {nil, "", ""},
		"agents":               {files("AGENTS.md", "Use tabs.\n"), a + "Use tabs.", ""},
		"claude":               {files("CLAUDE.md", "Use tabs.\n"), c + "Use tabs.", ""},
		"both differ":          {files("AGENTS.md", "A", "CLAUDE.md", "C"), a + "A", "CLAUDE.md is not read"},
		"both the same":        {files("AGENTS.md", "A\n", "CLAUDE.md", "A"), a + "A", ""},
		"claude refers":        {files("AGENTS.md", "A", "CLAUDE.md", "@AGENTS.md\n"), a + "A", ""},
		"agents refers":        {files("AGENTS.md", "@./CLAUDE.md", "CLAUDE.md", "C"), c + "C", ""},
		"reference to nothing": {files("CLAUDE.md", "@AGENTS.md"), "", ""},
		"blank falls through":  {files("AGENTS.md", " \n\n", "CLAUDE.md", "C"), c + "C", ""},
		"mark and CRLF":        {files("AGENTS.md", "\ufeffA\r\nB\rC\r\n"), a + "A\nB\nC", ""},
		"not UTF-8":            {files("AGENTS.md", "caf\xe9", "CLAUDE.md", "C"), c + "C", "AGENTS.md is not read: it is not UTF-8"},
		"UTF-16":               {files("AGENTS.md", "\xff\xfeA\x00"), "", "it is not UTF-8"},
		"folder":               {files("AGENTS.md/x", "A"), "", "not a regular file"},
		"placeholder":          {files("AGENTS.md", "say {{guidance}}"), a + "say {{guidance}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, notices, _ := guidance(t, tc.files, agentsmd.Options{})
			require.Equal(t, tc.want, text)
			if tc.notice == "" {
				require.Empty(t, notices)
				return
			}
			require.Len(t, notices, 1)
			require.Contains(t, notices[0], tc.notice)
		})
	}
}

func TestLongGuidanceKeepsItsHead(t *testing.T) {
	for name, line := range map[string]string{"lines": "häuser und straßen\n", "one line": "ß"} {
		t.Run(name, func(t *testing.T) {
			whole := strings.Repeat(line, 80_000/len(line))
			text, notices, _ := guidance(t, files("AGENTS.md", "x"+whole), agentsmd.Options{})
			require.Less(t, len(text), 64<<10+200)
			require.Greater(t, len(text), 64<<10-100)
			require.Contains(t, text, "[`AGENTS.md` goes on:")
			require.NotContains(t, text, "\ufffd")
			require.Len(t, notices, 1)
			require.Contains(t, notices[0], "only its first")
		})
	}
	exact := strings.Repeat("a", 64<<10)
	text, notices, _ := guidance(t, files("AGENTS.md", exact), agentsmd.Options{})
	require.True(t, strings.HasSuffix(text, exact))
	require.Empty(t, notices)
}

func TestUsersOwnGuidanceStandsBeforeTheProjects(t *testing.T) {
	home := t.TempDir()
	text, notices, _ := guidance(t, files("AGENTS.md", "project"), agentsmd.Options{Home: home})
	require.NotContains(t, text, "own")
	require.Empty(t, notices)

	require.NoError(t, os.WriteFile(filepath.Join(home, "AGENTS.md"), []byte("own\r\n"), 0o600))
	text, notices, _ = guidance(t, files("AGENTS.md", "project"), agentsmd.Options{Home: home})
	require.Equal(t, "From the user's own `AGENTS.md`, for every project:\n\nown\n\nFrom the project's `AGENTS.md`:\n\nproject", text)
	require.NotContains(t, text, home)
	require.Empty(t, notices)
}

func TestLinkOutOfTheProjectIsRefused(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "docs.md"), []byte("inner"), 0o600))
	link := filepath.Join(inside, "AGENTS.md")
	root, err := os.OpenRoot(inside)
	require.NoError(t, err)
	defer root.Close()

	require.NoError(t, os.Symlink("docs.md", link))
	text, _, _ := guidance(t, root.FS(), agentsmd.Options{})
	require.Contains(t, text, "inner")

	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), link))
	text, notices, _ := guidance(t, root.FS(), agentsmd.Options{})
	require.Empty(t, text)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "AGENTS.md is not read")
}

func TestGuidanceIsReadOnce(t *testing.T) {
	project := files("AGENTS.md", "before")
	_, _, inst := guidance(t, project, agentsmd.Options{})
	project["AGENTS.md"].Data = []byte("after")
	require.Contains(t, inst.Vars["guidance"], "before")
	require.NotContains(t, inst.Vars["guidance"], "after")
}
