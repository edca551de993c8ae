package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// state is where a server stands.
type state string

const (
	disabled     state = "disabled"
	connecting   state = "connecting"
	ready        state = "ready"
	reconnecting state = "reconnecting"
	failed       state = "failed"
)

// server is one server of a session, over all its connections.
type server struct {
	Server
	hub  *hub
	gate *gate
	// relist holds a word that its lists have changed, again a word that it is to be tried anew.
	relist, again chan struct{}
	calls         calls
	asking        sync.Mutex // one question at a time

	mu    sync.Mutex // guards what follows
	state state
	why   string        // of failed and reconnecting
	conn  *conn         // of ready
	moved chan struct{} // closed, and made anew, when state changes
	offer *offer        // what it offered last
	// secrets are the values of its latest definition that no text may hold, the longest first.
	secrets []string
}

func newServer(h *hub, def Server, lacking string) (*server, error) {
	g, err := newGate(&def)
	if err != nil {
		return nil, fmt.Errorf("mcp: server %s: %w", def.Name, err)
	}
	s := &server{
		Server: def, hub: h, gate: g, relist: make(chan struct{}, 1), again: make(chan struct{}, 1),
		state: connecting, moved: make(chan struct{}), offer: &offer{},
	}
	if s.Timeout <= 0 {
		s.Timeout = 10 * time.Minute
	}
	switch {
	case def.Disabled:
		s.state = disabled
	case lacking != "":
		s.state, s.why = failed, lacking
	}
	return s, nil
}

// tries is how often in a row a server may fail before it is left alone, and steady how long it must have stood for a new
// row to begin.
const (
	tries  = 6
	steady = 30 * time.Second
)

// backoff is the pause before the nth attempt.
func backoff(n int) time.Duration { return min(time.Second<<max(0, n-1), 30*time.Second) / 2 }

// live keeps a server connected until ctx ends. It leaves nothing behind.
func (s *server) live(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady && s.was() == ready {
			failures = 0
		}
		failures++
		if errors.Is(err, errPermanent) || failures >= tries {
			s.become(failed, err)
			select {
			case <-s.again:
				failures = 0
			case <-ctx.Done():
				return
			}
			s.become(connecting, nil)
			continue
		}
		s.become(reconnecting, err)
		pause := time.NewTimer(backoff(failures))
		select {
		case <-pause.C:
		case <-s.again:
			failures = 0
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// serve takes one connection from its handshake to its end.
func (s *server) serve(ctx context.Context) error {
	handshake, cancel := context.WithTimeout(ctx, s.hub.opt.Start)
	defer cancel()
	c, err := s.connect(handshake)
	if err != nil {
		return err
	}
	defer c.close(s.hub.opt.Grace)
	if err := s.list(handshake, c); err != nil {
		return s.explain(handshake, c, fmt.Errorf("its lists cannot be read: %w", err))
	}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	s.become(ready, nil)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return c.err
		case <-s.again:
			return errors.New("it was to be connected anew")
		case <-s.relist:
			s.refresh(ctx, c)
		}
	}
}

// settling is how long lists are left alone after they have been read: a server may say in a row that they have changed.
const settling = 200 * time.Millisecond

// refresh reads the lists again. Those that cannot be read stay as they were.
func (s *server) refresh(ctx context.Context, c *conn) {
	within, cancel := context.WithTimeout(ctx, s.hub.opt.Start)
	defer cancel()
	if err := s.list(within, c); err != nil && ctx.Err() == nil {
		s.hub.notice("server %s: its changed lists cannot be read, and what it offered before stays: %s", s.Name, s.told(err))
	}
	pause := time.NewTimer(settling)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

func (s *server) changed() { signal(s.relist) }

// signal leaves a word for who reads it, if none is there.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func (s *server) was() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// become changes the state and tells who waits, and people.
func (s *server) become(to state, why error) {
	said := ""
	if why != nil {
		said = s.told(why)
	}
	s.mu.Lock()
	from := s.state
	s.state, s.why = to, said
	if to != ready {
		s.conn = nil
	}
	s.mu.Unlock()
	// Whoever waits finds that it has been told.
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.moved)
		s.moved = make(chan struct{})
	}()
	switch {
	case to == failed:
		s.hub.notice("server %s failed: %s", s.Name, said)
	case to == reconnecting && from == ready:
		s.hub.notice("server %s is lost and being connected again: %s", s.Name, said)
	case to == reconnecting:
		s.hub.notice("server %s does not start and is tried again: %s", s.Name, said)
	case to == ready && s.hub.opened.Load():
		s.hub.notice("server %s is connected", s.Name)
	}
}

// settled reports whether nothing is left to be waited for at the start.
func (s *server) settled() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != connecting, s.moved
}

// connected is the connection for a call. While the server is being connected it waits, for as long as the start of a
// session would.
func (s *server) connected(ctx context.Context) (*conn, error) {
	t := time.NewTimer(s.hub.opt.Budget)
	defer t.Stop()
	for {
		s.mu.Lock()
		c, st, why, moved := s.conn, s.state, s.why, s.moved
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		if st == failed || st == disabled || s.hub.life.Err() != nil {
			return nil, fmt.Errorf("its server %s is not there: %s", s.Name, why)
		}
		select {
		case <-moved:
		case <-t.C:
			return nil, fmt.Errorf("its server %s is not there now and is being connected again: try later", s.Name)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
