package workspace

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// bench is one open workspace whose tools a test calls as a session would.
type bench struct {
	t    *testing.T
	root string
	inst *middleware.Instance
	view *toolview.View
}

// open makes a workspace over a new folder. Its home is another new folder unless the options name one.
func open(t *testing.T, o Options) *bench {
	t.Helper()
	root := real(t, t.TempDir())
	if o.Home == "" {
		o.Home = real(t, t.TempDir())
	}
	m := New(o)
	inst, err := m.Open(t.Context(), middleware.Env{Owner: Name, Policy: m.Policy, Project: middleware.Project{Root: root}})
	require.NoError(t, err)
	return seat(t, root, m, inst)
}

func seat(t *testing.T, root string, m middleware.Middleware, inst *middleware.Instance) *bench {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, inst.Close(context.Background())) })
	bands := []toolview.Band{
		{Owner: Name, Set: m.Tools, State: inst.State},
		{Owner: Name, Set: m.Deferred, Source: inst.Deferred, State: inst.State, Deferred: true},
	}
	return &bench{t: t, root: root, inst: inst, view: toolview.NewDeriver(bands, nil, nil).View(&toolview.Policy{}, nil)}
}

func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

type args map[string]any

// try calls a tool and returns what the model would read, failures too.
func (b *bench) try(ctx context.Context, name string, in args) *message.Result {
	b.t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(b.t, err)
	call, bad := b.view.Call("1", name, raw)
	if bad != nil {
		return bad
	}
	r, err := call.Tool().Run(ctx, call)
	require.NoError(b.t, err)
	return r
}

// do calls a tool that must succeed and returns its text.
func (b *bench) do(name string, in args) string {
	b.t.Helper()
	r := b.try(b.t.Context(), name, in)
	require.False(b.t, r.Error, "%s", r.Text())
	return r.Text()
}

// refuse calls a tool that must fail and returns its text.
func (b *bench) refuse(name string, in args) string {
	b.t.Helper()
	r := b.try(b.t.Context(), name, in)
	require.True(b.t, r.Error, "%s", r.Text())
	return r.Text()
}

func (b *bench) path(rel string) string { return filepath.Join(b.root, rel) }

// put writes a file below the root, beside the tools.
func (b *bench) put(rel, content string) string {
	b.t.Helper()
	return put(b.t, b.path(rel), content)
}

func put(t *testing.T, path, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func (b *bench) content(rel string) string {
	b.t.Helper()
	c, err := os.ReadFile(b.path(rel))
	require.NoError(b.t, err)
	return string(c)
}

func TestModelReadsWritesEditsAndRuns(t *testing.T) {
	b := open(t, Options{})
	require.Contains(t, b.do("Write", args{"file_path": "a/b.txt", "content": "one\ntwo\n"}), "Created a/b.txt (2 lines")
	require.Equal(t, "     1\tone\n     2\ttwo\n", b.do("Read", args{"path": "a/b.txt"}))
	diff := b.do("Edit", args{"path": "a/b.txt", "old_string": "two", "new_string": "three"})
	require.Contains(t, diff, "-two\n+three\n")
	require.Contains(t, b.do("Bash", args{"command": "cat a/b.txt"}), "one\nthree\n[exit code 0]")
}
