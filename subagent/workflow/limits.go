package workflow

import (
	"encoding/json"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
)

// limits are the limits of delegation that hold now, for a session and its children. What it holds is replaced, never
// changed.
type limits struct{ atomic.Pointer[Options] }

// tune takes the limits that may change while the session lives. The session makes one change at a time.
func (l *limits) tune() map[string]func(json.RawMessage) (func(), error) {
	number := func(set func(*Options, int)) func(json.RawMessage) (func(), error) {
		return middleware.Tuned(middleware.AtLeast(1), func(n int) {
			after := *l.Load()
			set(&after, n)
			l.Store(&after)
		})
	}
	return map[string]func(json.RawMessage) (func(), error){
		"subagents.multitask": number(func(o *Options, n int) { o.Multitask = n }),
		"subagents.depth":     number(func(o *Options, n int) { o.Depth = n }),
	}
}
