package builtin

import (
	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/agentsmd"
	"github.com/metaharness/peri/middleware/defaultprompt"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/middleware/lang"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/middleware/web"
	"github.com/metaharness/peri/middleware/workspace"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// options is the wiring from settings to the middlewares' options.
func options(l *config.Loaded, agents *subagent.Catalog) Options {
	s := &l.Settings
	return Options{
		DefaultPrompt: defaultprompt.Options{Persona: s.Persona.V},
		Lang:          lang.Options{Language: s.Language.V},
		AgentsMd:      agentsmd.Options{Home: l.Home},
		Permission: permission.Options{
			Mode:  s.Permissions.Mode.V,
			Allow: rules(s.Permissions.Allow),
			Ask:   rules(s.Permissions.Ask),
			Deny:  rules(s.Permissions.Deny),
			Home:  l.Home,
		},
		Hook: hook.Options{Hooks: hooks(s.Hooks), Mode: s.Permissions.Mode.V, Brought: hooked(agents)},
		SubAgent: subagent.Options{
			Catalog: agents, Depth: depth(s.Subagents.Depth.V),
			Multitask: s.Subagents.Multitask.V, MaxTurns: s.Subagents.MaxTurns.V,
		},
		Workspace: workspace.Options{
			NoSandbox:      !s.Workspace.Sandbox.V,
			NoHome:         !s.Workspace.AllowHome.V,
			RestrictSystem: s.Workspace.RestrictSystem.V,
			BashAsync:      s.Workspace.BashAsync.V,
		},
		Web:    web.Options{Search: s.Web.Search.V, AllowPrivate: s.Web.AllowPrivate.V},
		MCP:    servers(l),
		Memory: memories(l),
	}
}

// depth says "none" in the option's words: there 0 is the default.
func depth(setting int) int {
	if setting == 0 {
		return -1
	}
	return setting
}

// hooks keeps their order: that of the layers, and in one layer as they are written.
func hooks(from []config.Hook) []hook.Entry {
	var out []hook.Entry
	for _, h := range from {
		e := hook.Entry{
			Event: h.Event, Matcher: h.Matcher, Type: h.Type, Command: h.Command, URL: h.URL, Timeout: h.Timeout,
			Async: h.Async, Once: h.Once, Origin: h.Origin,
		}
		for _, p := range h.Headers {
			if e.Headers == nil {
				e.Headers = map[string]string{}
			}
			e.Headers[p.Name] = p.Text
		}
		out = append(out, e)
	}
	return out
}

func rules(items []config.Item) []permission.Rule {
	var out []permission.Rule
	for _, i := range items {
		out = append(out, permission.Rule{Text: i.Text, Origin: i.Origin})
	}
	return out
}

// lists are the settings' own allow and deny lists.
func lists(t config.Tools) toolview.Lists {
	l := toolview.Lists{Deny: selectors(t.Deny), AllowAt: t.AllowAt}
	for _, a := range t.Allow {
		list := selectors(a)
		for i := range list {
			list[i].Brings = true
		}
		l.Allow = append(l.Allow, list)
	}
	return l
}

// selectors keeps an empty list empty and not nil: it allows nothing.
func selectors(items []config.Item) []toolview.Selector {
	out := make([]toolview.Selector, len(items))
	for i, item := range items {
		out[i] = toolview.Selector{Text: item.Text, Origin: item.Origin}
	}
	return out
}
