package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session/lock"
)

func (p *program) diffCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "diff A B",
		Example: "  peri diff . .-WebMiddleware\n  peri diff HEAD~1 .\n  peri diff .peri/lock.txt ../other",
		Short:   "Compare what two sessions would be made of",
		Long: "Prints the facts that B lacks of A, with a minus, and those that it has more, with a plus, and exits with 1 when there\n" +
			"are any. A and B are folders, lock files or git revisions of this project; -NAME behind one closes a middleware, +NAME\n" +
			"opens it. As in a lock, only what is committed counts, and nothing that a project or revision brings is run.",
		Args: takes("A", "B"),
		RunE: func(c *cobra.Command, args []string) error { return p.diff(c.Context(), args[0], args[1]) },
	}
	c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	return c
}

func (p *program) diff(ctx context.Context, a, b string) error {
	before, err := p.side(ctx, a)
	if err != nil {
		return err
	}
	after, err := p.side(ctx, b)
	if err != nil {
		return err
	}
	d := lock.Compare(before, after)
	if err := p.difference(d); err != nil {
		return err
	}
	if !d.Empty() {
		return errNo
	}
	return nil
}

// side is the lock of one side of a comparison.
func (p *program) side(ctx context.Context, text string) (_ lock.Lock, err error) {
	at, set, err := changed(text)
	if err != nil {
		return lock.Lock{}, err
	}
	info, err := os.Stat(at)
	switch {
	case err == nil && info.IsDir():
		root := at
		if at == "." {
			if root, err = p.projectRoot(); err != nil {
				return lock.Lock{}, err
			}
		}
		return p.lockOf(ctx, root, set...)
	case err == nil && len(set) > 0:
		return lock.Lock{}, usage(fmt.Errorf("%s: %s is a lock file, whose middlewares nobody can close or open any more", text, at))
	case err == nil:
		return readLock(at)
	}
	root, err := p.projectRoot()
	if err != nil {
		return lock.Lock{}, err
	}
	dir, err := os.MkdirTemp("", "peri-revision-")
	if err != nil {
		return lock.Lock{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := checkout(ctx, root, at, dir); err != nil {
		return lock.Lock{}, err
	}
	return p.lockOf(ctx, dir, set...)
}

// changed cuts off the middlewares that a side closes and opens. What exists under the whole name is meant as a whole.
func changed(text string) (at string, set []string, err error) {
	suite, err := builtin.Suite(builtin.Options{})
	if err != nil {
		return "", nil, err
	}
	for at = text; ; {
		if _, err := os.Stat(at); err == nil {
			return at, set, nil
		}
		i := strings.LastIndexAny(at, "+-")
		if i <= 0 {
			return at, set, nil
		}
		name, ok := isMiddleware(suite.Keys(), at[i+1:])
		if !ok {
			return at, set, nil
		}
		set = append([]string{fmt.Sprintf("meta.%s=%t", name, at[i] == '+')}, set...)
		at = at[:i]
	}
}
