package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, name))
}

func TestSandboxHolds(t *testing.T) {
	outside := real(t, t.TempDir())
	secret := put(t, filepath.Join(outside, "secret.txt"), "secret")
	const up = "UP" // stands for the way from the root to the secret
	for _, c := range []struct {
		name  string
		links map[string]string
		path  string
	}{
		{"an absolute path", nil, secret},
		{"dots", nil, up},
		{"dots behind a folder", nil, "sub/../" + up},
		{"a link to a file", map[string]string{"l": secret}, "l"},
		{"a link to a folder", map[string]string{"l": outside}, "l/secret.txt"},
		{"a relative link", map[string]string{"l": up}, "l"},
		{"a link to a link", map[string]string{"l": "m", "m": outside}, "l/secret.txt"},
		{"a new file below a link", map[string]string{"l": outside}, "l/new.txt"},
		{"new folders below a link", map[string]string{"l": outside}, "l/a/b/new.txt"},
		{"a dangling link", map[string]string{"l": filepath.Join(outside, "new.txt")}, "l"},
		{"a dangling link with dots behind nothing", map[string]string{"l": "nothing/../" + up}, "l"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{})
			require.NoError(t, os.Mkdir(b.path("sub"), 0o755))
			way, err := filepath.Rel(b.root, secret)
			require.NoError(t, err)
			for name, target := range c.links {
				link(t, strings.ReplaceAll(target, up, way), b.path(name))
			}
			c.path = strings.ReplaceAll(c.path, up, way)
			for _, text := range []string{
				b.refuse("Read", args{"path": c.path}),
				b.refuse("Write", args{"path": c.path, "content": "x"}),
				b.refuse("Edit", args{"path": c.path, "old": "secret", "new": "x"}),
				b.refuse("Grep", args{"path": c.path, "pattern": "secret"}),
				b.refuse("LS", args{"path": c.path}),
				b.refuse("Bash", args{"cwd": filepath.Dir(c.path) + "/" + filepath.Base(c.path), "command": "true"}),
			} {
				require.NotContains(t, text, "\tsecret")
				if !strings.Contains(c.name, "nothing") {
					require.Contains(t, text, "outside of what may be used")
				}
			}
			got, err := os.ReadFile(secret)
			require.NoError(t, err)
			require.Equal(t, "secret", string(got))
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing was made outside")
		})
	}
}

func TestLinksInsideTheSandboxAreFollowed(t *testing.T) {
	b := open(t, Options{})
	b.put("real/a.txt", "here\n")
	link(t, b.path("real"), b.path("absolute"))
	link(t, "real", b.path("relative"))
	link(t, filepath.Join("real", "new.txt"), b.path("dangling"))
	require.Contains(t, b.do("Read", args{"path": "absolute/a.txt"}), "here")
	require.Contains(t, b.do("Read", args{"path": "relative/a.txt"}), "here")
	b.do("Write", args{"path": "dangling", "content": "through"})
	require.Equal(t, "through", b.content("real/new.txt"), "a link is written through, not replaced")
	info, err := os.Lstat(b.path("dangling"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}

func TestFolderSwappedForALinkAfterTheCheckLeadsNowhere(t *testing.T) {
	b := open(t, Options{})
	outside := real(t, t.TempDir())
	put(t, filepath.Join(outside, "f"), "secret")
	b.put("d/f", "mine")
	s := b.inst.State.(*state)
	at, err := s.box.find("d/f")
	require.NoError(t, err)
	content, _, err := s.load(at)
	require.NoError(t, err)
	require.Equal(t, "mine", string(content))

	require.NoError(t, os.RemoveAll(b.path("d")))
	link(t, outside, b.path("d"))
	_, _, err = s.load(at)
	require.Error(t, err)
	require.Error(t, replace(at, []byte("x"), nil))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestLinkLoopIsRefused(t *testing.T) {
	b := open(t, Options{})
	link(t, "b", b.path("a"))
	link(t, "a", b.path("b"))
	require.Contains(t, b.refuse("Read", args{"path": "a"}), "too many symbolic links")
}

func TestSandboxSwitches(t *testing.T) {
	home, outside := real(t, t.TempDir()), real(t, t.TempDir())
	inHome := put(t, filepath.Join(home, "notes.txt"), "home")
	abroad := put(t, filepath.Join(outside, "o.txt"), "abroad")
	for _, c := range []struct {
		name              string
		o                 Options
		mayHome, mayLeave bool
	}{
		{"default", Options{Home: home}, true, false},
		{"no home", Options{Home: home, NoHome: true}, false, false},
		{"no sandbox", Options{Home: home, NoSandbox: true}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.o)
			require.Equal(t, c.mayHome, !b.try(t.Context(), "Read", args{"path": inHome}).Error)
			require.Equal(t, c.mayHome, !b.try(t.Context(), "Read", args{"path": "~/notes.txt"}).Error)
			require.Equal(t, c.mayLeave, !b.try(t.Context(), "Read", args{"path": abroad}).Error)
			require.Equal(t, c.mayLeave, !b.try(t.Context(), "Write", args{"path": filepath.Join(outside, c.name, "n"), "content": ""}).Error)
			require.Equal(t, c.mayLeave, !b.try(t.Context(), "Glob", args{"pattern": outside + "/*.txt"}).Error)
		})
	}
}

func TestHomeThatIsTheWholeMachineOpensNothing(t *testing.T) {
	b := open(t, Options{Home: string(filepath.Separator)})
	other := put(t, filepath.Join(real(t, t.TempDir()), "o.txt"), "abroad")
	require.Contains(t, b.refuse("Read", args{"path": other}), "outside")
}

func TestRestrictSystemHidesSystemFoldersButNotTheProject(t *testing.T) {
	root := real(t, t.TempDir())
	b := &sandbox{root: filepath.Join(root, "sys", "project"), home: filepath.Join(root, "sys", "home")}
	sys := []string{filepath.Join(root, "sys")}
	require.True(t, b.below(sys, filepath.Join(root, "sys")))
	require.True(t, b.below(sys, filepath.Join(root, "sys", "passwd")))
	require.False(t, b.below(sys, filepath.Join(root, "sysadmin")))
	require.False(t, b.below(sys, filepath.Join(root, "sys", "project", "a")))
	require.False(t, b.below(sys, filepath.Join(root, "sys", "home", "a")))

	dir := systemFolders()[0]
	if _, err := os.Stat(dir); err != nil {
		return
	}
	free := open(t, Options{NoSandbox: true})
	free.do("LS", args{"path": dir})
	tight := open(t, Options{NoSandbox: true, RestrictSystem: true})
	require.Contains(t, tight.refuse("LS", args{"path": dir}), "restrict_system")
	link(t, dir, tight.path("l"))
	require.Contains(t, tight.refuse("LS", args{"path": "l"}), "restrict_system")
	require.NotContains(t, tight.do("LS", args{"path": filepath.Dir(dir)}), "  "+filepath.Base(dir)+"/\n")
	require.Contains(t, free.do("LS", args{"path": filepath.Dir(dir)}), "  "+filepath.Base(dir)+"/\n")
}

func TestWalksDoNotLeaveThroughLinks(t *testing.T) {
	b := open(t, Options{})
	outside := real(t, t.TempDir())
	put(t, filepath.Join(outside, "o.txt"), "needle")
	link(t, outside, b.path("dir"))
	link(t, filepath.Join(outside, "o.txt"), b.path("file"))
	b.put("in.txt", "needle")
	require.Equal(t, "in.txt:1:needle\n", b.do("Grep", args{"pattern": "needle"}))
	require.NotContains(t, b.do("Glob", args{"pattern": "**/*.txt"}), "o.txt")
}

func TestSubjectsAreThePathsAsWritten(t *testing.T) {
	b := open(t, Options{BashAsync: true})
	for _, c := range []struct{ tool, args, want string }{
		{"Read", `{"path":"a/../b.txt"}`, `[{"kind":"path","value":"b.txt"}]`},
		{"Write", `{"path":"/x//y","content":""}`, `[{"kind":"path","value":"/x/y","edit":true}]`},
		{"Edit", `{"file_path":"~/n","old_string":"a","new_string":"b"}`, `[{"kind":"path","value":"~/n","edit":true}]`},
		{"Glob", `{"pattern":"**/*.go"}`, `[{"kind":"path","value":"."}]`},
		{"Glob", `{"pattern":"/etc/**","path":"src"}`, `[{"kind":"path","value":"/etc"}]`},
		{"Glob", `{"pattern":"../x/*.go","path":"src"}`, `[{"kind":"path","value":"x"}]`},
		{"Grep", `{"pattern":"x"}`, `[{"kind":"path","value":"."}]`},
		{"LS", `{"path":"src/"}`, `[{"kind":"path","value":"src"}]`},
		{"Bash", `{"command":"git log"}`, `[{"kind":"command","value":"git log","readonly":true}]`},
		{"Bash", `{"command":"cd src && make > ../log"}`, `[{"kind":"path","value":"src","readonly":true,"within":true},` +
			`{"kind":"command","value":"cd src","readonly":true,"also":["cd src && make > ../log"]},` +
			`{"kind":"path","value":"../log","edit":true},{"kind":"path","value":"log","edit":true},{"kind":"command","value":"make"}]`},
		{"BashStart", `{"command":"make"}`, `[{"kind":"command","value":"make"}]`},
		{"BashWait", `{"id":"shell-1"}`, `[{"kind":"name","value":"shell-1"}]`},
		{"BashStdin", `{"id":"shell-1","input":"ls"}`, `[{"kind":"name","value":"shell-1"},{"kind":"command","value":"ls","opaque":true,"also":["*"]},{"kind":"command","value":"ls","readonly":true}]`},
		{"BashStop", `{"id":"shell-1"}`, `[{"kind":"name","value":"shell-1"}]`},
	} {
		call, bad := b.view.Call("1", c.tool, json.RawMessage(c.args))
		require.Nil(t, bad, c.args)
		got, err := call.Subjects()
		require.NoError(t, err)
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(raw), c.args)
	}
}
