// Package skillpreload gives an agent the skills that its definition names before it begins.
//
// A skill is loaded by a call of the tool that loads skills, made through the child's own view: what is closed, denied or
// hidden from models is not preloaded either, a rule that asks about a skill asks here too, and what a skill narrows is
// narrowed for the child's first turn. Its text becomes part of the agent's first prompt, and so of its transcript.
package skillpreload

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "SkillPreloadMiddleware"

// What the middleware builds on: who has skills, and the tool that loads one.
const (
	skills = "SkillsMiddleware"
	loader = "Skill"
)

// done is the key under which a child keeps that it has its skills.
const done = "preloaded"

// Options are none.
type Options struct{}

// New makes the middleware.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Gives an agent the skills that its definition names before it begins.",
		Requires: []string{skills},
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Child: child}, nil
		},
	}
}

// child serves an agent that wants skills; for any other there is nothing to do.
func child(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	in := &middleware.Instance{Child: child}
	p := &preload{store: env.Store, notice: env.Notice}
	for _, x := range env.Extras(toolview.ExtraPreload) {
		if err := json.Unmarshal(x.Value, &p.names); err != nil {
			return nil, fmt.Errorf("skillpreload: %w", err)
		}
	}
	if len(p.names) > 0 {
		in.Hooks.Input = p.input
	}
	return in, nil
}

// preload is an agent's skills until its first prompt, and nothing behind it.
type preload struct {
	names  []string
	store  middleware.Store
	notice func(string)
	over   bool
}

// input adds the skills to the first prompt. Turns of one session never overlap.
func (p *preload) input(ctx context.Context, in *middleware.Input) error {
	if p.over || in.Call == nil {
		return nil
	}
	p.over = true
	if p.store != nil {
		_, before, err := p.store.Load(ctx, done)
		if err != nil || before {
			return err
		}
	}
	for _, name := range p.names {
		args, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			return fmt.Errorf("skillpreload: %w", err)
		}
		res := in.Call(toolview.Inner{Name: loader, Args: args})
		if res.Error {
			p.notice(fmt.Sprintf("skill %s was not preloaded: %s", name, strings.TrimSpace(res.Text())))
			continue
		}
		in.Parts = append(in.Parts, message.Part{Kind: message.Text, Text: "\n\n" + res.Text()})
	}
	if p.store == nil {
		return nil
	}
	return p.store.Save(ctx, done, []byte("true"))
}
