package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/middleware/plugin"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// findPlugins looks for the plugins of the project and of the user. What the user trusts covers those of the project.
func (s *Setup) findPlugins(o config.Options) config.Options {
	l := s.Loaded
	var at []plugin.Place
	if own := filepath.Join(l.Root, ".peri"); !sameFolder(own, l.Home) {
		at = append(at, plugin.Place{
			Layer: config.Project, Dir: filepath.Join(own, "plugins"), Shown: ".peri/plugins", Within: l.Root, Sealed: true,
		})
	}
	at = append(at, plugin.Place{
		Layer: subagent.User, Dir: filepath.Join(l.Home, "plugins"), Shown: filepath.ToSlash(filepath.Join(l.Home, "plugins")),
	})
	var found []meta.Diagnostic
	s.plugins, found = plugin.Find(plugin.FindOptions{Places: at, Fields: documentFields})
	s.pluginNotes = found
	o.Risks = slices.Clip(o.Risks)
	for _, p := range s.plugins {
		if p.Digest != "" {
			o.Risks = append(o.Risks, "plugin "+p.Name+" "+p.Digest)
		}
	}
	return o
}

// documentFields reads a document as settings are read.
func documentFields(raw []byte, at meta.Origin) ([]plugin.Field, error) {
	fields, err := config.Fields(raw, at)
	var out []plugin.Field
	for _, f := range fields {
		out = append(out, plugin.Field{Name: f.Name, Value: f.Value, Origin: f.Origin})
	}
	return out, err
}

// applied are the plugins that nobody needs to trust any more.
func (s *Setup) applied() []plugin.Found {
	return slices.DeleteFunc(slices.Clone(s.plugins), func(p plugin.Found) bool { return p.Digest != "" && !s.Loaded.Trust.Trusted })
}

func (s *Setup) agentPlaces() []subagent.Place {
	var out []subagent.Place
	for _, p := range s.applied() {
		for _, path := range p.Agents {
			out = append(out, subagent.Place{Root: p.Dir, Path: path, Shown: p.Shown})
		}
	}
	return out
}

// bring fills in what the plugins bring, and reports what of it could not be had.
func (s *Setup) bring(opt *Options) {
	s.Diagnostics = append(s.Diagnostics, s.pluginNotes...)
	for _, p := range s.plugins {
		if p.Digest != "" && !s.Loaded.Trust.Trusted {
			s.Diagnostics = append(s.Diagnostics, meta.Diagnostic{
				Severity: meta.SeverityWarning, Code: "untrusted", Key: "plugins." + p.Name, Origin: p.Origin,
				Message: "the plugin " + p.Name + " is not applied: the project is not trusted", Suggestion: "peri trust, once you have read it",
			})
		}
	}
	for _, p := range s.applied() {
		out, found := brought(&p, s.Catalog, s.found)
		for i := range found {
			found[i].Key = "plugins." + p.Name
		}
		s.Diagnostics = append(s.Diagnostics, found...)
		opt.Plugin.Plugins = append(opt.Plugin.Plugins, out)
		opt.Hook.Brought = opt.Hook.Brought || slices.ContainsFunc(out.Brings, func(b plugin.Brought) bool { return b.Kind == toolview.ExtraHooks })
	}
	opt.Hook.Brought = opt.Hook.Brought || hooked(s.Catalog)
}

// brought is a plugin with what others are to run of it.
func brought(p *plugin.Found, c *subagent.Catalog, k *catalog.Catalog) (plugin.Plugin, []meta.Diagnostic) {
	out := p.Plugin
	skills := skillsOf(p, k)
	agents := brings(toolview.ExtraAgents, agentsOf(p, c), func(d subagent.Definition) plugin.Item {
		return plugin.Item{Name: d.Name, Doc: d.Description, Origin: d.Origin}
	})
	entries, found := hooksOf(p)
	hooks := brings(toolview.ExtraHooks, entries, func(e hook.Entry) plugin.Item {
		return plugin.Item{Name: strings.TrimSpace(e.Event + " " + e.Matcher), Origin: e.Origin}
	})
	connects, notes := serversOf(p)
	found = append(found, notes...)
	servers := brings(toolview.ExtraServers, connects, func(s broughtServer) plugin.Item {
		return plugin.Item{Name: s.Name, Doc: strings.TrimSpace(strings.Join(append([]string{s.Command}, s.Args...), " ") + " " + s.URL), Origin: s.Origin}
	})
	for _, b := range []plugin.Brought{skills, agents, hooks, servers} {
		if len(b.Items) > 0 {
			out.Brings = append(out.Brings, b)
		}
	}
	return out, found
}

// pluginMounts are the plugins' folders of skills, each under its plugin's name unless that is taken.
func (s *Setup) pluginMounts(taken []catalog.Mount) []catalog.Mount {
	var out []catalog.Mount
	for _, p := range s.applied() {
		for _, m := range mountsOf(&p) {
			for slices.ContainsFunc(slices.Concat(taken, out), func(x catalog.Mount) bool { return strings.EqualFold(x.Name, m.Name) }) {
				m.Name = "plugin." + m.Name
			}
			out = append(out, m)
		}
	}
	return out
}

func mountsOf(p *plugin.Found) []catalog.Mount {
	var out []catalog.Mount
	for i, path := range p.Skills {
		m := catalog.Mount{Name: p.Name, Layer: catalog.Plugin, Root: p.Dir, Dir: path, Shown: p.Shown + "/" + path}
		if i > 0 {
			m.Name += "." + strings.ReplaceAll(path, "/", ".")
		}
		for _, v := range plugin.RootVars() {
			m.Replace = append(m.Replace, "${"+v+"}", p.Dir)
		}
		out = append(out, m)
	}
	return out
}

// skillsOf are the plugin's among the skills that sessions may have.
func skillsOf(p *plugin.Found, k *catalog.Catalog) plugin.Brought {
	own := k.Where(func(s *catalog.Skill) bool {
		return s.Origin.Layer == catalog.Plugin && strings.HasPrefix(s.Origin.File, p.Shown+"/")
	})
	return brings(toolview.ExtraSkills, own.All(), func(s catalog.Skill) plugin.Item {
		return plugin.Item{Name: s.ID, Doc: s.Description, Origin: s.Origin}
	})
}

func brings[T any](kind string, list []T, item func(T) plugin.Item) plugin.Brought {
	raw, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("builtin: %s of a plugin: %v", kind, err)) // plain text and numbers always marshal
	}
	b := plugin.Brought{Kind: kind, Value: raw}
	for _, v := range list {
		b.Items = append(b.Items, item(v))
	}
	return b
}

// agentsOf are the plugin's among the agents that can be delegated to.
func agentsOf(p *plugin.Found, c *subagent.Catalog) []subagent.Definition {
	var out []subagent.Definition
	for _, d := range c.All() {
		if d.Origin.Layer == subagent.Plugin && strings.HasPrefix(d.Origin.File, p.Shown+"/") {
			d.Body = p.Expand(d.Body)
			out = append(out, d)
		}
	}
	return out
}

// hooksOf are the plugin's hooks, as those of settings are. One that could not run is left out alone.
func hooksOf(p *plugin.Found) (out []hook.Entry, found []meta.Diagnostic) {
	for _, doc := range p.Hooks {
		list, notes := config.HooksIn(doc.Raw, doc.At, doc.Key)
		found = append(found, notes...)
		for _, e := range hooks(list) {
			e.Command, e.URL = expandShell(p, e.Command), p.Expand(e.URL)
			for name, value := range e.Headers {
				e.Headers[name] = p.Expand(value)
			}
			for _, v := range plugin.RootVars() {
				e.Env = append(e.Env, v+"="+p.Dir)
			}
			if _, err := hook.New(hook.Options{Hooks: []hook.Entry{e}}); err != nil {
				found = append(found, leftOut(err, e.Origin))
				continue
			}
			out = append(out, e)
		}
	}
	return out, append(found, hook.Options{Hooks: out}.Unfired()...)
}

func leftOut(err error, at meta.Origin) meta.Diagnostic {
	var e *meta.Error
	if errors.As(err, &e) {
		err = errors.New(e.Message)
	}
	return meta.Diagnostic{Severity: meta.SeverityError, Code: "left_out", Origin: at, Message: err.Error() + "; it is left out"}
}

// expandShell leaves a folder whose name means something to a shell to the shell, which has it in its environment: no
// name of a folder becomes a command.
func expandShell(p *plugin.Found, command string) string {
	if strings.ContainsFunc(p.Dir, func(c rune) bool {
		return !strings.ContainsRune("/._-+@%=:,", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) {
		return command
	}
	return p.Expand(command)
}

// wantedPlugins says of each plugin of the project what trust would let it bring.
func (s *Setup) wantedPlugins() []config.Withheld {
	var out []config.Withheld
	for _, p := range s.plugins {
		if p.Digest != "" {
			out = append(out, config.Withheld{Key: "plugin " + p.Name, Origin: p.Origin, Why: "it brings " + s.would(p)})
		}
	}
	return out
}

// would is what an untrusted plugin would bring, in words.
func (s *Setup) would(p plugin.Found) string {
	var at []subagent.Place
	for _, path := range p.Agents {
		at = append(at, subagent.Place{Root: p.Dir, Path: path, Shown: p.Shown})
	}
	c, _ := subagent.Load(subagent.LoadOptions{Plugins: at, CheckHooks: checkHooks})
	k, _, _, err := catalog.Load(catalog.LoadOptions{Mounts: mountsOf(&p)})
	if err != nil {
		panic(fmt.Sprintf("builtin: skills without rules: %v", err)) // rules alone can be wrong
	}
	out, _ := brought(&p, c, k)
	words := []string{out.Counts()}
	for _, b := range out.Brings {
		if b.Kind == toolview.ExtraServers {
			for _, i := range b.Items {
				words = append(words, "the server "+i.Name+" is "+i.Doc)
			}
		}
		if b.Kind == toolview.ExtraHooks {
			var list []hook.Entry
			if json.Unmarshal(b.Value, &list) == nil {
				for _, e := range list {
					words = append(words, e.Event+" runs "+strings.TrimSpace(e.Command+e.URL))
				}
			}
		}
	}
	return strings.Join(words, "; ") + "; and any of its files may change what it does"
}
