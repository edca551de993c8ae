package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
)

// editCommand is enable or disable, of a meta key or of a skill.
func (p *program) editCommand(action string, skill bool) *cobra.Command {
	in := config.Edit{Action: action}
	var effect effectFlag
	what, where := "KEY", "project"
	c := &cobra.Command{
		Short: map[bool]string{false: "Open", true: "Close"}[action == config.Disable] + " a middleware, or switch another meta key, in the settings",
		Long: "Changes one line of one settings file and leaves everything else as it is, then loads all settings again to see\n" +
			"whether it holds. What was there is kept in the edits folder of the user's own folder. Sessions that run are frozen:\n" +
			"the change holds from the next one on.",
	}
	if skill {
		what, where = "SKILL", "global"
		c.Short = map[bool]string{false: "Let sessions have a skill again", true: "Keep a skill from sessions"}[action == config.Disable]
		c.Flags().StringVar(&in.Agent, "agent", "", "whose settings are checked afterwards, `NAME` (default: the main agent's)")
		if action == config.Disable {
			c.Flags().Var(&effect, "effect", "deny it, or ask before it is loaded: `deny|ask`")
		}
	}
	c.Use, c.Args = action+" "+what, takes(what)
	c.RunE = func(c *cobra.Command, args []string) error {
		in.Effect = string(effect)
		if in.Key = args[0]; skill {
			in.Key, in.Skill = "", args[0]
		}
		return p.edit(c.Context(), in)
	}
	c.Flags().Var((*layerFlag)(&in.Layer), "layer", "the file, `global|project|local` (default: "+where+", or the one that decides)")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would be written, and write nothing")
	c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	return c
}

// oneOf takes a word that is among those that are allowed.
func oneOf(to *string, word string, allowed ...string) error {
	for _, a := range allowed {
		if word == a {
			*to = word
			return nil
		}
	}
	return fmt.Errorf("write %s", strings.Join(allowed, " or "))
}

type layerFlag string

func (f *layerFlag) String() string { return string(*f) }
func (f *layerFlag) Type() string   { return "layer" }
func (f *layerFlag) Set(word string) error {
	return oneOf((*string)(f), word, config.Global, config.Project, config.Local)
}

type effectFlag string

func (f *effectFlag) String() string        { return string(*f) }
func (f *effectFlag) Type() string          { return "effect" }
func (f *effectFlag) Set(word string) error { return oneOf((*string)(f), word, "deny", "ask") }

func (p *program) edit(ctx context.Context, in config.Edit) error {
	editor, err := builtin.Editor(config.Options{Root: p.root, Home: p.home, Set: p.set})
	if err != nil {
		return err
	}
	r := editor.Apply(ctx, in)
	if p.json {
		if err := p.object(r); err != nil {
			return err
		}
		if r.OK {
			return nil
		}
		return errNo
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(p.err, "peri: warning: "+printable(w))
	}
	if f := r.Failed; f != nil {
		err := r.Err()
		if f.RolledBack {
			err = fmt.Errorf("%w; the file is as it was", err)
		}
		switch {
		case len(f.Error.Candidates) > 0:
			return hint(err, "name one by its id: "+strings.Join(f.Error.Candidates, " or "))
		case len(f.Error.Near) > 0:
			return hint(err, "did you mean "+strings.Join(f.Error.Near, " or ")+"?")
		}
		return err
	}
	d := r.Done
	if d.Planned != "" {
		fmt.Fprintln(p.out, printable(d.Planned))
	}
	fmt.Fprintln(p.out, printable(d.Message))
	if !d.Changed {
		return nil
	}
	w := &page{w: p.out, indent: "  "}
	w.row("file", d.TargetFile)
	for _, n := range d.ConfigNotes {
		w.row("why", n)
	}
	if d.Backup != nil {
		w.row("backup", *d.Backup)
	}
	w.flush()
	for _, line := range d.Diff {
		w.print("  %s\n", printable(line))
	}
	return w.err
}
