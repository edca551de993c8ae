package workspace

import (
	"encoding/json"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
)

// live is the settings that hold now, for a session and its children. What it holds is replaced, never changed.
type live struct{ atomic.Pointer[settings] }

// tune takes the settings that may change while the session lives. The session makes one change at a time.
func (l *live) tune() map[string]func(json.RawMessage) (func(), error) {
	flag := func(set func(*settings, bool)) func(json.RawMessage) (func(), error) {
		return middleware.Tuned(nil, func(on bool) {
			after := *l.Load()
			set(&after, on)
			l.Store(&after)
		})
	}
	return map[string]func(json.RawMessage) (func(), error){
		"workspace.sandbox":         flag(func(s *settings, on bool) { s.Sandbox = on }),
		"workspace.allow_home":      flag(func(s *settings, on bool) { s.AllowHome = on }),
		"workspace.restrict_system": flag(func(s *settings, on bool) { s.RestrictSystem = on }),
		"workspace.bash_async":      flag(func(s *settings, on bool) { s.BashAsync = on }),
	}
}
