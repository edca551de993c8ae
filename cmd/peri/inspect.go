package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/report"
)

type inspecting struct {
	facts, prompt, closed bool
	without, with         []string
	agent                 string
}

func (p *program) inspectCommand() *cobra.Command {
	var o inspecting
	c := &cobra.Command{
		Use:   "inspect",
		Short: "Show what a session created here, now, would be",
		Long: "Shows what a session created here, now, would be, with a person at the terminal.\n" +
			"It opens the chain and closes it again; no hook runs and no model is called.",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.inspect(c.Context(), o) },
	}
	f := c.Flags()
	f.BoolVar(&p.json, "json", false, "one object of version "+report.Version)
	f.BoolVar(&o.facts, "facts", false, "every fact, one a line: surface name owner detail")
	f.BoolVar(&o.prompt, "prompt", false, "the system prompt exactly, with the cache boundary between its blocks")
	f.BoolVar(&o.closed, "closed", false, "open nothing: only what the settings and the suite's constants say")
	f.StringSliceVar(&o.without, "without", nil, "close `M[,M]` for this look")
	f.StringSliceVar(&o.with, "with", nil, "open `M[,M]` for this look")
	f.StringVar(&o.agent, "agent", "", "a child session of the agent `NAME` instead")
	c.MarkFlagsMutuallyExclusive("json", "facts", "prompt")
	c.MarkFlagsMutuallyExclusive("closed", "facts")
	c.MarkFlagsMutuallyExclusive("closed", "prompt")
	c.MarkFlagsMutuallyExclusive("closed", "agent")
	return c
}

func (p *program) inspect(ctx context.Context, o inspecting) (err error) {
	changes, err := changes(o)
	if err != nil {
		return err
	}
	setup, err := p.load(changes...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	if o.closed {
		r, err := planned(setup)
		if err != nil {
			return err
		}
		return p.show(setup, r)
	}
	main, err := p.shown(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, main.Close(context.WithoutCancel(ctx))) }()
	s := main
	if o.agent != "" {
		if s, err = agentOf(ctx, main, o.agent); err != nil {
			return err
		}
	}
	if o.facts || o.prompt {
		p.warn(setup.Diagnostics)
		p.warn(main.Diagnostics())
	}
	switch {
	case o.facts:
		return p.facts(ctx, s, o.agent != "")
	case o.prompt:
		return p.prompt(s)
	}
	found := append(setup.Diagnostics[:len(setup.Diagnostics):len(setup.Diagnostics)], notes(main, s)...)
	return p.show(setup, report.New(s, layers(setup), found))
}

// notes are a main session's diagnostics when what is shown is a child, which has none of its own.
func notes(main, s *session.Session) []meta.Diagnostic {
	if main == s {
		return nil
	}
	return main.Diagnostics()
}

// changes are the option layer of --without and --with. A name that is no middleware is a mistake of the command line.
func changes(o inspecting) ([]string, error) {
	suite, err := builtin.Suite(builtin.Options{})
	if err != nil {
		return nil, err
	}
	var out []string
	var errs []error
	add := func(names []string, value bool) {
		for _, n := range names {
			k, ok := suite.Keys().Lookup(n)
			if ok && k.Kind != meta.Segment {
				out = append(out, fmt.Sprintf("meta.%s=%t", k.Name, value))
				continue
			}
			what := fmt.Sprintf("%s is no middleware", n)
			if near := meta.Nearest(n, suite.Keys().Names()); len(near) > 0 {
				what += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			errs = append(errs, errors.New(what))
		}
	}
	add(o.without, false)
	add(o.with, true)
	if err := errors.Join(errs...); err != nil {
		return nil, usage(err)
	}
	return out, nil
}

// planned is the report of a session that nobody opened.
func planned(setup *builtin.Setup) (*report.Report, error) {
	b := &setup.Blueprint
	resolved, notes, err := meta.Resolve(b.Suite.Keys(), b.Layers...)
	if err != nil {
		return nil, err
	}
	state, more := meta.Freeze(resolved, b.Documents)
	found := append(append(setup.Diagnostics, notes...), more...)
	return report.Closed(b.Suite, state, layers(setup), found), nil
}

func layers(setup *builtin.Setup) []report.Layer {
	var out []report.Layer
	for _, l := range setup.Loaded.Layers {
		out = append(out, report.Layer{Name: l.Name, File: l.File, Loaded: l.Loaded, Trusted: l.Trusted})
	}
	return out
}

func agentOf(ctx context.Context, main *session.Session, name string) (*session.Session, error) {
	s, err := main.Agent(ctx, name)
	if !errors.Is(err, session.ErrNotFound) {
		return s, err
	}
	var names []string
	for _, f := range main.Surface() {
		if f.Surface == session.OnAgent {
			names = append(names, f.Name)
		}
	}
	err = fmt.Errorf("no agent %s", name)
	if near := meta.Nearest(name, names); len(near) > 0 {
		return nil, hint(err, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return nil, hint(err, "peri agents list names those that there are")
}

func (p *program) facts(ctx context.Context, s *session.Session, alone bool) error {
	if alone {
		_, err := fmt.Fprint(p.out, s.Surface())
		return err
	}
	all, err := s.SurfaceWithFork(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.out, all)
	return err
}

// prompt writes the blocks. The line between them is no part of the prompt.
func (p *program) prompt(s *session.Session) error {
	for _, b := range s.System() {
		fmt.Fprintln(p.out, b.Text)
		if b.EndsCache {
			fmt.Fprintln(p.out, "\n──── cache boundary ────")
			fmt.Fprintln(p.out)
		}
	}
	return nil
}

func (p *program) show(setup *builtin.Setup, r *report.Report) error {
	if p.json {
		return p.object(r)
	}
	return writeReport(p.out, setup.Loaded.Root, r)
}

func (p *program) object(v any) error {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
