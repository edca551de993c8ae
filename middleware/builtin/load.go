package builtin

import (
	"errors"
	"os"
	"slices"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/plugin"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// Setup is what the settings of a folder make of the built-in suite, ready for a session.
type Setup struct {
	Loaded    *config.Loaded
	Blueprint middleware.Blueprint
	// Catalog is who can be delegated to. Whether the built-in definitions are offered is the meta map's to say.
	Catalog *subagent.Catalog
	// Skills are all that were found, denied ones too, by precedence.
	Skills []catalog.Entry
	// Diagnostics are what the settings and agent files are worth telling about; those of a session come with it.
	Diagnostics []meta.Diagnostic

	plugins     []plugin.Found // all that were found, also those that want trust
	pluginNotes []meta.Diagnostic
	own         *subagent.Catalog     // Catalog without what plugins bring
	found       *catalog.Catalog      // the skills with what plugins bring
	wide        []subagent.Definition // the project's that want trust, as their files have them
	nobody      string                // the empty folder that stands for a home, if one does
}

// Load reads the settings of all layers and the agent files, and builds the suite that they ask for, with a program's
// own middlewares in it. o.Keys and o.Risks are filled in. The error joins everything that is wrong, in a fixed order;
// the diagnostics of the files come with it, and without a Setup.
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
	o = s.findPlugins(o)
	if err := errors.Join(s.agents(o), s.build(o, plain, more)); err != nil {
		return nil, s.Diagnostics, errors.Join(err, s.Close())
	}
	return s, s.Diagnostics, nil
}

// agents reads the catalog. When agent files of the project widen something, what the user trusts covers them, and the
// settings are judged anew.
func (s *Setup) agents(o config.Options) error {
	at := places(o, s.Loaded)
	over, notes := overlay(s.Loaded.Settings.Agents)
	at.Overlay, at.Trusted = over, true
	catalog, _ := subagent.Load(at)
	if s.wide = widening(catalog); len(s.wide)+len(o.Risks) > 0 {
		o.Risks = append(o.Risks[:len(o.Risks):len(o.Risks)], risks(s.wide)...)
		loaded, found, err := config.Load(o)
		if err != nil {
			return err
		}
		err = s.Loaded.Close()
		s.Loaded, s.Diagnostics = loaded, found
		if err != nil {
			return err
		}
		over, notes = overlay(loaded.Settings.Agents)
		at.Overlay, at.Trusted = over, loaded.Trust.Trusted
	}
	// What plugins bring leaves with them, and then whatever they stood before is there again.
	s.own, _ = subagent.Load(at)
	at.Plugins = s.agentPlaces()
	catalog, diags := subagent.Load(at)
	s.Catalog = catalog
	s.Diagnostics = append(append(s.Diagnostics, notes...), diags...)
	return nil
}

func (s *Setup) build(o config.Options, plain *middleware.Suite, more []middleware.Middleware) error {
	opt := options(s.Loaded, s.own)
	opt.More, opt.SettingsEdit = more, editing(o, more)
	skillErr := s.skills(o, plain, &opt)
	s.bring(&opt)
	var apiErr error
	opt.OpenAPI, apiErr = apis(&s.Loaded.Settings)
	opt.LSP = languageServers(&s.Loaded.Settings)
	webErr := opt.Web.Check()
	if webErr != nil {
		webErr = &meta.Error{Origin: s.Loaded.Settings.Web.Search.Origin, Key: "web.search", Message: webErr.Error()}
		opt.Web.Search = "" // so that the rest is checked too
	}
	memErr := checkMemory(&s.Loaded.Settings, &opt.Memory)
	suite, err := Suite(opt)
	lists := lists(s.Loaded.Settings.Tools)
	_, listErr := toolview.NewFrame(lists)
	if err := errors.Join(err, skillErr, webErr, memErr, apiErr, listErr); err != nil {
		return err
	}
	s.Diagnostics = append(s.Diagnostics, doubts(s.Catalog, suite.Bands())...)
	s.Diagnostics = append(s.Diagnostics, opt.Permission.Unmatched(suite.Bands())...)
	s.Diagnostics = append(s.Diagnostics, opt.Hook.Unfired()...)
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
	s.Diagnostics = append(s.Diagnostics, s.skillNeeds()...)
	return nil
}

// Refusals are the entries of an untrusted project that close a middleware which guards calls. A program that runs
// sessions does not, while there are any; one that only shows what a session would be may.
func (s *Setup) Refusals() []meta.Entry {
	return s.Loaded.UntrustedClosings(s.Blueprint.Suite.GatesOf)
}

// Wants lists what a user who trusts the project agrees to: what an untrusted one has withheld, what it closes, and
// agents that widen a permission mode or bring hooks. It is empty when there is nothing to trust, or when it is trusted.
func (s *Setup) Wants() []config.Withheld {
	if s.Loaded.Trust.Trusted {
		return nil
	}
	out := slices.Clone(s.Loaded.Trust.Withheld)
	for _, layer := range s.Loaded.Meta {
		for _, e := range layer.Entries {
			if !e.Value && (layer.Name == config.Project || layer.Name == config.Local) {
				out = append(out, config.Withheld{Key: "meta." + e.Key, Origin: e.Origin, Why: "false closes it"})
			}
		}
	}
	out = append(out, s.wantedPlugins()...)
	for _, d := range s.wide {
		out = append(out, config.Withheld{
			Key: "agent " + d.Name, Origin: d.Origin, Why: why(&d),
		})
	}
	return out
}

// Close releases the folders of override files.
func (s *Setup) Close() error {
	err := s.Loaded.Close()
	if s.nobody != "" {
		err = errors.Join(err, os.RemoveAll(s.nobody))
	}
	return err
}
