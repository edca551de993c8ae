package gitattribution

import (
	"context"
	"fmt"
	"sync"

	"github.com/metaharness/peri/middleware"
)

const storeKey = "edited"

// watch knows whether a session has edited files. It is safe for concurrent use.
type watch struct {
	store  middleware.Store // nil: in memory
	notice func(string)

	mu   sync.Mutex
	seen bool
}

func load(ctx context.Context, env middleware.Env) (*watch, error) {
	w := &watch{store: env.Store, notice: env.Notice}
	if env.Store == nil {
		return w, nil
	}
	_, ok, err := env.Store.Load(ctx, storeKey)
	if err != nil {
		return nil, fmt.Errorf("gitattribution: load: %w", err)
	}
	w.seen = ok
	return w, nil
}

func (w *watch) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *watch) edited(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen {
		return
	}
	w.seen = true
	if w.store == nil {
		return
	}
	if err := w.store.Save(ctx, storeKey, []byte("true")); err != nil && w.notice != nil {
		w.notice(fmt.Sprintf("that files were edited is not stored (%v): a resumed session will not know", err))
	}
}
