package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// largest is how many bytes a file of a revision may have to be looked at; nothing that a session reads is larger.
const largest = 8 << 20

// checkout writes the files that a project had in a git revision into an empty folder. It reads git's objects as they
// are: no filter, hook or attribute of anybody is asked, and no link leads out of the folder.
func checkout(ctx context.Context, root, revision, dir string) error {
	if strings.HasPrefix(revision, "-") {
		return usage(fmt.Errorf("%s is no folder, lock file or git revision", revision))
	}
	commit, err := git(ctx, root, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return hint(fmt.Errorf("%s is no folder, lock file or git revision here", revision), "peri diff --help says what may stand there")
	}
	prefix, err := git(ctx, root, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	tree := strings.TrimSpace(string(commit)) + ":" + strings.TrimRight(string(prefix), "\n")
	list, err := git(ctx, root, nil, "ls-tree", "-r", "-z", "--long", "--full-tree", tree)
	if err != nil {
		return fmt.Errorf("%s has no folder %s: %w", revision, prefix, err)
	}
	var files []blob
	var ask bytes.Buffer
	for entry := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		b, ok, err := parseBlob(entry)
		if err != nil {
			return hint(fmt.Errorf("%s: %w", revision, err), "this clone lacks a part of it, and nothing is fetched here: fetch it with git first")
		}
		if ok {
			files = append(files, b)
			fmt.Fprintln(&ask, b.id)
		}
	}
	content, err := git(ctx, root, &ask, "cat-file", "--batch")
	if err != nil {
		return err
	}
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(unpack(into, files, bufio.NewReader(bytes.NewReader(content))), into.Close())
}

// blob is one file of a tree.
type blob struct {
	id, path string
	link     bool
}

// parseBlob reads "mode type id size<tab>path". Submodules and files that are too large are none; a file that is not there
// has no size.
func parseBlob(entry string) (blob, bool, error) {
	about, name, ok := strings.Cut(entry, "\t")
	f := strings.Fields(about)
	if !ok || len(f) != 4 || f[1] != "blob" {
		return blob{}, false, nil
	}
	size, err := strconv.Atoi(f[3])
	if err != nil {
		return blob{}, false, fmt.Errorf("%s is missing", name)
	}
	return blob{id: f[2], path: name, link: f[0] == "120000"}, size <= largest, nil
}

// unpack writes what cat-file answered. into keeps every path inside the folder.
func unpack(into *os.Root, files []blob, r *bufio.Reader) error {
	for _, f := range files {
		head, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file: %s: %w", f.path, err)
		}
		fields := strings.Fields(head)
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return fmt.Errorf("git cat-file: %s: %s", f.path, strings.TrimSpace(head))
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("git cat-file: %s: %w", f.path, err)
		}
		if _, err := r.Discard(1); err != nil {
			return fmt.Errorf("git cat-file: %s: %w", f.path, err)
		}
		if err := writeBlob(into, f, b); err != nil {
			return err
		}
	}
	return nil
}

func writeBlob(into *os.Root, f blob, b []byte) error {
	name := filepath.FromSlash(f.path)
	if err := into.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if f.link {
		target := string(b)
		if path.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(f.path), target))) {
			return nil // it led out of the project, where no session follows it
		}
		return into.Symlink(filepath.FromSlash(target), name)
	}
	return into.WriteFile(name, b, 0o600)
}

func git(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stdin = dir, in
	// A project's own git configuration may name a program that fetches what is not there, and git would run it.
	c.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}
