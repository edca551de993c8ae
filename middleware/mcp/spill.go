package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/metaharness/peri/prompt/message"
)

// keep is how many files the folder of long outputs may have after one is added.
const keep = 200

// spill is the folder of outputs that were too long to be shown whole.
type spill struct {
	mu     sync.Mutex
	dir    string // "" = a temporary one is made when the first comes
	own    bool   // it goes with the session
	n      int
	closed bool
}

// saved is the shape of the names that save gives.
var saved = regexp.MustCompile(`-[0-9]+-mcp__[a-zA-Z0-9_-]+-[0-9]+\.txt$`)

// save writes the text of a result to a file of its own, and names it.
func (p *spill) save(session, tool string, parts []message.Part) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", errors.New("the session is closed")
	}
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "peri-mcp-")
		if err != nil {
			return "", err
		}
		p.dir, p.own = dir, true
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", err
	}
	p.n++
	f, err := os.CreateTemp(p.dir, fmt.Sprintf("%s-%d-%s-*.txt", part(session, 40, false), p.n, tool))
	if err != nil {
		return "", err
	}
	for i := range parts {
		if parts[i].Kind == message.Text {
			_, wrong := f.WriteString(parts[i].Text)
			err = errors.Join(err, wrong)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if !p.own {
		prune(p.dir, filepath.Base(f.Name()))
	}
	return filepath.Abs(f.Name())
}

// prune removes the oldest outputs over keep, never the one just added. Only files that save could have named are counted:
// the folder may have others. One that cannot be removed is there for the next time.
func prune(dir, added string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type output struct {
		name string
		at   time.Time
	}
	var old []output
	for _, e := range list {
		if e.Name() == added || !e.Type().IsRegular() || !saved.MatchString(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil {
			old = append(old, output{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(old, func(a, b output) int { return b.at.Compare(a.at) })
	for _, o := range old[min(len(old), keep-1):] {
		_ = os.Remove(filepath.Join(dir, o.name))
	}
}

func (p *spill) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.own {
		return nil
	}
	return os.RemoveAll(p.dir)
}
