package config

import (
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// settings types a merged, checked tree.
func settings(merged *value) Settings {
	r := place{&tree, merged, meta.Origin{}}
	perms, tools, skills := r.at("permissions"), r.at("tools"), r.at("skills")
	workspace, web, sub, compact := r.at("workspace"), r.at("web"), r.at("subagents"), r.at("compact")
	return Settings{
		Model:     read[string](r.at("model")),
		Language:  read[string](r.at("language")),
		Persona:   read[string](r.at("persona")),
		Providers: providers(r.at("providers")),
		Permissions: Permissions{
			Mode:  read[string](perms.at("mode")),
			Allow: perms.at("allow").items(),
			Ask:   perms.at("ask").items(),
			Deny:  perms.at("deny").items(),
		},
		Tools: Tools{
			Allow:         tools.at("allow").lists(),
			AllowAt:       tools.at("allow").origins(),
			Deny:          tools.at("deny").items(),
			WithoutSearch: read[string](tools.at("without_search")),
		},
		Skills: Skills{
			Mounts: skills.at("mounts").items(),
			Allow:  skills.at("allow").lists(),
			Deny:   skills.at("deny").items(),
		},
		Hooks:   hooks(r.at("hooks")),
		Agents:  byName(r.at("agents"), agent),
		MCP:     byName(r.at("mcp").at("servers"), server),
		OpenAPI: byName(r.at("openapi").at("sources"), apiSource),
		LSP:     byName(r.at("lsp").at("servers"), languageServer),
		Workspace: Workspace{
			Sandbox:        read[bool](workspace.at("sandbox")),
			AllowHome:      read[bool](workspace.at("allow_home")),
			RestrictSystem: read[bool](workspace.at("restrict_system")),
			BashAsync:      read[bool](workspace.at("bash_async")),
		},
		Web: Web{Search: read[string](web.at("search")), AllowPrivate: read[bool](web.at("allow_private"))},
		Subagents: Subagents{
			Multitask: whole(sub.at("multitask")),
			Depth:     whole(sub.at("depth")),
			MaxTurns:  whole(sub.at("max_turns")),
		},
		Memory:  memory(r.at("memory")),
		Compact: Compact{Budget: read[float64](compact.at("budget")), Auto: read[bool](compact.at("auto"))},
	}
}

// place is a node of the table with the value that stands there, nil for none, and the place of its key.
type place struct {
	node *node
	v    *value
	key  meta.Origin
}

func (p place) at(name string) place {
	m, _ := p.v.member(name)
	return place{p.node.at(name), m.value, m.at}
}

func read[T any](p place) Value[T] {
	if p.v != nil {
		return Value[T]{p.v.scalar.(T), p.key, true}
	}
	def, _ := p.node.def.(T)
	return Value[T]{V: def}
}

func whole(p place) Value[int] {
	f := read[float64](p)
	return Value[int]{int(f.V), f.Origin, f.Set}
}

func (p place) items() []Item {
	if p.v == nil {
		return nil
	}
	out := make([]Item, len(p.v.items))
	for i, item := range p.v.items {
		out[i] = Item{item.scalar.(string), item.at}
	}
	return out
}

// lists keeps the layers' lists apart. A layer's empty list stays, since it allows nothing.
func (p place) lists() [][]Item {
	if p.v == nil {
		return nil
	}
	out := make([][]Item, len(p.v.items))
	for i, l := range p.v.items {
		out[i] = place{v: l}.items()
	}
	return out
}

// origins are where the lists stand that lists returns.
func (p place) origins() []meta.Origin {
	if p.v == nil {
		return nil
	}
	out := make([]meta.Origin, len(p.v.items))
	for i, l := range p.v.items {
		out[i] = l.at
	}
	return out
}

func (p place) pairs() []Pair {
	if p.v == nil {
		return nil
	}
	out := make([]Pair, len(p.v.members))
	for i, m := range p.v.members {
		out[i] = Pair{m.name, m.scalar.(string), m.at}
	}
	slices.SortFunc(out, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (p place) gate() Gate { return Gate{Allow: p.at("allow").lists(), Deny: p.at("deny").items()} }

// byName decodes the entries of a map, sorted by name.
func byName[T any](p place, decode func(name string, p place) T) []T {
	if p.v == nil {
		return nil
	}
	members := slices.Clone(p.v.members)
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out := make([]T, len(members))
	for i, m := range members {
		out[i] = decode(m.name, place{p.node.elem, m.value, m.at})
	}
	return out
}

func agent(name string, p place) Agent {
	a := Agent{Name: name, Origin: p.key}
	for _, m := range p.v.members {
		a.Fields = append(a.Fields, field(m))
	}
	slices.SortFunc(a.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return a
}

func field(m member) Field {
	f := Field{Name: m.name, Value: m.plain(), Origin: m.at}
	for _, inner := range m.members {
		f.Members = append(f.Members, field(inner))
	}
	return f
}

func server(name string, p place) Server {
	return Server{
		Name: name, Origin: p.key,
		Command: read[string](p.at("command")),
		Args:    p.at("args").items(),
		Env:     p.at("env").pairs(),
		URL:     read[string](p.at("url")),
		Headers: p.at("headers").pairs(),
		Enabled: read[bool](p.at("enabled")),
		Trusted: read[bool](p.at("trusted")),
		Direct:  p.at("direct").items(),
		Tools:   p.at("tools").gate(),
		Timeout: read[float64](p.at("timeout")),
		OAuth:   OAuth{read[string](p.at("oauth").at("client_id")), read[string](p.at("oauth").at("secret"))},
	}
}

func apiSource(name string, p place) Source {
	s := Source{
		Name: name, Origin: p.key,
		Document: read[string](p.at("document")),
		Base:     read[string](p.at("base")),
		Enabled:  read[bool](p.at("enabled")),
		Tools:    p.at("tools").gate(),
	}
	if auth := p.at("auth"); auth.v != nil {
		s.Auth = auth.v.plain()
	}
	return s
}

func languageServer(name string, p place) LanguageServer {
	return LanguageServer{
		Name: name, Origin: p.key,
		Command:   read[string](p.at("command")),
		Args:      p.at("args").items(),
		Env:       p.at("env").pairs(),
		Languages: p.at("languages").items(),
		Enabled:   read[bool](p.at("enabled")),
	}
}

// hooks flattens events and matchers. A layer's hooks of all events come before the next layer's.
func hooks(p place) []Hook {
	if p.v == nil {
		return nil
	}
	var out []Hook
	for i := range p.node.fields {
		event := p.at(p.node.fields[i].name)
		if event.v == nil {
			continue
		}
		for _, m := range event.v.items {
			matcher := place{&matcherNode, m, m.at}
			list := matcher.at("hooks")
			if list.v == nil {
				continue
			}
			for _, h := range list.v.items {
				out = append(out, hook(p.node.fields[i].name, read[string](matcher.at("matcher")).V, place{&hookNode, h, h.at}))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Hook) int { return rank(a.Origin.Layer) - rank(b.Origin.Layer) })
	return out
}

func hook(event, matcher string, p place) Hook {
	return Hook{
		Event: event, Matcher: matcher,
		Type:    read[string](p.at("type")).V,
		Command: read[string](p.at("command")).V,
		URL:     read[string](p.at("url")).V,
		Prompt:  read[string](p.at("prompt")).V,
		Headers: p.at("headers").pairs(),
		Timeout: read[float64](p.at("timeout")).V,
		Async:   read[bool](p.at("async")).V,
		Once:    read[bool](p.at("once")).V,
		Status:  read[string](p.at("statusMessage")).V,
		Origin:  p.key,
	}
}

func rank(layer string) int {
	return slices.Index([]string{Global, Project, Local, Option, Managed}, layer)
}
