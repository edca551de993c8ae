package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/memory"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// kit is a folder of memories and what was told about it.
type kit struct {
	t       *testing.T
	options memory.Options
	root    string
	day     int
	notices []string
}

func newKit(t *testing.T) *kit {
	return &kit{t: t, options: memory.Options{Folder: filepath.Join(t.TempDir(), "kept"), User: "ann"}, root: t.TempDir()}
}

func (k *kit) open() *middleware.Instance {
	k.t.Helper()
	m := memory.New(k.options)
	require.NoError(k.t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{
		Policy: m.Policy, Project: middleware.Project{Root: k.root},
		Now: func() time.Time {
			k.day++
			return time.Date(2026, 1, k.day, 0, 0, 0, 0, time.UTC)
		},
		Notice: func(s string) { k.notices = append(k.notices, s) },
	})
	require.NoError(k.t, err)
	return inst
}

func view(inst *middleware.Instance) *toolview.View {
	band := toolview.Band{Owner: memory.Name, Set: memory.New(memory.Options{}).Deferred, State: inst.State, Unsupported: inst.Unsupported}
	return toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil)
}

func (k *kit) call(name string, args map[string]any) *message.Result {
	k.t.Helper()
	return run(k.t, k.open(), name, args)
}

func run(t *testing.T, inst *middleware.Instance, name string, args map[string]any) *message.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, bad := view(inst).Call("1", name, raw)
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

func (k *kit) save(text string, tags ...string) (id string) {
	k.t.Helper()
	r := k.call("MemorySave", map[string]any{"text": text, "tags": append([]string{}, tags...)})
	require.False(k.t, r.Error, r.Text())
	return strings.TrimSuffix(strings.TrimPrefix(r.Text(), "It is kept as "), ".")
}

func (k *kit) find(query string) []string {
	k.t.Helper()
	return texts(k.t, k.call("MemorySearch", map[string]any{"query": query}))
}

func texts(t *testing.T, r *message.Result) []string {
	t.Helper()
	var found struct{ Memories []memory.Memory }
	require.NoError(t, json.Unmarshal(r.Structured, &found), r.Text())
	out := []string{}
	for _, m := range found.Memories {
		out = append(out, m.Text)
	}
	return out
}

func (k *kit) files() []string {
	k.t.Helper()
	found, err := filepath.Glob(filepath.Join(k.options.Folder, "*", "*.json"))
	require.NoError(k.t, err)
	return found
}

func TestWhatIsSavedIsFoundInALaterSessionUntilItIsForgotten(t *testing.T) {
	k := newKit(t)
	require.Contains(t, k.call("MemorySearch", nil).Text(), "Nothing was kept yet")
	require.NoDirExists(t, k.options.Folder, "looking makes nothing")
	id := k.save(" The user prefers tabs.\n", "style", " style ", "")
	r := k.call("memory_search", map[string]any{"q": "tabs"})
	require.Equal(t, "["+id+"] 2026-01-01 (style)\nThe user prefers tabs.", r.Text())
	require.Contains(t, k.call("MemoryForget", map[string]any{"id": id}).Text(), "The user prefers tabs.")
	require.Empty(t, k.find("tabs"))
	require.Contains(t, k.call("MemorySearch", map[string]any{"query": "tabs"}).Text(), `Nothing that was kept matches "tabs".`)
	require.Contains(t, k.call("MemoryForget", map[string]any{"id": id}).Text(), "nothing is kept as")
}

func TestUserAndProjectSeeTheirOwn(t *testing.T) {
	k := newKit(t)
	k.save("ann's, here")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(k.root, link))
	here, there := k.root, t.TempDir()
	for _, tc := range []struct {
		user, root string
		want       []string
	}{
		{"ann", here, []string{"ann's, here"}},
		{"ann", link, []string{"ann's, here"}},
		{"ann", there, []string{}},
		{"bob", here, []string{}},
		{"", here, []string{}},
		{"ann", "", []string{}},
	} {
		k.options.User, k.root = tc.user, tc.root
		require.Equal(t, tc.want, k.find("here"), "%+v", tc)
	}
}

func TestNoIdReachesAnotherScope(t *testing.T) {
	k := newKit(t)
	k.save("ann's")
	theirs := k.files()[0]
	k.options.User = "bob"
	for _, id := range []string{
		strings.TrimSuffix(filepath.Base(theirs), ".json"), "../" + filepath.Base(filepath.Dir(theirs)) + "/" + filepath.Base(theirs),
		strings.TrimSuffix(theirs, ".json"), "..", "m\x00",
	} {
		require.Contains(t, k.call("MemoryForget", map[string]any{"id": id}).Text(), "nothing is kept as", id)
	}
	require.FileExists(t, theirs)
}

func TestTheBestMatchComesFirst(t *testing.T) {
	k := newKit(t)
	for _, m := range []struct {
		text string
		tags []string
	}{
		{"The deploy script needs the staging credentials file.", nil},
		{"Deploys go out on Tuesdays; the release manager is Kim.", []string{"release"}},
		{"Tests of the parser are slow because of fuzzing.", nil},
		{"用户喜欢简短的回答。", nil},
		{"The word release stands here, and here is a release again, in a long text about nothing else of any interest.", nil},
		{"Der Straßenname wird großgeschrieben.", nil},
	} {
		k.save(m.text, m.tags...)
	}
	for query, want := range map[string]string{
		"release":            "Deploys go out",
		"deploys on tuesday": "Deploys go out",
		"deploy script":      "The deploy script",
		"STAGING":            "The deploy script",
		"test parser":        "Tests of the parser",
		"fuzz":               "Tests of the parser",
		"简短回答":               "用户喜欢",
		"credent":            "The deploy script",
		"straßenname":        "Der Straßenname",
		"here is a release":  "The word release",
	} {
		found := k.find(query)
		require.NotEmpty(t, found, query)
		require.True(t, strings.HasPrefix(found[0], want), "%s: %q", query, found)
	}
	for _, query := range []string{"kubernetes", "?!", "xyzzy 123"} {
		require.Empty(t, k.find(query), query)
	}
	require.Equal(t, "Der Straßenname wird großgeschrieben.", k.find(" ")[0], "without a query the newest")
	require.Len(t, k.find(""), 6)
}

func TestAnswersAreBound(t *testing.T) {
	k := newKit(t)
	for i := range 20 {
		k.save(fmt.Sprintf("word %d %s", i, strings.Repeat("x", 3000)))
	}
	require.Len(t, texts(t, k.call("MemorySearch", map[string]any{"query": "word", "limit": 3})), 3)
	r := k.call("MemorySearch", map[string]any{"query": "word", "limit": 20})
	require.Less(t, len(r.Text()), 25<<10)
	require.Contains(t, r.Text(), "more match; send a narrower query")
	for name, args := range map[string]map[string]any{
		"MemorySave":   {"text": strings.Repeat("x", 4001)},
		"MemorySearch": {"query": "x", "limit": 51},
	} {
		require.True(t, k.call(name, args).Error, name)
	}
	require.True(t, k.call("MemorySave", map[string]any{"text": " \n"}).Error)
	require.Len(t, k.files(), 20)
}

func TestAFileThatCannotBeReadIsReportedAndKept(t *testing.T) {
	for name, data := range map[string]string{
		"half":          `{"version": 1, "te`,
		"empty":         "",
		"later version": `{"version": 2, "id": "ID", "text": "x"}`,
		"another's id":  `{"version": 1, "id": "maaaaaaaaaaaa", "text": "x"}`,
		"too long":      `{"version": 1, "text": "` + strings.Repeat("x", 65<<10) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			bad := k.save("the bad one")
			k.save("the good one")
			path := filepath.Join(filepath.Dir(k.files()[0]), bad+".json")
			data := strings.ReplaceAll(data, "ID", bad)
			require.NoError(t, os.WriteFile(path, []byte(data), 0o600))

			inst := k.open()
			for range 2 {
				r := run(t, inst, "MemorySearch", map[string]any{"query": "one"})
				require.Equal(t, []string{"the good one"}, texts(t, r))
				require.Contains(t, r.Text(), path+" cannot be read and is left as it is")
			}
			require.Len(t, k.notices, 1, "the person is told once")
			require.Contains(t, k.notices[0], path)
			require.Contains(t, k.call("MemoryForget", map[string]any{"id": bad}).Text(), "left as it is")
			k.save("another")
			still, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, data, string(still))
		})
	}
}

func TestOnlyItsOwnFilesAreRead(t *testing.T) {
	k := newKit(t)
	id := k.save("mine")
	dir := filepath.Dir(k.files()[0])
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"version":1,"id":"mbbbbbbbbbbbb","text":"secret"}`), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "mbbbbbbbbbbbb.json")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.json"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), []byte("{"), 0o600))
	require.Equal(t, []string{"mine"}, k.find(""))
	require.Empty(t, k.notices)
	info, err := os.Stat(filepath.Join(dir, id+".json"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "they are the user's alone")
}

// The helper is this test's own program, so that real processes work in one folder.
func TestSeveralProcessesKeepAllThatWasSaved(t *testing.T) {
	const each = 25
	if dir := os.Getenv("MEMORY_TEST_FOLDER"); dir != "" {
		k := &kit{t: t, options: memory.Options{Folder: dir, User: "ann"}}
		for i := range each {
			id := k.save(fmt.Sprintf("of %s: %d", os.Getenv("MEMORY_TEST_NAME"), i))
			require.NotEmpty(t, k.find("of"))
			if i%5 == 0 {
				require.False(t, k.call("MemoryForget", map[string]any{"id": id}).Error)
			}
		}
		require.Empty(t, k.notices)
		return
	}
	k := newKit(t)
	k.root = ""
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestSeveralProcessesKeepAllThatWasSaved$")
			c.Env = append(os.Environ(), "MEMORY_TEST_FOLDER="+k.options.Folder, fmt.Sprint("MEMORY_TEST_NAME=", i))
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	require.Len(t, k.files(), 3*each*4/5)
	left, err := filepath.Glob(filepath.Join(k.options.Folder, "*", ".new-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWithoutAProviderItIsUnsupportedAndSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for want, o := range map[string]memory.Options{
		"":                    {Provider: memory.Files, Home: t.TempDir()},
		"set memory.provider": {Home: t.TempDir()},
		"set memory.folder":   {Provider: memory.Files},
		"is no folder":        {Folder: file},
	} {
		k := &kit{t: t, options: o}
		inst := k.open()
		v := view(inst)
		for _, name := range []string{"MemorySearch", "MemorySave", "MemoryForget"} {
			require.Equal(t, want == "", v.HasAny([]string{name}), want)
			require.Contains(t, v.Explain(name).Rule, want)
		}
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	require.NoError(t, memory.Options{Folder: "~/notes"}.Check())
	for want, o := range map[string]memory.Options{
		"write files":            {Provider: "redis"},
		"write an absolute path": {Folder: "notes"},
	} {
		require.ErrorContains(t, o.Check(), want)
		m := memory.New(o)
		_, err := m.Open(context.Background(), middleware.Env{Policy: m.Policy})
		require.ErrorContains(t, err, want)
	}
}

func TestAResumedSessionKeepsItsPolicy(t *testing.T) {
	k := newKit(t)
	k.save("kept")
	require.Len(t, k.find("kept"), 1)
	m := memory.New(k.options)
	inst, err := m.Open(context.Background(), middleware.Env{Policy: memory.New(memory.Options{}).Policy, Resumed: true})
	require.NoError(t, err)
	require.NotEmpty(t, inst.Unsupported, "it had no provider when it was created")
}

// own is a provider that a program brings along.
type own struct {
	asked []memory.Scope
	fail  error
}

func (o *own) Search(_ context.Context, in memory.Scope, _ string, _ int) ([]memory.Memory, error) {
	o.asked = append(o.asked, in)
	return nil, o.fail
}

func (o *own) Save(_ context.Context, in memory.Scope, _ memory.Memory) (string, error) {
	o.asked = append(o.asked, in)
	return "7", o.fail
}

func (o *own) Forget(context.Context, memory.Scope, string) (memory.Memory, error) {
	return memory.Memory{Text: "x"}, o.fail
}

func TestAProgramsOwnProviderIsAsked(t *testing.T) {
	o := &own{}
	k := &kit{t: t, options: memory.Options{Keeper: o, User: "ann"}, root: t.TempDir()}
	require.Equal(t, "7", k.save("x"))
	require.Empty(t, k.find("x"))
	real, err := filepath.EvalSymlinks(k.root)
	require.NoError(t, err)
	require.Equal(t, []memory.Scope{{User: "ann", Project: real}, {User: "ann", Project: real}}, o.asked)
	o.fail = errors.New("the server is down")
	for name, args := range map[string]map[string]any{"MemorySearch": nil, "MemorySave": {"text": "x"}, "MemoryForget": {"id": "7"}} {
		r := k.call(name, args)
		require.True(t, r.Error, name)
		require.Contains(t, r.Text(), "the server is down")
	}
}

func TestItClosesWhole(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: []middleware.Middleware{memory.New(newKit(t).options)}})
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"a", "用户", "a\x00b", "\xff", strings.Repeat("ab ", 300), "Straße é", "สวัสดี"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || len(text) > 900 {
			return
		}
		k := newKit(t)
		r := k.call("MemorySave", map[string]any{"text": text})
		if r.Error {
			return
		}
		require.Len(t, k.find(""), 1)
		require.LessOrEqual(t, len(k.find(text)), 1)
	})
}
