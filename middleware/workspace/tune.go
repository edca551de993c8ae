package workspace

import (
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/metaharness/peri/toolview"
)

// live is the settings that hold now, for a session and its children. What it holds is replaced, never changed.
type live struct{ atomic.Pointer[settings] }

// tune takes the settings that may change while the session lives.
func (l *live) tune() map[string]func(json.RawMessage) (func(), error) {
	flag := func(set func(*settings, bool)) func(json.RawMessage) (func(), error) {
		return func(raw json.RawMessage) (func(), error) {
			var on *bool
			if err := json.Unmarshal(raw, &on); err != nil || on == nil {
				return nil, errors.New("write true or false")
			}
			return func() {
				for {
					before := l.Load()
					after := *before
					set(&after, *on)
					if l.CompareAndSwap(before, &after) {
						return
					}
				}
			}, nil
		}
	}
	return map[string]func(json.RawMessage) (func(), error){
		"workspace.sandbox":         flag(func(s *settings, on bool) { s.Sandbox = on }),
		"workspace.allow_home":      flag(func(s *settings, on bool) { s.AllowHome = on }),
		"workspace.restrict_system": flag(func(s *settings, on bool) { s.RestrictSystem = on }),
		"workspace.bash_async":      flag(func(s *settings, on bool) { s.BashAsync = on }),
	}
}

// offered publishes the background tools as they are now: at work, or with the reason why not.
type offered struct {
	live    *live
	on, off *toolview.Set
}

func (o offered) Tools() *toolview.Set {
	if o.live.Load().BashAsync {
		return o.on
	}
	return o.off
}
