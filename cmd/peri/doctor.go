package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
)

// checkBudget bounds how long a vendor is waited for.
const checkBudget = 15 * time.Second

func (p *program) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that what the settings name can be reached, and say what to do about what cannot",
		Long: "Reads the settings, opens a session and closes it again, and tells all that is wrong with its fix: settings, trust,\n" +
			"servers, hooks and rules that never match, agents that cannot be used. It also asks the model's server whether it is\n" +
			"there and takes the key. It spends no tokens: nothing is answered but a list of models. It exits with 1 when\n" +
			"something is wrong, and with 0 when there are warnings at most.",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.doctor(c.Context()) },
	}
	c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	return c
}

func (p *program) doctor(ctx context.Context) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	found, problems, err := p.ailments(ctx, setup)
	if err != nil {
		return err
	}
	name := setup.Blueprint.Model
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	missing := factory(setup).Check(ctx, name)
	if p.json {
		if missing != nil {
			found = append(found, meta.Diagnostic{
				Severity: meta.SeverityError, Code: "no_model", Key: "model", Origin: setup.Loaded.Settings.Model.Origin,
				Message: missing.Error(), Suggestion: "set model, or repair what stands in its way",
			})
		}
		return errors.Join(p.object(map[string]any{"version": "peri.doctor/v1", "findings": found}), verdict(found))
	}
	fmt.Fprintf(p.out, "settings: read, %d remarks\n", problems)
	for _, d := range found {
		fmt.Fprintf(p.out, "  %s\n", printable(d.String()))
	}
	if missing != nil {
		fmt.Fprintf(p.out, "model %s: no\n", printable(name))
		return missing
	}
	fmt.Fprintf(p.out, "model %s: there\n", printable(name))
	return verdict(found)
}

// verdict is "no" when something is wrong, and not merely worth telling.
func verdict(found []meta.Diagnostic) error {
	for _, d := range found {
		if d.Severity == meta.SeverityError {
			return errNo
		}
	}
	return nil
}

// ailments are what the settings, a session of them and its middlewares have to tell, each with what to do about it, and
// how many of them are more than a remark in passing. The session is opened and closed; no hook runs.
func (p *program) ailments(ctx context.Context, setup *builtin.Setup) (found []meta.Diagnostic, problems int, err error) {
	s, err := p.open(ctx, setup, quietModel, people{nobody{}, nobody{}})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	found = append(append([]meta.Diagnostic{}, setup.Diagnostics...), s.Diagnostics()...)
	for _, l := range s.Chain().Links() {
		if l.Instance != nil && l.Instance.Diagnostics != nil {
			found = append(found, l.Instance.Diagnostics()...)
		}
		if l.Fate.Status == middleware.Unsupported {
			found = append(found, meta.Diagnostic{
				Severity: meta.SeverityInfo, Code: "unsupported", Key: l.Name, Origin: l.Fate.Origin,
				Message: l.Name + " brings nothing: " + l.Fate.Cause, Suggestion: "peri explain " + l.Name,
			})
		}
	}
	for _, e := range setup.Refusals() {
		found = append(found, meta.Diagnostic{
			Severity: meta.SeverityError, Code: "untrusted_closing", Key: e.Key, Origin: e.Origin,
			Message:    e.Key + ": false closes what guards calls, and this project is not trusted: run, chat and acp refuse it",
			Suggestion: "read it, then peri trust",
		})
	}
	var told, inPassing []meta.Diagnostic
	for _, d := range found {
		switch {
		case slices.Contains(told, d) || slices.Contains(inPassing, d):
		case d.Severity == meta.SeverityInfo:
			inPassing = append(inPassing, d)
		default:
			told = append(told, d)
		}
	}
	return append(append([]meta.Diagnostic{}, told...), inPassing...), len(told), nil
}
