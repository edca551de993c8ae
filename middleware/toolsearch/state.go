package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
	index "github.com/metaharness/peri/toolsearch"
	"github.com/metaharness/peri/toolview"
)

const (
	// shared is how many different lists of tools the sessions of one suite keep an index of.
	shared = 32
	// remembered is how many views keep what was derived from them.
	remembered = 4
	// announced is how many names of tools not yet found stand in the tail, and kept how many found ones, the latest.
	announced = 50
	kept      = 50
)

// foundKey is where a session keeps the names that it found, oldest first, as a JSON array.
const foundKey = "found"

// state is what one session derived from its last views, and what it found. It is safe for concurrent use; the locks
// cover lists alone, never indexing or a query.
type state struct {
	env     middleware.Env
	indexes *index.Cache
	last    atomic.Pointer[index.Index] // the next view's index grows out of it

	mu    sync.Mutex
	views []*derived // newest last
	found []string   // newest last; replaced, never changed
	saves sync.Mutex // orders what is stored
}

// derived is what is made of one view, each part once and only when it is asked for.
type derived struct {
	view *toolview.View
	once sync.Once
	idx  *index.Index

	mu   sync.Mutex
	said []string // the found names that text was made for
	text string
}

// open makes the state of a session, with what it found before it was resumed. A fork begins with what its parent had
// found, since it has the parent's history.
func open(ctx context.Context, env middleware.Env, indexes *index.Cache, parent *state) (*state, error) {
	s := &state{env: env, indexes: indexes}
	if parent != nil && env.Agent.Fork {
		s.found = parent.known()
	}
	if env.Store == nil {
		return s, nil
	}
	stored, ok, err := env.Store.Load(ctx, foundKey)
	if err != nil {
		return nil, fmt.Errorf("toolsearch: what was found before: %w", err)
	}
	if ok {
		if err := json.Unmarshal(stored, &s.found); err != nil {
			// Names that cannot be read are found again; they are no reason to lose the session.
			env.Log().WarnContext(ctx, "toolsearch: the stored names of found tools cannot be read", "err", err)
			s.found = nil
		}
	}
	return s, nil
}

// seen returns the one derived for a view. Views are immutable, so the pointer is their identity.
func (s *state) seen(v *toolview.View) *derived {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range s.views {
		if d.view == v {
			s.views = append(slices.Delete(s.views, i, i+1), d)
			return d
		}
	}
	d := &derived{view: v}
	if len(s.views) == remembered {
		s.views = slices.Delete(s.views, 0, 1)
	}
	s.views = append(s.views, d)
	return d
}

func (s *state) index(v *toolview.View) *index.Index {
	d := s.seen(v)
	d.once.Do(func() {
		d.idx = s.indexes.Index(v, s.last.Load())
		s.last.Store(d.idx)
	})
	return d.idx
}

func (s *state) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// remember adds names to what was found, and stores it. A name found again becomes the newest.
func (s *state) remember(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	s.saves.Lock()
	defer s.saves.Unlock()
	s.mu.Lock()
	found := slices.DeleteFunc(slices.Clone(s.found), func(n string) bool { return slices.Contains(names, n) })
	found = append(found, names...)
	found = found[max(0, len(found)-kept):]
	s.found = found
	s.mu.Unlock()
	if s.env.Store == nil {
		return
	}
	raw, err := json.Marshal(found)
	if err == nil {
		err = s.env.Store.Save(ctx, foundKey, raw)
	}
	if err != nil {
		s.env.Log().WarnContext(ctx, "toolsearch: the names of found tools are not stored", "err", err)
	}
}

// announcement names the tools that were found and are still there, and then those that can be found. What was found
// stays named when its result is long compacted away.
func (s *state) announcement(v *toolview.View) string {
	d, found := s.seen(v), s.known()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == "" || !slices.Equal(d.said, found) {
		d.said, d.text = found, announce(v, found)
	}
	return d.text
}

func announce(v *toolview.View, found []string) string {
	var have, more []string
	for e := range v.Deferred() {
		if slices.Contains(found, e.Tool.Name) {
			have = append(have, e.Tool.Name)
		} else {
			more = append(more, e.Tool.Name)
		}
	}
	slices.Sort(have)
	slices.Sort(more)
	var b strings.Builder
	if len(have) > 0 {
		fmt.Fprintf(&b, "Found before and still to be run with `%s`: %s.", ExecuteTool, strings.Join(have, ", "))
		if len(more) > 0 {
			b.WriteString(" ")
		}
	}
	if len(more) > 0 {
		rest := ""
		if n := len(more) - announced; n > 0 {
			more, rest = more[:announced], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "More tools can be found with `%s` and run with `%s`: %s%s.", SearchTool, ExecuteTool, strings.Join(more, ", "), rest)
	}
	return b.String()
}
