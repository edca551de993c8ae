package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/metaharness/peri/prompt/message"
)

// spill is the folder of outputs that were too long to be shown whole.
type spill struct {
	mu     sync.Mutex
	dir    string // "" = a temporary one is made when the first comes
	own    bool   // it goes with the session
	n      int
	closed bool
}

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
	return filepath.Abs(f.Name())
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
