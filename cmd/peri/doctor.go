package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/meta"
)

// checkBudget bounds how long a vendor is waited for.
const checkBudget = 15 * time.Second

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that what the settings name can be reached",
		Long: "Reads the settings and asks the model's server whether it is there and takes the key. It spends no tokens: nothing is\n" +
			"answered but a list of models.",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.doctor(c.Context()) },
	}
}

func (p *program) doctor(ctx context.Context) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	problems := 0
	for _, d := range setup.Diagnostics {
		if d.Severity != meta.SeverityInfo {
			problems++
		}
	}
	fmt.Fprintf(p.out, "settings: read, %d remarks (peri inspect tells them)\n", problems)
	name := setup.Blueprint.Model
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	if err := factory(setup).Check(ctx, name); err != nil {
		fmt.Fprintf(p.out, "model %s: no\n", printable(name))
		return err
	}
	fmt.Fprintf(p.out, "model %s: there\n", printable(name))
	return nil
}
