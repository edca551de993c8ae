package main

import (
	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
)

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of settings files, for editors",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			suite, err := builtin.Suite(builtin.Options{})
			if err != nil {
				return err
			}
			b, err := config.Schema(suite.Keys())
			if err != nil {
				return err
			}
			_, err = p.out.Write(b)
			return err
		},
	}
}
