package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	keptBackups = 20
	sidecarName = "edits.json"
	editsFolder = "edits"
	// stamp sorts by time.
	stamp = "20060102T150405.000000000Z"
)

// shelf is the folder that keeps the backups and the sidecar of one root, in the user's own folder: a backup can hold
// credentials, and a project is shared.
type shelf string

func shelfOf(home, root string) (shelf, error) {
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = root, nil
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(real))
	return shelf(filepath.Join(home, editsFolder, hex.EncodeToString(sum[:16]))), nil
}

func (s shelf) make() error {
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return err
	}
	return os.Chmod(string(s), 0o700)
}

// backup keeps a copy of what a file says, and of the older ones the newest.
func (s shelf) backup(name string, raw []byte) (string, error) {
	base := "." + filepath.Base(name)
	for try := range 100 {
		at := time.Now().UTC().Add(time.Duration(try)).Format(stamp)
		path := filepath.Join(string(s), at+base)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(raw)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, s.prune()
	}
	return "", errors.New("no free name for a backup")
}

func (s shelf) prune() error {
	all, err := os.ReadDir(string(s))
	if err != nil {
		return err
	}
	var names []string
	for _, e := range all {
		if n := e.Name(); len(n) > len(stamp) && n[len(stamp)] == '.' {
			if _, err := time.Parse(stamp, n[:len(stamp)]); err == nil {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	var errs []error
	for len(names) > keptBackups {
		errs = append(errs, os.Remove(filepath.Join(string(s), names[0])))
		names = names[1:]
	}
	return errors.Join(errs...)
}

// record is the last edit of one line. It has a text when the line is an edit's own and not somebody's that it changed.
type record struct {
	Key    string    `json:"key"`            // a meta key, or a skill's rule
	List   string    `json:"list,omitempty"` // of a rule: where it stands
	Effect string    `json:"effect"`
	File   string    `json:"file"`
	Time   time.Time `json:"time"`
	// Made says that the file came with it, so that it goes with the last line of ours when nothing else is in it.
	Made bool `json:"made,omitempty"`
	insertion
}

type sidecar struct {
	Version int      `json:"version"`
	Edits   []record `json:"edits"`
}

func (s shelf) sidecar() string { return filepath.Join(string(s), sidecarName) }

func (s shelf) read() (sidecar, error) {
	c := sidecar{Version: 1}
	raw, err := os.ReadFile(s.sidecar())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return sidecar{Version: 1}, fmt.Errorf("%s: %w", s.sidecar(), err)
	}
	if c.Version != 1 {
		return sidecar{Version: 1}, fmt.Errorf("%s: unknown version %d", s.sidecar(), c.Version)
	}
	return c, nil
}

func (s shelf) write(c sidecar) error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(s.sidecar(), append(raw, '\n'), 0o600)
}

// find gives the line of ours that a file has for a key, or for a rule in a list.
func (c *sidecar) find(file, key, list string) *record {
	for i := range c.Edits {
		if r := &c.Edits[i]; r.File == file && r.Key == key && r.List == list && r.Text != "" {
			return r
		}
	}
	return nil
}

// take removes a line, and gives what came with it: the file, a block.
func (c *sidecar) take(r record) (made bool, created string) {
	c.Edits = slices.DeleteFunc(c.Edits, func(o record) bool {
		if o.File != r.File || o.Key != r.Key || o.List != r.List {
			return false
		}
		if made = made || o.Made; o.Created != "" {
			created = o.Created
		}
		return true
	})
	return made, created
}

// drop forgets a line. The file or a block that came with it and is still needed belongs to another line of ours from then
// on, so that it goes with the last of them.
func (c *sidecar) drop(r record) {
	made, created := c.take(r)
	for i := range c.Edits {
		o := &c.Edits[i]
		if o.File != r.File || o.Text == "" {
			continue
		}
		o.Made, made = o.Made || made, false
		// A block can also be around the lists of several rules.
		if o.List == r.List && o.Created == "" || created != "" && strings.HasPrefix(o.List, created+".") {
			o.Created, created = created, ""
		}
	}
}

// forget drops every line of a file that is not there.
func (c *sidecar) forget(file string) {
	c.Edits = slices.DeleteFunc(c.Edits, func(o record) bool { return o.File == file })
}

// lockAll takes the locks of folders in their order, so that two edits never wait for each other.
func lockAll(ctx context.Context, wait time.Duration, dirs ...string) (unlock func() error, err error) {
	if wait <= 0 {
		wait = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var held []func() error
	unlock = func() error {
		var errs []error
		for _, u := range slices.Backward(held) {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}
	for _, dir := range slices.Compact(dirs) {
		one, err := lockOne(ctx, dir)
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		held = append(held, one)
	}
	return unlock, nil
}

func lockOne(ctx context.Context, dir string) (func() error, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		unlock, ok, err := lockFolder(dir)
		if ok || err != nil {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, &EditError{Code: EditConflict, Message: "another edit of the same file does not end: " + dir + " stays locked; try again"}
		case <-tick.C:
		}
	}
}

// sweep takes away what an edit that was killed left beside a file. The file's lock is held.
func sweep(file string) {
	all, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(file)+".")
		if ours && rest != "" && strings.Trim(rest, "0123456789") == "" {
			_ = os.Remove(filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
}
