//go:build external

// These tests run git, which a machine that only has Go may lack.

package session_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// repository is a project with one commit, and something uncommitted.
func repository(t *testing.T) string {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	gitIn(t, root, "init", "-q")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o755))
	for name, text := range map[string]string{"a.txt": "committed", "sub/b.txt": "b", ".gitignore": "built\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	// A hook of the repository's is nothing that delegation may run.
	require.NoError(t, os.WriteFile(filepath.Join(root, ".git", "hooks", "post-checkout"), []byte("#!/bin/sh\ntouch '"+root+"/hooked'\n"), 0o700))
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-q", "-m", "one")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("uncommitted"), 0o600))
	return root
}

// placed owns a leaf that writes a file where its session works, and one that says what a file there holds.
func placed() middleware.Middleware {
	type file struct {
		Name string `json:"name" doc:"which"`
	}
	put := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Put"}, Doc: "Writes."},
		func(_ context.Context, root string, _ *toolview.Call, in file) (*message.Result, error) {
			return message.Say("put"), os.WriteFile(filepath.Join(root, in.Name), []byte("new"), 0o600)
		})
	look := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Look"}, Doc: "Reads."},
		func(_ context.Context, root string, _ *toolview.Call, in file) (*message.Result, error) {
			b, err := os.ReadFile(filepath.Join(root, in.Name))
			if err != nil {
				return message.Fail(err.Error()), nil
			}
			return message.Say(string(b)), nil
		})
	var open func(context.Context, middleware.Env) (*middleware.Instance, error)
	open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		return &middleware.Instance{State: env.Project.Root, Child: open}, nil
	}
	return middleware.Middleware{Name: "Placed", Doc: "works somewhere", Tools: toolview.MustSet(put, look), Open: open}
}

var apart = map[string]toolview.Spawn{"apart": {Agent: "apart", Body: "You work.", Isolation: "worktree"}}

// worktrees are the worktrees of a repository but its own.
func worktrees(t *testing.T, root string) []string {
	var out []string
	for line := range strings.SplitSeq(gitIn(t, root, "worktree", "list", "--porcelain"), "\n") {
		if dir, ok := strings.CutPrefix(line, "worktree "); ok && dir != root {
			out = append(out, dir)
		}
	}
	return out
}

func inWorktree(t *testing.T, root string, o func(*session.Options), steps map[string][]script.Step) (*session.Session, *script.Script, session.Options) {
	sc := script.For(steps)
	opt := options(t, sc, placed(), spawner(apart), continuer())
	opt.ID, opt.Root = "main", root
	if o != nil {
		o(&opt)
	}
	return open(t, opt), sc, opt
}

func TestAChildInAWorktreeLeavesItBehindOnlyIfItChangedSomething(t *testing.T) {
	spawn := script.Do("Spawn", `{"agent":"apart","prompt":"go"}`)
	for name, c := range map[string]struct {
		child []script.Step
		kept  bool
	}{
		"it only looked":         {[]script.Step{script.Do("Look", `{"name":"a.txt"}`), script.Say("done")}, false},
		"it wrote what is built": {[]script.Step{script.Do("Look", `{"name":"a.txt"}`), script.Do("Put", `{"name":"built"}`), script.Say("done")}, false},
		"it made a file":         {[]script.Step{script.Do("Look", `{"name":"a.txt"}`), script.Do("Put", `{"name":"made.txt"}`), script.Say("done")}, true},
		"it changed a file":      {[]script.Step{script.Do("Look", `{"name":"a.txt"}`), script.Do("Put", `{"name":"a.txt"}`), script.Say("done")}, true},
		"it failed":              {[]script.Step{script.Do("Look", `{"name":"a.txt"}`), script.Do("Put", `{"name":"made.txt"}`), {Error: "gone"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t)
			s, sc, _ := inWorktree(t, root, nil, map[string][]script.Step{"": {spawn, script.Say("done")}, "apart": c.child})
			turn(t, s, "go")
			dir := filepath.Join(root, ".git", "peri", "worktrees", "main.1")
			got := s.Messages()[2].Results()[0]
			for _, sent := range sc.Sent() {
				if sent.Agent == "apart" {
					require.Contains(t, joined(sent.System), "a git worktree of your own, "+dir)
					if last := sent.Messages[len(sent.Messages)-1]; len(sent.Messages) == 3 {
						require.Equal(t, "committed", last.Results()[0].Text(), "what is uncommitted elsewhere is not there")
					}
				}
			}
			require.Equal(t, c.kept, strings.Contains(got.Text(), "[what it changed is in the worktree "+dir+"]"), got.Text())
			require.Equal(t, c.kept, len(worktrees(t, root)) == 1)
			var said struct{ Text, Worktree string }
			require.NoError(t, json.Unmarshal(got.Structured, &said))
			require.True(t, strings.HasPrefix(got.Text(), said.Text), "a program reads what it said, too")
			require.NotEmpty(t, said.Text)
			if c.kept {
				require.Equal(t, dir, said.Worktree)
				require.DirExists(t, dir)
			} else {
				require.Empty(t, said.Worktree)
				require.NoDirExists(t, dir)
			}
			require.NoError(t, s.Close(t.Context()))
			require.Equal(t, c.kept, len(worktrees(t, root)) == 1, "what is kept stays")
			require.NoFileExists(t, filepath.Join(root, "made.txt"))
			require.NoFileExists(t, filepath.Join(root, "hooked"), "no hook ran")
			mine, err := os.ReadFile(filepath.Join(root, "a.txt"))
			require.NoError(t, err)
			require.Equal(t, "uncommitted", string(mine), "the project is as it was")
		})
	}
}

func TestWhatAChildCommittedInAWorktreeIsKept(t *testing.T) {
	root := repository(t)
	s, _, _ := inWorktree(t, root, nil, map[string][]script.Step{})
	k, err := s.Agent(t.Context(), "apart")
	require.NoError(t, err)
	dir := worktrees(t, root)
	require.Len(t, dir, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir[0], "made.txt"), []byte("x"), 0o600))
	gitIn(t, dir[0], "add", "-A")
	gitIn(t, dir[0], "commit", "-q", "-m", "two")
	require.Empty(t, gitIn(t, dir[0], "status", "--porcelain"))
	require.NoError(t, k.Close(t.Context()))
	require.Equal(t, dir, worktrees(t, root))
	unused, err := s.Agent(t.Context(), "apart")
	require.NoError(t, err)
	require.Len(t, worktrees(t, root), 2)
	require.NoError(t, unused.Close(t.Context()))
	require.Equal(t, dir, worktrees(t, root))
}

func TestAChildOfAPartOfARepositoryWorksInThatPart(t *testing.T) {
	root := repository(t)
	s, sc, _ := inWorktree(t, filepath.Join(root, "sub"), nil, map[string][]script.Step{
		"": {script.Do("Spawn", `{"agent":"apart","prompt":"go"}`), script.Say("done")}, "apart": {script.Do("Look", `{"name":"b.txt"}`), script.Say("done")},
	})
	turn(t, s, "go")
	sent := sc.Sent()
	require.Equal(t, "b", sent[2].Messages[2].Results()[0].Text())
	require.Contains(t, joined(sent[1].System), filepath.Join(".git", "peri", "worktrees", "main.1", "sub"))
}

func TestAWorktreeIsThereAgainWhenItsChildContinues(t *testing.T) {
	root := repository(t)
	steps := map[string][]script.Step{
		"":      {script.Do("Spawn", `{"agent":"apart","prompt":"go"}`), script.Do("Continue", `{"id":"main.1","prompt":"more"}`), script.Say("done")},
		"apart": {script.Say("looked"), script.Do("Put", `{"name":"made.txt"}`), script.Say("made")},
	}
	s, _, o := inWorktree(t, root, nil, steps)
	turn(t, s, "go")
	require.Contains(t, results(s)[0], "[what it changed is in the worktree ")
	require.NoError(t, s.Close(t.Context()))
	o.Models = script.For(map[string][]script.Step{
		"": {script.Do("Continue", `{"id":"main.1","prompt":"and more"}`), script.Say("done")}, "apart": {script.Do("Look", `{"name":"made.txt"}`), script.Say("seen")},
	}).Models
	again := resume(t, o, "main")
	events := turn(t, again, "go")
	for _, e := range ofKind(events, message.CallEnd) {
		if e.Use.Name == "Look" {
			require.Equal(t, "new", e.Result.Text(), "another process finds what was left")
		}
	}
	require.Contains(t, results(again)[0], "seen\n")
	require.Contains(t, results(again)[0], "[what it changed is in the worktree ", "and it still is a change")
}

func TestManyChildrenHaveAWorktreeEach(t *testing.T) {
	root := repository(t)
	var spawns []string
	var child []script.Step
	for range 8 {
		spawns = append(spawns, "Spawn", `{"agent":"apart","prompt":"go"}`)
		child = append(child, script.Say("looked"))
	}
	s, _, _ := inWorktree(t, root, nil, map[string][]script.Step{"": {script.Do(spawns...), script.Say("done")}, "apart": child})
	turn(t, s, "go")
	require.Len(t, results(s), 8)
	for _, text := range results(s) {
		require.Contains(t, text, "looked")
	}
	require.Empty(t, worktrees(t, root))
}

func TestWithoutARepositoryThatHasACommitThereIsNoWorktree(t *testing.T) {
	root := t.TempDir()
	gitIn(t, root, "init", "-q")
	s, _, _ := inWorktree(t, root, nil, map[string][]script.Step{})
	_, err := s.Agent(t.Context(), "apart")
	require.ErrorContains(t, err, "the repository has no commit yet")
	s, _, _ = inWorktree(t, t.TempDir(), func(o *session.Options) { o.ID = "other" }, map[string][]script.Step{})
	_, err = s.Agent(t.Context(), "apart")
	require.ErrorContains(t, err, "the project is in no git repository that could be used")
}
