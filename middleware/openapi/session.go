package openapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/address"
)

// session is what one session has open. Its children share it.
type session struct {
	opt     Options
	root    string
	store   middleware.Store // nil: nothing is kept
	resumed bool
	notice  func(string)
	sources []*source
	live    toolview.Live
	outputs outputs
	// guarded dials the public net alone, open everything.
	guarded, open *client

	end    context.CancelFunc
	ctx    context.Context // of everything that runs; ended by close
	wg     sync.WaitGroup
	mu     sync.Mutex // of what sources have become, and of publishing
	begun  bool       // under mu: the first turn is near
	finish sync.Once
}

func open(ctx context.Context, env middleware.Env, o Options) (*middleware.Instance, error) {
	s := &session{opt: o, root: env.Project.Root, notice: env.Notice, open: newClient(nil), store: env.Store, resumed: env.Resumed}
	if s.notice == nil {
		s.notice = func(string) {}
	}
	s.guarded = s.open
	if !o.AllowPrivate {
		s.guarded = newClient(address.Public)
	}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	parts := sourceParts(o.Sources)
	for _, one := range o.Sources {
		g, err := newGate(one)
		if err != nil {
			s.end()
			return nil, fmt.Errorf("openapi: the session's stored policy: %w", err)
		}
		s.sources = append(s.sources, &source{Source: one, all: s, part: parts[one.Name], gate: g})
	}
	s.start(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	return &middleware.Instance{
		State: s, Deferred: &s.live, Unsupported: s.unsupported(), Facts: s.facts, Close: s.close,
		Hooks: middleware.Hooks{Start: s.begin},
	}, nil
}

// start reads all documents at once and waits for them, but no longer than the session may be delayed. What comes later
// is published then.
func (s *session) start(ctx context.Context) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, one := range s.sources {
		if one.Disabled {
			one.state.detail = "switched off"
			continue
		}
		one.state.detail = "being read"
		all.Add(1)
		s.wg.Go(func() {
			defer all.Done()
			one.read(s.ctx)
			s.publish()
		})
	}
	s.wg.Go(func() {
		all.Wait()
		close(done)
	})
	timer := time.NewTimer(s.opt.Wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range s.sources {
			if !one.Disabled && !one.state.done {
				one.state.late = true
				s.notice(fmt.Sprintf("openapi: %s is still being read after %s; its tools appear when it is done", one.Name, s.opt.Wait))
			}
		}
	}
}

// publish offers the tools of what has been read.
func (s *session) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var tools []toolview.Tool
	for _, one := range s.sources {
		tools = append(tools, one.state.tools...)
	}
	set, err := toolview.NewSet(tools...)
	if err != nil {
		s.notice(fmt.Sprintf("openapi: %v", err)) // each was checked alone, and names are unique
		return
	}
	s.live.Publish(set)
}

// unsupported is why there is no tool, and there will be none.
func (s *session) unsupported() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sources) == 0 {
		return "no source is set up: write openapi.sources"
	}
	var reasons []string
	for _, one := range s.sources {
		if !one.Disabled && !one.state.done || one.state.usable > 0 {
			return ""
		}
		reasons = append(reasons, one.Name+": "+one.state.detail)
	}
	return "no source has an operation to offer: " + strings.Join(reasons, "; ")
}

func (s *session) facts() []middleware.Fact {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]middleware.Fact, len(s.sources))
	for i, one := range s.sources {
		out[i] = middleware.Fact{Surface: "source", Name: one.Name, Doc: one.state.title, Detail: one.state.detail}
	}
	return out
}

// close ends what is being read and called, and removes the files of long answers.
func (s *session) close(ctx context.Context) error {
	var err error
	s.finish.Do(func() {
		s.end()
		ended := make(chan struct{})
		go func() {
			s.wg.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.open.close()
		s.guarded.close()
		err = errors.Join(err, s.outputs.close())
	})
	return err
}
