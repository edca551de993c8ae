package toolview

import (
	"encoding/json"

	"github.com/metaharness/peri/meta"
)

// Task is a piece of work for an agent.
type Task struct {
	// Agent is the agent's name; "" = a fork.
	Agent       string `json:"agent,omitempty"`
	Prompt      string `json:"prompt"`
	Description string `json:"description,omitempty"`
}

// Spawn describes a child session in plain data.
type Spawn struct {
	// Agent is the child's name; a fork has none.
	Agent       string `json:"agent,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt"`
	// Fork gives the child the parent's whole chain, prompt and history.
	Fork       bool `json:"fork,omitempty"`
	Background bool `json:"background,omitempty"`
	// Resume continues the child of that id; Collect asks for the result of a background child, and Wait says
	// whether to wait for it.
	Resume  string `json:"resume,omitempty"`
	Collect string `json:"collect,omitempty"`
	Wait    bool   `json:"wait,omitempty"`

	// Body is the agent's own system text, from Origin (a file, or "builtin").
	Body   string `json:"body,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Tools is its allow list: nil = all that the parent may see, empty = none. Deny is its deny list.
	Tools []string `json:"tools"`
	Deny  []string `json:"deny,omitempty"`
	// ToolsAt and DenyAt are where the lists stand, when that is known better than Origin.
	ToolsAt meta.Origin `json:"tools_at,omitzero"`
	DenyAt  meta.Origin `json:"deny_at,omitzero"`
	// Brings says that a literal name in Tools brings along the tools that declare so.
	Brings bool `json:"brings,omitempty"`
	// Kinds and Rules narrow it further.
	Kinds []KindLists `json:"kinds,omitempty"`
	Rules []Ruling    `json:"rules,omitempty"`
	// Delegates selects what its children may have although its own lists keep it from it.
	Delegates   []string    `json:"delegates,omitempty"`
	DelegatesAt meta.Origin `json:"delegates_at,omitzero"`
	// Servers are servers and tools of servers without which it is not started.
	Servers  []string `json:"servers,omitempty"`
	Model    string   `json:"model,omitempty"`
	Mode     string   `json:"mode,omitempty"`
	MaxTurns int      `json:"max_turns,omitempty"`
	// Isolation is "" or Worktree: where it works.
	Isolation string `json:"isolation,omitempty"`
	// Extras are what the agent brings for itself and those below it.
	Extras []Extra `json:"extras,omitempty"`
}

// Extra is something that an agent's definition or a middleware brings for another middleware to run: hooks, a server.
type Extra struct {
	// Kind says who understands Value: one of the Extra… constants, or what a program's own middlewares agree on.
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
	// Needed says that it could stop a call: where nobody runs it, who brings it is not started.
	Needed bool `json:"needed,omitempty"`
	// Owner is the middleware that brings it, stamped by the chain; "" = an agent's definition.
	Owner string `json:"owner,omitempty"`
}

// The kinds of extras. Each is a JSON list.
const (
	// ExtraHooks are hooks, each an object with the event that it is for.
	ExtraHooks = "hooks"
	// ExtraAgents are whole definitions of agents.
	ExtraAgents = "agents"
	// ExtraServers are MCP servers, each an object with its name.
	ExtraServers = "servers"
	// ExtraSkills are skills for the catalog, as whoever has that writes them.
	ExtraSkills = "skills"
	// ExtraPreload are names of skills that an agent is to have before it begins.
	ExtraPreload = "preload"
)

// Worktree is the isolation of a child that works in a git worktree of its own.
const Worktree = "worktree"

// Lists are the agent's own lists. What it delegates is not in them: it is no right of the agent's.
func (s *Spawn) Lists() Lists {
	var l Lists
	if s.Tools != nil {
		l.Allow = [][]Selector{s.selectors(s.Tools, s.ToolsAt, s.Brings)}
		if s.ToolsAt != (meta.Origin{}) {
			l.AllowAt = []meta.Origin{s.ToolsAt}
		}
	}
	l.Deny = s.selectors(s.Deny, s.DenyAt, false)
	l.Kinds, l.Rules = s.Kinds, s.Rules
	return l
}

// Lift is what the agent's lists leave to its children.
func (s *Spawn) Lift() []Selector { return s.selectors(s.Delegates, s.DelegatesAt, false) }

func (s *Spawn) selectors(texts []string, at meta.Origin, brings bool) []Selector {
	if at == (meta.Origin{}) {
		at = meta.Origin{Layer: "agent", File: s.Origin}
	}
	out := make([]Selector, len(texts))
	for i, t := range texts {
		out[i] = Selector{Text: t, Origin: at, Brings: brings}
	}
	return out
}
