package session

import (
	"sync"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// posted holds what was said from any goroutine until a turn yields it. What nobody yields is dropped, oldest first.
type posted struct {
	any atomic.Bool
	mu  sync.Mutex
	all []message.Event
}

const mostPosted = 256

func (p *posted) add(e message.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == mostPosted {
		p.all = append(p.all[:0], p.all[1:]...)
	}
	p.all = append(p.all, e)
	p.any.Store(true)
}

func (p *posted) drain() []message.Event {
	if !p.any.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	p.any.Store(false)
	return all
}

// notice tells whoever watches the session something. It may be called from any goroutine.
func (s *Session) notice(owner, text string) {
	s.posted.add(message.Event{Kind: message.Note, Owner: owner, Text: text})
}

// fault tells people of a contained failure.
func (s *Session) fault(f middleware.Fault) {
	s.posted.add(message.Event{Kind: message.Note, Owner: f.Owner, Text: f.Error(), Reason: "fault"})
}
