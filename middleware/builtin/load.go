package builtin

import (
	"errors"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Setup is what the settings of a folder make of the built-in suite, ready for a session.
type Setup struct {
	Loaded    *config.Loaded
	Blueprint middleware.Blueprint
	// Diagnostics are what the settings are worth telling about; those of the session come with the session.
	Diagnostics []meta.Diagnostic
}

// Load reads the settings of all layers and builds the suite that they ask for, with a program's own middlewares in
// it. o.Keys are the suite's, whatever was given. The error joins everything that is wrong, in a fixed order.
// Diagnostics come with an error too: Setup is then nil, and they are the second result.
//
// A Setup is closed when no further session is made from it.
func Load(o config.Options, more ...middleware.Middleware) (*Setup, []meta.Diagnostic, error) {
	// Keys do not depend on options, and with them the files' own errors are complete.
	plain, err := Suite(Options{More: more})
	if err != nil {
		return nil, nil, err
	}
	o.Keys = plain.Keys()
	loaded, diags, err := config.Load(o)
	if err != nil {
		return nil, diags, err
	}
	s := &Setup{Loaded: loaded, Diagnostics: diags}
	if err := s.build(more); err != nil {
		return nil, diags, errors.Join(err, loaded.Close())
	}
	return s, s.Diagnostics, nil
}

func (s *Setup) build(more []middleware.Middleware) error {
	opt := options(s.Loaded)
	opt.More = more
	suite, err := Suite(opt)
	lists := lists(s.Loaded.Settings.Tools)
	_, listErr := toolview.NewFrame(lists)
	if err := errors.Join(err, listErr); err != nil {
		return err
	}
	s.Diagnostics = append(s.Diagnostics, opt.Permission.Unmatched(suite.Bands())...)
	s.Diagnostics = append(s.Diagnostics, unhonoured(&s.Loaded.Settings)...)
	s.Blueprint = middleware.Blueprint{
		Suite:         suite,
		Layers:        s.Loaded.Meta,
		Documents:     s.Loaded.Folders,
		Lists:         lists,
		WithoutSearch: toolview.Fallback(s.Loaded.Settings.Tools.WithoutSearch.V),
		Model:         s.Loaded.Settings.Model.V,
		Root:          s.Loaded.Root,
	}
	return nil
}

// Refusals are the entries of an untrusted project that close a middleware which guards calls. A program that runs
// sessions does not, while there are any; one that only shows what a session would be may.
func (s *Setup) Refusals() []meta.Entry {
	return s.Loaded.UntrustedClosings(s.Blueprint.Suite.GatesOf)
}

// Close releases the folders of override files.
func (s *Setup) Close() error { return s.Loaded.Close() }
