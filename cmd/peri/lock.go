package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/lock"
)

// lockFile is where a project's lock is, from its root.
const lockFile = ".peri/lock.txt"

func (p *program) lockCommand() *cobra.Command {
	check := false
	c := &cobra.Command{
		Use:   "lock",
		Short: "Write down, or compare with, what a session of this project is made of",
		Long: "Writes .peri/lock.txt: every fact of a session, one a line, with a digest of each text that a model is given. Commit\n" +
			"it, and a pull request shows what it does to sessions.\n\n" +
			"It is the same on every machine: only the project's committed files and --set count. The user's own settings, the\n" +
			"local layer and the administrator's file are left out, and nothing is trusted, so that no hook and no server of the\n" +
			"project runs. What the project would like to be trusted with is told by a line that begins with trust.\n\n" +
			"In CI, behind the checkout:\n\n" +
			"  peri lock --check    # exits with 1 and prints the difference when somebody changed what sessions are made of\n" +
			"  peri verify          # exits with 1 and names each leak when something that is closed still shows",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.lock(c.Context(), check) },
	}
	c.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 and print the difference when the file is out of date")
	c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	return c
}

func (p *program) lock(ctx context.Context, check bool) error {
	root, err := p.projectRoot()
	if err != nil {
		return err
	}
	now, err := p.lockOf(ctx, root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(lockFile))
	if err := lockPlace(root, !check); err != nil {
		return err
	}
	if !check {
		if err := config.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			return err
		}
		if p.json {
			return p.object(map[string]any{"version": "peri.lock/v1", "file": lockFile, "facts": now.Lines()})
		}
		fmt.Fprintf(p.out, "wrote %s: %d facts\n", lockFile, len(now.Lines()))
		return nil
	}
	was, err := readLock(file)
	if errors.Is(err, os.ErrNotExist) {
		return hint(fmt.Errorf("there is no %s", lockFile), "peri lock writes it; then commit it")
	}
	if err != nil {
		return hint(err, "peri lock writes it anew")
	}
	d := lock.Compare(was, now)
	if err := p.difference(d); err != nil {
		return err
	}
	if d.Empty() {
		return nil
	}
	if !p.json {
		fmt.Fprintf(p.err, "peri: %s is out of date: %d facts lost, %d gained\nhint: when that is meant, run peri lock and commit the file\n", lockFile, len(d.Lost), len(d.Gained))
	}
	return errNo
}

// difference prints a diff.
func (p *program) difference(d lock.Diff) error {
	if p.json {
		return p.object(struct {
			Version string `json:"version"`
			lock.Diff
		}{"peri.diff/v1", d})
	}
	_, err := fmt.Fprint(p.out, d)
	return err
}

func (p *program) projectRoot() (string, error) {
	if p.root != "" {
		return filepath.Abs(p.root)
	}
	return config.FindRoot(".", p.home)
}

// lockPlace refuses a lock that is no file of the project: through a link, a project could have any file of its user's
// overwritten, and a device or pipe would be read without end. With make, its folder is there afterwards.
func lockPlace(root string, make bool) (err error) {
	in, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	name := filepath.FromSlash(lockFile)
	if make {
		if err := in.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return hint(err, "a lock lies in its project's own .peri")
		}
	}
	info, err := in.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return hint(err, "a lock lies in its project's own .peri")
	case !info.Mode().IsRegular():
		return hint(fmt.Errorf("%s is no regular file", lockFile), "remove it; peri lock writes it anew")
	}
	return nil
}

func readLock(file string) (_ lock.Lock, err error) {
	f, err := os.Open(file)
	if err != nil {
		return lock.Lock{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return lock.Lock{}, err
	}
	if len(b) > largest {
		return lock.Lock{}, fmt.Errorf("%s is larger than %d MiB, and no lock", file, largest>>20)
	}
	l, err := lock.Parse(string(b))
	if err != nil {
		return l, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// lockOf is the lock of a folder, more settings being laid over its own.
func (p *program) lockOf(ctx context.Context, root string, more ...string) (_ lock.Lock, err error) {
	setup, diags, err := builtin.LoadShared(config.Options{Root: root, Set: append(p.set[:len(p.set):len(p.set)], more...)})
	if err != nil {
		if !p.json {
			p.warn(diags)
		}
		return lock.Lock{}, err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	s, err := p.open(ctx, setup, quietModel, people{nobody{}, nobody{}})
	if err != nil {
		return lock.Lock{}, err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	l := lock.Of(s)
	wants := false
	for _, w := range setup.Wants() {
		if strings.HasPrefix(w.Key, "meta.") {
			continue // the facts that are not there tell it
		}
		wants = true
		l = l.With(session.Fact{Surface: "trust", Name: w.Key, Owner: w.Origin.Layer, Detail: "wanted"})
	}
	// The digest is what peri trust binds itself to: when it changes, every user is asked anew.
	if sum := setup.Loaded.Trust.Digest; wants {
		l = l.With(session.Fact{Surface: "trust", Name: "all", Owner: config.Project, Detail: "#" + sum[:12]})
	}
	return l, nil
}

// isMiddleware finds the middleware or policy that a name or alias means.
func isMiddleware(keys meta.Keys, name string) (string, bool) {
	k, ok := keys.Lookup(name)
	return k.Name, ok && k.Kind != meta.Segment
}
