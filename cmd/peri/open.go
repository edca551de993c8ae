package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/models"
	"github.com/metaharness/peri/toolview"
)

// load reads the settings of this run; more goes over what --set says.
func (p *program) load(more ...string) (*builtin.Setup, error) {
	setup, diags, err := builtin.Load(config.Options{
		Root: p.root, Home: p.home, Set: append(p.set[:len(p.set):len(p.set)], more...),
	})
	if err != nil {
		if !p.json {
			p.warn(diags)
		}
		return nil, err
	}
	return setup, nil
}

// people are who is there to approve and to answer.
type people struct {
	approver session.Approver
	asker    session.Asker
}

// open makes the session of a setup. Without close the caller closes it.
func (p *program) open(ctx context.Context, setup *builtin.Setup, find func(string) (middleware.ModelFunc, error), who people) (*session.Session, error) {
	return session.New(ctx, session.Options{
		Blueprint: setup.Blueprint, Models: find, Approver: who.approver, Asker: who.asker,
		ChildSteps: setup.Loaded.Settings.Subagents.MaxTurns.V,
	})
}

// running makes a session that may call its model: not for a project that has closed a guard and is not trusted.
func (p *program) running(ctx context.Context, setup *builtin.Setup, find func(string) (middleware.ModelFunc, error), who people) (*session.Session, error) {
	var errs []error
	for _, e := range setup.Refusals() {
		errs = append(errs, fmt.Errorf("%s: %s: false closes what guards calls, and this project is not trusted", e.Origin, e.Key))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, hint(err, "read what the project sets, then run peri trust; or write "+setup.Refusals()[0].Key+": true in a layer above it")
	}
	return p.open(ctx, setup, find, who)
}

func (p *program) models(setup *builtin.Setup) func(string) (middleware.ModelFunc, error) {
	return factory(setup).Models
}

// factory makes the models that the settings name.
func factory(setup *builtin.Setup) *models.Factory {
	f := &models.Factory{Dir: setup.Loaded.Root, Providers: map[string]models.Provider{}}
	for _, v := range setup.Loaded.Settings.Providers {
		f.Providers[v.Name] = models.Provider{BaseURL: v.BaseURL.V, KeyEnv: v.KeyEnv.V}
	}
	return f
}

// shown makes a session to look at: as with a person at the terminal, and with a model that is never called.
func (p *program) shown(ctx context.Context, setup *builtin.Setup) (*session.Session, error) {
	find := p.models(setup)
	return p.open(ctx, setup, func(name string) (middleware.ModelFunc, error) {
		m, err := find(name)
		if err != nil {
			setup.Diagnostics = append(setup.Diagnostics, meta.Diagnostic{
				Severity: meta.SeverityError, Code: "no_model", Key: "model",
				Origin: setup.Loaded.Settings.Model.Origin, Message: err.Error(), Suggestion: "run will refuse it",
			})
			m = nobodysModel
		}
		return m, nil
	}, people{nobody{}, nobody{}})
}

// quietModel stands for any model, also for one that is not there.
func quietModel(string) (middleware.ModelFunc, error) { return nobodysModel, nil }

func nobodysModel(context.Context, *middleware.Request, middleware.Sink) (*message.Message, error) {
	return nil, errors.New("this session is only looked at")
}

// nobody stands for a person in a session that is only looked at.
type nobody struct{}

func (nobody) Approve(context.Context, []session.Request) ([]session.Approval, error) {
	return nil, errors.New("this session is only looked at")
}

func (nobody) Ask(context.Context, toolview.Question) (toolview.Answer, error) {
	return toolview.Answer{}, toolview.ErrNoAsker
}
