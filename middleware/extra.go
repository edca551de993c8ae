package middleware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// Extras returns what the agent's definition and the middlewares before this one bring of a kind, in their order. Who
// asks for it in Open or Child promises to run it, in that session and below it.
func (e *Env) Extras(kind string) []toolview.Extra {
	if e.taken != nil && !slices.Contains(*e.taken, kind) {
		*e.taken = append(*e.taken, kind)
	}
	var out []toolview.Extra
	for _, x := range slices.Concat(e.brought, e.Agent.Extras) {
		if x.Kind == kind {
			out = append(out, x)
		}
	}
	return out
}

// untaken is an error that names what is needed of the extras and what nobody ran.
func untaken(extras []toolview.Extra, taken []string) error {
	var kinds []string
	for _, x := range extras {
		if x.Needed && !slices.Contains(taken, x.Kind) && !slices.Contains(kinds, x.Kind) {
			kinds = append(kinds, x.Kind)
		}
	}
	if kinds == nil {
		return nil
	}
	return fmt.Errorf("its %s could stop a call, and what would run them is closed or not part of this session", strings.Join(kinds, ", "))
}

// bring adds what a live middleware brings to what those behind it are lent.
func (c *Chain) bring(l *Link) error {
	if l.Extras == nil {
		return nil
	}
	var list []toolview.Extra
	err := contain(l.Name, "extras", func() (err error) {
		list, err = l.Extras(c.policy(l))
		return err
	})
	if err != nil {
		return fmt.Errorf("middleware: %w", err)
	}
	for _, x := range list {
		x.Owner = l.Name
		c.open.Env.brought = append(slices.Clip(c.open.Env.brought), x)
	}
	return nil
}
