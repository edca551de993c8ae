package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

const (
	maxFile  = 1 << 20 // of a document
	maxFiles = 20_000  // of a plugin that wants trust, and
	maxBytes = 64 << 20
)

// parts reads what stands where everybody expects it, besides what the manifest names.
func (r *reader) parts() {
	r.document(&r.Hooks, "hooks/hooks.json", "hooks", meta.Origin{})
	r.document(&r.Servers, ".mcp.json", "mcpServers", meta.Origin{})
	r.commands("commands", meta.Origin{})
	for _, d := range []struct {
		name string
		into *[]string
	}{{"agents", &r.Agents}, {"skills", &r.Skills}} {
		if r.isDir(d.name) && !slices.Contains(*d.into, d.name) {
			*d.into = append([]string{d.name}, *d.into...)
		}
	}
}

func (r *reader) isDir(name string) bool {
	info, err := r.root.Stat(filepath.FromSlash(name))
	return err == nil && info.IsDir()
}

// document adds a file that holds something under a key, once. named is where the manifest names it; a file that it does
// not name need not be there.
func (r *reader) document(into *[]Document, name, key string, named meta.Origin) {
	raw, at, ok := r.file(name)
	switch {
	case ok && !slices.ContainsFunc(*into, func(d Document) bool { return d.At == at }):
		*into = append(*into, Document{Raw: raw, At: at, Key: key})
	case !ok && !r.bad && named != (meta.Origin{}):
		r.fail(named, fmt.Sprintf("%s: there is no %s; it is left out", key, name), "")
	}
}

// file reads one file of the plugin. One that is there and cannot be read leaves the plugin out when it is a manifest,
// and is a diagnostic.
func (r *reader) file(name string) (raw []byte, at meta.Origin, ok bool) {
	at = r.place(name)
	raw, err := read(r.root, filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, at, false
	case err != nil:
		r.bad = r.bad || slices.Contains(manifests, name)
		if slices.Contains(r.outside, name) && !r.bad {
			return nil, at, false // told of already
		}
		r.fail(at, reason(err)+"; it is left out", "make it a readable file inside the plugin")
		return nil, at, false
	}
	return raw, at, true
}

// read looks before it opens, since opening a pipe would wait for a writer.
func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("over %d KiB", maxFile>>10)
	}
	return raw, err
}

// unread are folders of tools that programs write on their own.
var unread = []string{".git", "node_modules", "__pycache__"}

// walk looks at every file of the plugin for links that lead out of it, through which nothing reads. When the plugin is
// sealed, its files make a digest, and an error says why they could not.
func (r *reader) walk(sealed bool) error {
	sum, files, bytes := sha256.New(), 0, int64(0)
	err := fs.WalkDir(r.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(unread, e.Name()):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0:
			real, err := filepath.EvalSymlinks(filepath.Join(r.Dir, filepath.FromSlash(name)))
			if err != nil || !inside(r.Dir, real) {
				r.outside = append(r.outside, name)
				real = ""
			}
			fmt.Fprintf(sum, "link %q %q\n", name, strings.TrimPrefix(real, r.Dir))
			return nil
		case !sealed || !e.Type().IsRegular():
			return nil
		}
		if files++; files > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		n, hash, err := r.hash(name)
		if bytes += n; err == nil && bytes > maxBytes {
			err = fmt.Errorf("more than %d MiB", maxBytes>>20)
		}
		fmt.Fprintf(sum, "file %q %s\n", name, hash)
		return err
	})
	if !sealed {
		return nil // what cannot be read is reported by whoever needs it
	}
	r.Digest = hex.EncodeToString(sum.Sum(nil))
	return err
}

func (r *reader) hash(name string) (int64, string, error) {
	file, err := r.root.Open(filepath.FromSlash(name))
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, maxBytes+1))
	return n, hex.EncodeToString(sum.Sum(nil)), err
}
