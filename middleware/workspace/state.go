package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/metaharness/peri/middleware"
)

// state is the workspace of one session. A child has its own record of what it read and its own processes; it shares
// the root's locks and the folder for long outputs. It is safe for concurrent use.
type state struct {
	// OutputCap is how many bytes of a result are shown.
	OutputCap int
	box       *sandbox
	shared    *shared
	own       bool // shared is this state's to close
	procs     procs
	shells    shells

	mu   sync.Mutex
	seen map[string]stamp // real path → how the file was when it was last read or written
}

// shared is what a session and its children have together.
type shared struct {
	locks locks
	spill spill
	live  live
}

// stamp tells a file's content from another. Size and time do not: a clock is coarser than a fast writer.
type stamp [sha256.Size]byte

func stampOf(content []byte) stamp { return sha256.Sum256(content) }

func newState(env middleware.Env, above *state) (*state, error) {
	s := &state{seen: map[string]stamp{}}
	root := env.Project.Root
	if above != nil {
		s.OutputCap, s.shared = above.OutputCap, above.shared
		if root == "" {
			root = above.box.root
		}
		// A fork's history holds what its parent read; a named agent has seen nothing.
		if env.Agent.Fork {
			above.mu.Lock()
			s.seen = maps.Clone(above.seen)
			above.mu.Unlock()
		}
	} else {
		policy, err := readPolicy(env.Policy)
		if err != nil {
			return nil, err
		}
		s.OutputCap, s.shared, s.own = policy.OutputCap, &shared{}, true
		s.shared.live.Store(&policy)
	}
	box, err := newSandbox(&s.shared.live, root, &s.shared.spill)
	if err != nil {
		return nil, err
	}
	s.box = box
	if above != nil {
		box.apart = above.box.apart
		if box.root != above.box.root {
			box.apart = append(box.apart[:len(box.apart):len(box.apart)], above.box.root)
		}
	}
	return s, nil
}

// note records how a file is, as the model knows it.
func (s *state) note(real string, st stamp) {
	s.mu.Lock()
	s.seen[real] = st
	s.mu.Unlock()
}

// knows returns the stamp of the last reading.
func (s *state) knows(real string) (stamp, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.seen[real]
	return st, ok
}

func (s *state) close(ctx context.Context) error {
	err := s.procs.close(ctx)
	if s.own {
		err = errors.Join(err, s.shared.spill.close())
	}
	return err
}

// locks serializes writers of one file.
type locks struct {
	mu   sync.Mutex
	held map[string]*held
}

type held struct {
	mu   sync.Mutex
	uses int
}

// lock waits for the file and returns what gives it back.
func (l *locks) lock(real string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*held{}
	}
	h := l.held[real]
	if h == nil {
		h = &held{}
		l.held[real] = h
	}
	h.uses++
	l.mu.Unlock()
	h.mu.Lock()
	return func() {
		h.mu.Unlock()
		l.mu.Lock()
		if h.uses--; h.uses == 0 {
			delete(l.held, real)
		}
		l.mu.Unlock()
	}
}

// spill is the folder of a session's long outputs. It is made when the first one comes.
type spill struct {
	mu     sync.Mutex
	dir    string
	n      int
	closed bool
}

// create makes a file for one output.
func (p *spill) create(kind string) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the session is closed")
	}
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "peri-output-")
		if err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		p.dir = dir
	}
	p.n++
	return os.OpenFile(filepath.Join(p.dir, fmt.Sprintf("%d.%s", p.n, kind)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// folder is where outputs are; "" = there are none.
func (p *spill) folder() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir
}

func (p *spill) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.dir == "" {
		return nil
	}
	err := os.RemoveAll(p.dir)
	p.dir = ""
	return err
}
