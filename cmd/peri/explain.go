package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/report"
	"github.com/metaharness/peri/subagent"
)

func (p *program) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "explain NAME",
		Example: "  peri explain WebFetch\n  peri explain 'Bash(rm -rf build)'",
		Short:   "Say whether something is there, why, what to write to change it, and what closing it takes along",
		Long: "NAME is a middleware, tool (or another name of it), segment, route, agent, skill, server, plugin, hook event, settings\nkey, or a selector of a list. Says what it means here: whether it is there, which gate or rule decided, in which file and line, and what to\nwrite to change it. It exits with 1 when nothing of that name is there.\n" +
			"NAME may be a call, Tool(what it is called with): then it says part by part which rule decides, and exits with 1\n" +
			"when the call is denied.",
		Args: takes("NAME"),
		RunE: func(c *cobra.Command, args []string) error { return p.explain(c.Context(), args[0]) },
	}
	c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	return c
}

func (p *program) explain(ctx context.Context, name string) (err error) {
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
	if tool, with, ok := asCall(name); ok {
		if e, visible := s.View().Lookup(tool); visible {
			return p.explainCall(s, e, with)
		}
		name = tool
	}
	found, near := report.Explain(s, name)
	found = append(found, absentAgent(setup, s, found, name)...)
	found = append(found, absentSkill(setup, s, found, name)...)
	found = append(found, setting(setup.Loaded, name)...)
	for i := range found {
		narrower(&found[i])
	}
	if len(found) == 0 {
		near = append(near, meta.Nearest(name, setup.Loaded.Keys())...)
		err := fmt.Errorf("nothing here is called %s", name)
		if len(near) > 0 {
			return hint(err, "did you mean "+strings.Join(near, " or ")+"?")
		}
		return hint(err, "peri inspect shows all that there is")
	}
	if p.json {
		if err := p.object(map[string]any{"version": "peri.explain/v1", "findings": found}); err != nil {
			return err
		}
	} else {
		for i, f := range found {
			if i > 0 {
				fmt.Fprintln(p.out)
			}
			p.finding(f)
		}
	}
	for _, f := range found {
		if f.There {
			return nil
		}
	}
	return errNo
}

// absentAgent explains an agent that settings took away: the session knows nothing of it any more.
func absentAgent(setup *builtin.Setup, s *session.Session, found []report.Finding, name string) []report.Finding {
	for _, f := range found {
		if f.Kind == "agent" {
			return nil
		}
	}
	f := report.Finding{Kind: "agent", Name: name, Owner: subagent.Name}
	for _, a := range setup.Loaded.Settings.Agents {
		for _, field := range a.Fields {
			if a.Name == name && field.Name == "enabled" && field.Value == false {
				f.Because, f.Origin = "agents."+name+".enabled: false", field.Origin
				f.Change = instead("enabled: true", field.Origin)
				return []report.Finding{f}
			}
		}
	}
	d, known := setup.Catalog.Lookup(name)
	if !known {
		return nil
	}
	f.Name = d.Name
	key := subagent.Name
	if s.State().Enabled(key) && d.Origin.Layer == subagent.BuiltIn {
		key = meta.BuiltInSubagents
	}
	f.Because, f.Origin = "meta."+key+": false", s.State().Why(key).Origin
	f.Change = instead(key+": true", f.Origin)
	return []report.Finding{f}
}

// instead says what to write in the place of an entry that somebody wrote.
func instead(entry string, now meta.Origin) string {
	if now.File == "" {
		return "leave that out of the " + now.Layer + " layer, or set " + entry + " there"
	}
	return "write " + entry + " at " + now.String()
}

func (p *program) finding(f report.Finding) {
	state := "is there"
	if !f.There {
		state = "is not there"
	}
	fmt.Fprintf(p.out, "%s %s %s\n", f.Kind, f.Name, state)
	if f.Owner != "" {
		fmt.Fprintf(p.out, "  owner    %s\n", f.Owner)
	}
	fmt.Fprintf(p.out, "  because  %s\n", f.Because)
	if f.Origin != (meta.Origin{}) {
		fmt.Fprintf(p.out, "  written  %s\n", f.Origin)
	}
	fmt.Fprintf(p.out, "  change   %s\n", f.Change)
	if f.Closing != "" {
		fmt.Fprintf(p.out, "  closing  %s\n", f.Closing)
	}
}
