package toolsearch

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	index "github.com/metaharness/peri/toolsearch"
	"github.com/metaharness/peri/toolview"
)

const (
	// remembered is how many views keep what was derived from them: a session has one at a time, and its children
	// share this state.
	remembered = 16
	// announced is how many names stand in the tail.
	announced = 50
)

// state remembers what was derived from the last views. It is shared by a session and its children and safe for
// concurrent use; the lock covers the list alone, never indexing or a query.
type state struct {
	mu    sync.Mutex
	views []*derived // newest last
}

// derived is what is made of one view, each part once and only when it is asked for.
type derived struct {
	view      *toolview.View
	indexOnce sync.Once
	idx       *index.Index
	textOnce  sync.Once
	text      string
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

func (d *derived) index() *index.Index {
	d.indexOnce.Do(func() { d.idx = index.New(d.view) })
	return d.idx
}

func (d *derived) announcement() string {
	d.textOnce.Do(func() {
		var names []string
		for e := range d.view.Deferred() {
			names = append(names, e.Tool.Name)
		}
		slices.Sort(names)
		more := ""
		if n := len(names) - announced; n > 0 {
			names, more = names[:announced], fmt.Sprintf(" and %d more", n)
		}
		d.text = fmt.Sprintf("More tools can be found with `%s` and run with `%s`: %s%s.",
			SearchTool, ExecuteTool, strings.Join(names, ", "), more)
	})
	return d.text
}
