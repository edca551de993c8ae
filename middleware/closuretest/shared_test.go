package closuretest_test

import (
	"context"
	"sync"

	"github.com/metaharness/peri/middleware"
)

// sharedOpen is what badly made middlewares tell each other behind the framework's back: which sessions opened one. A
// session is known by the context that all its middlewares are opened with.
type sharedOpen struct{ in sync.Map }

func (s *sharedOpen) track(m *middleware.Middleware) {
	opening(m, func(ctx context.Context, _ middleware.Env, _ *middleware.Instance) { s.in.Store(ctx, true) })
}

func (s *sharedOpen) has(ctx context.Context) bool {
	_, ok := s.in.Load(ctx)
	return ok
}
