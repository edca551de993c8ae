package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
)

// The exit codes.
const (
	exitOK          = 0
	exitNo          = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// program is one run of the command line.
type program struct {
	in       *os.File
	out, err io.Writer

	root, home string
	set        []string
	json       bool // the running command was asked for JSON

	began bool // the command line was understood
}

func (p *program) run(ctx context.Context, args []string) int {
	cmd := p.command()
	cmd.SetArgs(args)
	cmd.SetIn(p.in)
	cmd.SetOut(p.out)
	cmd.SetErr(p.err)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(p.err, "peri: interrupted")
		return exitInterrupted
	case !p.began:
		p.report(hint(err, "peri --help, or peri COMMAND --help, says how it is used"))
		return exitUsage
	}
	p.report(err)
	if isUsage(err) {
		return exitUsage
	}
	return exitNo
}

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "peri",
		Short: "Assemble LLM-agent sessions from middlewares",
		Long: "peri assembles LLM-agent sessions from middlewares. Which of them exist is decided once, when a session is\n" +
			"created, from settings files of several layers; what is closed is gone everywhere.",
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := c.PersistentFlags()
	flags.StringVar(&p.root, "root", "", "the project's folder, `DIR` (default: found from here)")
	flags.StringVar(&p.home, "home", "", "the user's folder, `DIR` (default: $PERI_HOME, ~/.peri)")
	flags.StringArrayVar(&p.set, "set", nil, "a setting above all files but the administrator's, `KEY=VALUE`, such as meta.WebMiddleware=false; repeatable")
	c.AddCommand(
		p.initCommand(), p.inspectCommand(), p.explainCommand(), p.runCommand(), p.toolsCommand(),
		p.agentsCommand(), p.skillCommand(), p.trustCommand(), p.schemaCommand(),
		p.doctorCommand(), p.lockCommand(), p.diffCommand(), p.verifyCommand(),
		p.editCommand(config.Enable, false), p.editCommand(config.Disable, false),
	)
	p.noting(c)
	return c
}

// noting marks, in every command below c, the moment from which the command line is understood.
func (p *program) noting(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if info, err := os.Stat(p.root); p.root != "" && (err != nil || !info.IsDir()) {
				return fmt.Errorf("--root %s: there is no such folder", p.root)
			}
			p.began = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		p.noting(sub)
	}
}

// noCommand refuses what is no command, with the nearest one.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	what := fmt.Sprintf("%s is no command of %s", args[0], c.CommandPath())
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if near := meta.Nearest(args[0], names); len(near) > 0 {
		what += "; did you mean " + near[0] + "?"
	}
	return fmt.Errorf("%s", what)
}

// takes checks the number of arguments and names those that are missing. A name in brackets may be left out.
func takes(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("%s: %q is one argument too many; it takes %s", title(c), args[len(names)], listed(names))
		}
		for _, n := range names[len(args):] {
			if !strings.HasPrefix(n, "[") {
				return fmt.Errorf("%s: %s is missing", title(c), n)
			}
		}
		return nil
	}
}

// title is a command without the program's name, which errors begin with.
func title(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "peri ") }

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ") + ": put one with blanks in it in quotes"
}

// group is a command that only holds others.
func group(use, short string, of ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return usage(fmt.Errorf("%s needs one of its commands", title(c)))
		},
	}
	c.AddCommand(of...)
	return c
}
