package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/metaharness/peri/toolview"
)

// worktree is a git worktree that one child works in. It is there while the child takes a turn, and stays when it holds
// something that the repository does not. A nil worktree is none.
type worktree struct {
	git  *sync.Mutex // one at a time in the whole tree of sessions: git's own locks refuse where they could wait
	from string      // a folder of the repository
	dir  string
	root string // the project's folder in dir
}

// baseFile, in git's own folder of the worktree, keeps the commit that it began with.
const baseFile = "peri-base"

// settling bounds what is done after a turn, when its own time may be over.
const settling = 30 * time.Second

// isolate makes the worktree of a child that is to have one.
func (s *Session) isolate(ctx context.Context, sp *toolview.Spawn, id string) (*worktree, error) {
	switch {
	case sp.Isolation == "":
		return nil, nil
	case sp.Isolation != toolview.Worktree:
		return nil, fmt.Errorf("isolation %q is not known: write %s", sp.Isolation, toolview.Worktree)
	case sp.Fork:
		return nil, errors.New("a fork works where its parent does and cannot have a worktree")
	}
	lacks := func(err error) error {
		return fmt.Errorf("it was not started, since it is to work in a git worktree of its own: %w", err)
	}
	where, err := git(ctx, s.opt.Root, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix")
	if err != nil {
		return nil, lacks(fmt.Errorf("the project is in no git repository that could be used: %w", err))
	}
	common, prefix, _ := strings.Cut(where, "\n")
	w := &worktree{git: s.gits, from: s.opt.Root, dir: filepath.Join(common, "peri", "worktrees", folderName(id))}
	w.root = filepath.Join(w.dir, filepath.FromSlash(prefix))
	if err := w.ensure(ctx); err != nil {
		return nil, lacks(err)
	}
	if _, err := os.Stat(w.root); err != nil {
		_, left := w.settle(ctx)
		return nil, lacks(errors.Join(errors.New("the project's folder is not in the last commit"), left))
	}
	return w, nil
}

// folderName is an id as the name of a folder, a different one for each id.
func folderName(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	if clean == id && strings.Trim(id, ".") != "" && len(id) <= 64 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "run-" + hex.EncodeToString(sum[:12])
}

// ensure makes the worktree, of the last commit, unless it is there.
func (w *worktree) ensure(ctx context.Context) error {
	if w == nil {
		return nil
	}
	w.git.Lock()
	defer w.git.Unlock()
	if _, err := os.Stat(filepath.Join(w.dir, ".git")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("worktree: %w", err)
	}
	head, err := git(ctx, w.from, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return errors.New("the repository has no commit yet")
	}
	if _, err := git(ctx, w.from, "worktree", "add", "--detach", "--force", "--", w.dir, head); err != nil {
		return err
	}
	base, err := git(ctx, w.dir, "rev-parse", "--path-format=absolute", "--git-path", baseFile)
	if err == nil {
		err = os.WriteFile(base, []byte(head+"\n"), 0o600)
	}
	if err != nil {
		// Nobody has worked in it yet.
		_, left := git(context.WithoutCancel(ctx), w.from, "worktree", "remove", "--force", "--", w.dir)
		return fmt.Errorf("worktree: %w", errors.Join(err, left))
	}
	return nil
}

// settle removes the worktree if nothing in it has changed; otherwise, and whenever that cannot be told, it stays and is
// named. What the repository ignores is no change.
func (w *worktree) settle(ctx context.Context) (kept string, err error) {
	if w == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	w.git.Lock()
	defer w.git.Unlock()
	if _, err := os.Stat(w.dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	changed, err := w.changed(ctx)
	if err != nil || changed {
		return w.dir, err
	}
	// Without --force git itself refuses to remove what it would lose.
	if _, err := git(ctx, w.from, "worktree", "remove", "--", w.dir); err != nil {
		return w.dir, err
	}
	return "", nil
}

func (w *worktree) changed(ctx context.Context) (bool, error) {
	dirty, err := git(ctx, w.dir, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
	if err != nil || dirty != "" {
		return true, err
	}
	head, err := git(ctx, w.dir, "rev-parse", "HEAD")
	if err != nil {
		return true, err
	}
	base, err := git(ctx, w.dir, "rev-parse", "--path-format=absolute", "--git-path", baseFile)
	if err != nil {
		return true, err
	}
	was, err := os.ReadFile(base)
	if err != nil {
		return true, fmt.Errorf("worktree: %w", err)
	}
	return strings.TrimSpace(string(was)) != head, nil
}

// text tells the child where it is.
func (w *worktree) text() string {
	return "You work in a git worktree of your own, " + filepath.ToSlash(w.root) + ", and nobody else changes files there. It began as the project's last commit, without what is uncommitted elsewhere. Name files from there, relative. What you change stays there for the one who asked."
}

// git runs one command in a folder and returns what it says. It runs none of the repository's hooks, asks nothing and
// heeds no surrounding git's variables.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("git is not installed")
		}
		if said := strings.TrimSpace(bad.String()); said != "" {
			return "", fmt.Errorf("git %s: %s", args[0], said)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(out.String(), "\r\n"), nil
}
