package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
)

func (p *program) verifyCommand() *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use:   "verify [M...]",
		Short: "Prove that what is closed here is gone, and that each open middleware could be closed whole",
		Long: "Closes every open middleware of this project in turn, or those that are named, and looks at every surface: what leaves,\n" +
			"and what stays behind that should not. It also reads all that users wrote for models, agents, skills, overrides and\n" +
			"AGENTS.md, and names each line that tells of a tool which this session lacks.\n\n" +
			"It starts each server once, runs no hook and calls no model. It exits with 1 when anything leaks or tells of what is\n" +
			"not there.",
		RunE: func(c *cobra.Command, args []string) error { return p.verify(c.Context(), args, file) },
	}
	c.Flags().BoolVar(&p.json, "json", false, "one object of version "+closuretest.MatrixVersion)
	c.Flags().StringVar(&file, "html", "", "write one self-contained page to `FILE` too")
	return c
}

func (p *program) verify(ctx context.Context, names []string, file string) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	only, err := middlewares(setup, names)
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	m, err := closuretest.Verify(ctx, closuretest.Project{
		Blueprint: setup.Blueprint, Home: home, Only: only,
	})
	if err != nil {
		return err
	}
	if file != "" {
		if err := writePage(file, setup, m); err != nil {
			return err
		}
	}
	if p.json {
		err = p.object(m)
	} else {
		p.warn(setup.Diagnostics)
		err = p.matrix(setup.Loaded.Root, m)
	}
	if err == nil && !m.OK() {
		err = errNo
	}
	return err
}

func writePage(file string, setup *builtin.Setup, m *closuretest.Matrix) error {
	var b bytes.Buffer
	page := closuretest.Page{Title: filepath.Base(setup.Loaded.Root), Diagnostics: setup.Diagnostics, Matrix: m}
	if err := page.WriteHTML(&b); err != nil {
		return err
	}
	return config.WriteFile(file, b.Bytes(), 0o644)
}

// middlewares are the suite's names of those that the command line means.
func middlewares(setup *builtin.Setup, names []string) ([]string, error) {
	keys := setup.Blueprint.Suite.Keys()
	var out []string
	var errs []error
	for _, n := range names {
		k, ok := keys.Lookup(n)
		if ok && k.Kind == meta.Middleware {
			out = append(out, k.Name)
			continue
		}
		what := n + " is no middleware"
		if near := meta.Nearest(n, keys.Names()); len(near) > 0 {
			what += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		errs = append(errs, errors.New(what))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usage(err)
	}
	return out, nil
}

// matrix prints what leaves with each middleware, then all that is wrong.
func (p *program) matrix(root string, m *closuretest.Matrix) error {
	t := &page{w: p.out, indent: "  "}
	t.print("%s\n", printable(root))
	t.section("What leaves with each, by surface", len(m.Rows))
	t.row(append(append([]string{""}, m.Surfaces...), "child", "")...)
	for _, r := range m.Rows {
		cells := []string{r.Name}
		for _, s := range m.Surfaces {
			cells = append(cells, number(r.Takes[s]))
		}
		t.row(append(cells, number(r.Child), verdictOf(&r))...)
	}
	t.flush()
	if len(m.Leaks) > 0 {
		t.section("Leaks", len(m.Leaks))
		for _, l := range m.Leaks {
			t.row(l.String())
		}
	}
	if len(m.Mentions) > 0 {
		t.section("Texts of users that name what this session lacks", len(m.Mentions))
		for _, w := range m.Mentions {
			t.row(place(w.File, w.Line), w.Tool, w.Why)
			t.row("", "", w.Text)
		}
	}
	t.flush()
	if m.OK() {
		t.print("\nnothing that is closed shows, and %s closes whole\n", counted(m.Rows))
	} else {
		t.print("\nno: %d leaks, %d lines that name what is not there\n", len(m.Leaks), len(m.Mentions))
	}
	return t.err
}

func number(n int) string {
	if n == 0 {
		return "·"
	}
	return strconv.Itoa(n)
}

func counted(rows []closuretest.Row) string {
	n := 0
	for _, r := range rows {
		if r.Closed {
			n++
		}
	}
	return fmt.Sprintf("each of %d middlewares", n)
}

// verdictOf is the last cell of a row.
func verdictOf(r *closuretest.Row) string {
	var out []string
	switch {
	case !r.Closed && r.State != "live":
		return r.State + ": " + r.Cause
	case !r.Closed:
		return "not looked at"
	case len(r.Leaks) > 0:
		out = append(out, fmt.Sprintf("LEAKS %d", len(r.Leaks)))
	default:
		out = append(out, "whole")
	}
	if len(r.Cascades) > 0 {
		out = append(out, "takes "+strings.Join(r.Cascades, ", "))
	}
	if len(r.Direct) > 0 {
		out = append(out, fmt.Sprintf("%d become direct", len(r.Direct)))
	}
	if len(r.Texts) > 0 {
		out = append(out, fmt.Sprintf("%d lines of users name its tools", len(r.Texts)))
	}
	return strings.Join(out, "; ")
}
