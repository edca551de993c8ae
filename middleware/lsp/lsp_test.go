//go:build unix

package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/lsp"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// bench is a project with a language server that is this very program.
type bench struct {
	t    *testing.T
	root string
	pids string
	m    middleware.Middleware
	inst *middleware.Instance
}

const source = "package x\n// 𝔘é f\nfunc f() {}\n"

func open(t *testing.T, mode string, o lsp.Options) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir(), pids: filepath.Join(t.TempDir(), "pids")}
	b.write("x.fake", source)
	if len(o.Servers) == 0 {
		self, err := os.Executable()
		require.NoError(t, err)
		o.Servers = []lsp.Server{{Name: "fake", Command: self, Languages: []string{".fake"}, Env: map[string]string{behaviour: mode + ":" + b.pids}}}
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = time.Second
	}
	var err error
	b.m, err = lsp.New(o)
	require.NoError(t, err)
	require.NoError(t, middleware.Validate(b.m))
	b.inst, err = b.m.Open(t.Context(), middleware.Env{Policy: b.m.Policy, Project: middleware.Project{Root: b.root}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.inst.Close(context.Background())) })
	return b
}

func (b *bench) write(name, text string) {
	require.NoError(b.t, os.WriteFile(filepath.Join(b.root, name), []byte(text), 0o600))
}

func (b *bench) ask(in map[string]any) *message.Result { return askOf(b.t, b.m, b.inst, in) }

func askOf(t *testing.T, m middleware.Middleware, inst *middleware.Instance, in map[string]any) *message.Result {
	t.Helper()
	v := toolview.NewDeriver([]toolview.Band{{Owner: m.Name, Set: m.Deferred, State: inst.State}}, nil, nil).View(&toolview.Policy{}, nil)
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	c, bad := v.Call("1", "LSP", raw)
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(t.Context(), c)
	require.NoError(t, err)
	return r
}

// started are the processes that were started, of servers and of what those started.
func (b *bench) started() []int {
	text, err := os.ReadFile(b.pids)
	if err != nil {
		return nil
	}
	var out []int
	for _, f := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(f)
		require.NoError(b.t, err)
		out = append(out, n)
	}
	return out
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	// A zombie whose parent has yet to look is dead.
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

var definition = map[string]any{"action": "definition", "path": "x.fake", "line": 2, "column": 6}

func TestServerIsStartedByTheFirstCallAndServesTheNext(t *testing.T) {
	b := open(t, "good", lsp.Options{})
	require.Empty(t, b.inst.Unsupported)
	require.Empty(t, b.started(), "nothing runs before it is asked")
	require.Contains(t, b.inst.Facts()[0].Detail, "not started")
	r := b.ask(definition)
	require.False(t, r.Error, r.Text())
	require.Equal(t, "x.fake:2:6: // 𝔘é f", r.Text())
	require.Equal(t, "func f()", b.ask(map[string]any{"action": "hover", "path": "x.fake", "line": 3, "query": "f()"}).Text())
	require.Equal(t, "x.fake:2:4: function f", b.ask(map[string]any{"action": "symbols", "path": "x.fake"}).Text())
	require.Equal(t, "x.fake:2:4: warning: odd name (fake)", b.ask(map[string]any{"action": "diagnostics", "path": "x.fake"}).Text())
	require.Len(t, b.started(), 1)
	require.Contains(t, b.inst.Facts()[0].Detail, "running")
}

func TestFilesOutsideOfTheProjectAreNeitherAskedAboutNorShown(t *testing.T) {
	b := open(t, "good", lsp.Options{})
	other := filepath.Join(t.TempDir(), "y.fake")
	require.NoError(t, os.WriteFile(other, []byte(source), 0o600))
	require.NoError(t, os.Symlink(other, filepath.Join(b.root, "link.fake")))
	for _, path := range []string{other, "link.fake", "../y.fake", "/etc/passwd"} {
		r := b.ask(map[string]any{"action": "hover", "path": path, "line": 1, "column": 1})
		require.True(t, r.Error, path)
		require.Empty(t, b.started(), "nothing is started for %s", path)
	}
	r := b.ask(map[string]any{"action": "references", "path": "x.fake", "line": 1, "column": 1})
	require.Equal(t, "/etc/passwd:1:1\nx.fake:1:1: package x", r.Text(), "the place is told, and not the text")
}

func TestCallThatCannotBePlacedSaysWhatToSend(t *testing.T) {
	b := open(t, "good", lsp.Options{})
	for want, in := range map[string]map[string]any{
		"`line` is needed":                  {"action": "hover", "path": "x.fake"},
		"`column` is needed":                {"action": "hover", "path": "x.fake", "line": 1},
		"no line 9":                         {"action": "hover", "path": "x.fake", "line": 9, "column": 1},
		"has 9 characters and no column 40": {"action": "hover", "path": "x.fake", "line": 1, "column": 40},
		"does not stand on line 1":          {"action": "hover", "path": "x.fake", "line": 1, "query": "nope"},
		"`path` is needed for hover":        {"action": "hover"},
		"`query` or `path` is needed":       {"action": "symbols"},
		"there is no such file":             {"action": "hover", "path": "no.fake", "line": 1, "column": 1},
	} {
		r := b.ask(in)
		require.True(t, r.Error, want)
		require.Contains(t, r.Text(), want)
	}
	b.write("x.other", "")
	require.Contains(t, b.ask(map[string]any{"action": "hover", "path": "x.other", "line": 1, "column": 1}).Text(), "there is one for .fake")
}

func TestServerThatDiedIsStartedAnew(t *testing.T) {
	b := open(t, "dies", lsp.Options{})
	r := b.ask(definition)
	require.False(t, r.Error, r.Text())
	require.Len(t, b.started(), 2, "the first died of the question")
}

func TestServerThatCannotServeFailsTheCallInItsTimeAndIsEnded(t *testing.T) {
	for mode, want := range map[string]string{
		"mute": "did not answer within", "deaf": "did not answer within", "exits": "did not start", "flood": "did not start", "huge": "did not start",
	} {
		t.Run(mode, func(t *testing.T) {
			b := open(t, mode, lsp.Options{Timeout: time.Second, Grace: 200 * time.Millisecond})
			begun := time.Now()
			r := b.ask(definition)
			require.True(t, r.Error)
			require.Contains(t, r.Text(), want)
			require.Less(t, time.Since(begun), 10*time.Second)
			require.NoError(t, b.inst.Close(context.Background()))
			require.NotEmpty(t, b.started())
			for _, pid := range b.started() {
				require.False(t, alive(pid), mode)
			}
		})
	}
}

func TestServerThatFailsAgainAndAgainIsNotStartedWithoutEnd(t *testing.T) {
	b := open(t, "exits", lsp.Options{})
	for range 6 {
		require.True(t, b.ask(definition).Error)
	}
	require.Len(t, b.started(), 3)
	require.Contains(t, b.ask(definition).Text(), "failed 3 times in a row")
}

func TestOneQuestionThatHangsIsNotTheEndOfTheServer(t *testing.T) {
	b := open(t, "hangs", lsp.Options{Timeout: time.Second})
	require.Contains(t, b.ask(definition).Text(), "did not answer within 1s")
	require.Equal(t, "func f()", b.ask(map[string]any{"action": "hover", "path": "x.fake", "line": 1, "column": 1}).Text())
	require.Len(t, b.started(), 1)
}

func TestWhatAServerLogsAmongItsMessagesIsPassedOver(t *testing.T) {
	require.Equal(t, "x.fake:2:6: // 𝔘é f", open(t, "junk", lsp.Options{}).ask(definition).Text())
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	before := runtime.NumGoroutine()
	b := open(t, "child", lsp.Options{})
	require.False(t, b.ask(definition).Error)
	require.Len(t, b.started(), 2)
	for _, pid := range b.started() {
		require.True(t, alive(pid))
	}
	require.NoError(t, b.inst.Close(context.Background()))
	require.NoError(t, b.inst.Close(context.Background()))
	for _, pid := range b.started() {
		require.Eventually(t, func() bool { return !alive(pid) }, 5*time.Second, 10*time.Millisecond)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "goroutines are left")
	}
	require.True(t, b.ask(definition).Error, "a closed one starts nothing")
	require.Len(t, b.started(), 2)
}

func TestChildrenShareServersUnlessTheyWorkElsewhere(t *testing.T) {
	b := open(t, "good", lsp.Options{})
	require.False(t, b.ask(definition).Error)
	same, err := b.inst.Child(t.Context(), middleware.Env{Project: middleware.Project{Root: b.root}})
	require.NoError(t, err)
	require.False(t, askOf(t, b.m, same, definition).Error)
	require.Len(t, b.started(), 1)
	require.Nil(t, same.Close)
	apart := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(apart, "x.fake"), []byte("package y\n// other\n"), 0o600))
	other, err := b.inst.Child(t.Context(), middleware.Env{Project: middleware.Project{Root: apart}})
	require.NoError(t, err)
	require.Equal(t, "x.fake:2:6: // other", askOf(t, b.m, other, definition).Text())
	require.Len(t, b.started(), 2)
	require.NoError(t, other.Close(context.Background()))
	require.False(t, alive(b.started()[1]))
	require.True(t, alive(b.started()[0]))
}

func TestWithoutAServerItIsUnsupportedWithTheReason(t *testing.T) {
	for want, servers := range map[string][]lsp.Server{
		"write lsp.servers":                                    nil,
		"x: no-such-server is not on PATH":                     {{Name: "x", Command: "no-such-server", Languages: []string{"go"}}},
		"write its arguments as args":                          {{Name: "x", Command: "gopls serve", Languages: []string{"go"}}},
		"no language server can be started: x is switched off": {{Name: "x", Command: "sh", Languages: []string{"go"}, Disabled: true}},
	} {
		m, err := lsp.New(lsp.Options{Servers: servers})
		require.NoError(t, err)
		inst, err := m.Open(t.Context(), middleware.Env{Policy: m.Policy, Project: middleware.Project{Root: t.TempDir()}})
		require.NoError(t, err)
		require.Contains(t, inst.Unsupported, want)
		require.NoError(t, inst.Close(t.Context()))
	}
	_, err := lsp.New(lsp.Options{Servers: []lsp.Server{{Name: "x", Command: "odd"}}})
	require.ErrorContains(t, err, "lsp.servers.x.languages")
}

func TestEnvironmentOfAServerIsNoPartOfWhatASessionStores(t *testing.T) {
	m, err := lsp.New(lsp.Options{Servers: []lsp.Server{{Name: "x", Command: "gopls", Env: map[string]string{"TOKEN": "hush"}}}})
	require.NoError(t, err)
	require.Contains(t, string(m.Policy), "gopls")
	require.NotContains(t, string(m.Policy), "hush")
}
