package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
)

func (p *program) trustCommand() *cobra.Command {
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Trust this project's settings as they are now",
		Long: "Shows which entries of this project's settings could run code, widen what is allowed or close something, and\n" +
			"records that you trust them as they are. A change of them asks again.",
		Args: takes(),
		RunE: func(*cobra.Command, []string) error { return p.trust(revoke) },
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "take it back")
	return c
}

func (p *program) trust(revoke bool) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	l := setup.Loaded
	if revoke {
		if err := config.Trust(l.Home, l.Root, ""); err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%s is not trusted any more\n", l.Root)
		return nil
	}
	switch {
	case l.Trust.Digest == "":
		fmt.Fprintf(p.out, "%s asks for nothing that needs trust\n", l.Root)
		return nil
	case l.Trust.Trusted:
		fmt.Fprintf(p.out, "%s is trusted already\n", l.Root)
		return nil
	}
	for _, w := range setup.Wants() {
		fmt.Fprintln(p.out, printable(fmt.Sprintf("%s: %s: %s", w.Origin, w.Key, w.Why)))
	}
	if err := config.Trust(l.Home, l.Root, l.Trust.Digest); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s is trusted as it is now; a change of these entries asks again\n", l.Root)
	return nil
}
