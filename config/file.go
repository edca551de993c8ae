package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/metaharness/peri/meta"
)

const (
	maxFile  = 1 << 20
	maxDepth = 100
	// The YAML reader compares each key of a map with every other.
	maxMembers = 4096
	maxKey     = 1024
)

var bom = []byte("\xEF\xBB\xBF")

// read finds the layer's file in one of its spellings and parses it. File becomes what was found.
func (y *layer) read(found *problems) {
	stem := strings.TrimSuffix(y.File, filepath.Ext(y.File))
	var there []string
	for _, ext := range []string{".yaml", ".yml", ".json", ".jsonc"} {
		_, err := os.Lstat(stem + ext)
		// ENOTDIR: a file stands where the folder would be, so the folder is not there.
		if err == nil {
			there = append(there, stem+ext)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			found.fail(meta.Origin{Layer: y.Name, File: stem + ext}, "", reason(err), "make it readable, or remove it")
			return
		}
	}
	if len(there) == 0 {
		return
	}
	y.File = there[0]
	at := meta.Origin{Layer: y.Name, File: y.File}
	if len(there) > 1 {
		found.fail(at, "", "the same settings stand in "+strings.Join(there, " and "), "keep one of them")
		return
	}
	raw, err := readFile(y.File)
	if err != nil {
		found.fail(at, "", reason(err), "make it a readable file of up to 1 MiB")
		return
	}
	tree, bad := parse(raw, at)
	if bad != nil {
		found.errs = append(found.errs, bad)
		return
	}
	y.tree, y.Loaded = tree, true
}

// reason leaves out the path, which the origin has.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Op + ": " + path.Err.Error()
	}
	return err.Error()
}

// readFile looks before it opens, since opening a pipe would wait for a writer.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, errors.New("over 1 MiB")
	}
	return raw, nil
}

// parse reads one document. at names the layer and the file; its extension says which syntax. A document without
// content is nil.
func parse(raw []byte, at meta.Origin) (*value, *Error) {
	raw = bytes.TrimPrefix(raw, bom)
	if !utf8.Valid(raw) {
		i := 0
		for i < len(raw) {
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		at.Line, at.Column = lineColumn(raw, i)
		return nil, &Error{Origin: at, Message: "not UTF-8", Suggestion: "save it as UTF-8"}
	}
	switch filepath.Ext(at.File) {
	case ".json", ".jsonc":
		return parseJSONC(raw, at)
	}
	return parseYAML(raw, at)
}

// lineColumn counts from 1, columns in characters.
func lineColumn(raw []byte, offset int) (line, column int) {
	before := raw[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
