package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// session is the commands at work in one session. It is safe for concurrent use.
//
// What a command's allowed-tools do not name is refused from its prompt to the next one, for the session and for every
// child that it makes or continues meanwhile. They give nothing, and spare no approval; the view does not change, so that
// the prompt cache lives on.
type session struct {
	o      *Options
	parent *session // nil for a main session
	born   []bond   // what bound its parent when it was made

	mu     sync.Mutex
	active *bond
	next   *chosen
}

// bond is a command at work with what it lets be called.
type bond struct {
	command string
	frame   *toolview.Frame
}

// chosen is a command that has made a prompt, until the prompt arrives.
type chosen struct {
	prompt string
	bond   *bond
}

// frame compiles the tools of a command; nil = it narrows nothing.
func (c *Command) frame() (*toolview.Frame, error) {
	if c.Tools == nil {
		return nil, nil
	}
	list := make([]toolview.Selector, len(c.Tools))
	for i, t := range c.Tools {
		list[i] = toolview.Selector{Text: t, Origin: c.ToolsAt}
	}
	f, err := toolview.NewFrame(toolview.Lists{Allow: [][]toolview.Selector{list}})
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return f, nil
}

// instance serves one session.
func (s *session) instance(facts []middleware.Fact) (*middleware.Instance, error) {
	in := &middleware.Instance{Facts: func() []middleware.Fact { return facts }}
	for _, p := range s.o.Plugins {
		for _, c := range p.Commands {
			frame, err := c.frame()
			if err != nil {
				return nil, err
			}
			var b *bond
			if frame != nil {
				b = &bond{p.Name + ":" + c.Name, frame}
				in.Hooks.Input, in.Hooks.Rewrite = s.input, s.rewrite
			}
			in.Routes = append(in.Routes, middleware.Route{
				RouteDecl: middleware.RouteDecl{Name: c.Name, Doc: c.Doc, Args: c.Args, From: p.Name},
				Run: func(_ context.Context, args string) (middleware.RouteReply, error) {
					prompt := c.Prompt(args)
					s.mu.Lock()
					s.next = &chosen{prompt, b}
					s.mu.Unlock()
					return middleware.RouteReply{Prompt: prompt}, nil
				},
			})
		}
	}
	in.Child = func(context.Context, middleware.Env) (*middleware.Instance, error) {
		return (&session{o: s.o, parent: s, born: s.bonds()}).instance(facts)
	}
	return in, nil
}

// bonds are all that bind the session now, its parent's included.
func (s *session) bonds() []bond {
	if s == nil {
		return nil
	}
	out := append(slices.Clone(s.born), s.parent.bonds()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active != nil {
		out = append(out, *s.active)
	}
	return out
}

// input begins a turn: what an earlier command forbade is over, and the one that made this prompt is at work.
func (s *session) input(_ context.Context, in *middleware.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next
	s.active, s.next = nil, nil
	if next != nil && len(in.Parts) > 0 && in.Parts[0].Text == next.prompt {
		s.active = next.bond
	}
	return nil
}

// rewrite refuses what a command at work does not let be called, and leaves all other calls as they are.
func (s *session) rewrite(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	bonds := s.bonds()
	for i, c := range calls {
		out[i] = middleware.Verdict{Decision: middleware.Pass}
		for _, b := range bonds {
			if why := b.frame.Refusal(c); why != "" {
				out[i] = middleware.Verdict{
					Reason: fmt.Sprintf("the command `/%s` is at work until the user's next message and does not let `%s` be called like this: %s", b.command, c.Name(), why),
				}
				break
			}
		}
	}
}
