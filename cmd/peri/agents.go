package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session/report"
)

func (p *program) agentsCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "The agents that work can be handed to here, and where they come from", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.listAgents(c.Context()) },
	}
	check := &cobra.Command{
		Use: "check", Short: "What is wrong with agent files and their settings; exits with 1 when something is", Args: takes(),
		RunE: func(*cobra.Command, []string) error { return p.checkAgents() },
	}
	for _, c := range []*cobra.Command{list, check} {
		c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	}
	return group("agents", "List and check agents", list, check)
}

func (p *program) listAgents(ctx context.Context) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	s, err := p.shown(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	r := report.New(s, nil, nil)
	if p.json {
		return p.object(map[string]any{"version": "peri.agents/v1", "agents": r.Agents})
	}
	docs := map[string]string{}
	for _, d := range setup.Catalog.All() {
		docs[d.Name] = d.Description
	}
	w := &page{w: p.out}
	for _, a := range r.Agents {
		from := a.Origin
		if a.File != "" {
			from = a.File
		}
		w.row(a.Name, from, short(docs[a.Name]))
	}
	if w.flush(); w.err != nil {
		return w.err
	}
	if len(r.Agents) == 0 {
		fmt.Fprintln(p.err, "hint: no agent is there to be named; peri explain SubAgentMiddleware says whether delegation is")
	}
	return nil
}

func (p *program) checkAgents() (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	found := agentFindings(setup)
	if p.json {
		if err := p.object(map[string]any{"version": "peri.check/v1", "diagnostics": found}); err != nil {
			return err
		}
	} else {
		for _, d := range found {
			fmt.Fprintln(p.out, printable(d.String()))
		}
		if len(found) == 0 {
			fmt.Fprintf(p.out, "%d agents, nothing to say\n", len(setup.Catalog.All()))
		}
	}
	for _, d := range found {
		if d.Severity != meta.SeverityInfo {
			return errNo
		}
	}
	return nil
}

func agentFindings(setup *builtin.Setup) []meta.Diagnostic {
	found := []meta.Diagnostic{}
	for _, d := range setup.Diagnostics {
		if d.Key == "agents" || strings.HasPrefix(d.Key, "agents.") {
			found = append(found, d)
		}
	}
	return found
}
