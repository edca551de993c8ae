package config

import "github.com/metaharness/peri/meta"

// Value is one setting. Where no layer sets it, V is the default, Set is false and Origin is zero.
type Value[T any] struct {
	V      T
	Origin meta.Origin
	Set    bool
}

// Item is one entry of a list: a selector, a rule, an argument.
type Item struct {
	Text   string
	Origin meta.Origin
}

// Pair is one entry of a map of texts.
type Pair struct {
	Name, Text string
	Origin     meta.Origin
}

// Settings are all layers merged. Lists that only deny are the union of the layers, low to high. Allow is one list for
// each layer that has one, and what is allowed is what all of them allow: nil is no list, and an empty list in it
// allows nothing. Entries with names are sorted by name.
type Settings struct {
	Model, Language, Persona Value[string]
	Providers                []Provider
	Permissions              Permissions
	Tools                    Tools
	Skills                   Skills
	Hooks                    []Hook // in layer order, then by event, then as written
	Agents                   []Agent
	MCP                      []Server
	OpenAPI                  []Source
	LSP                      []LanguageServer
	Workspace                Workspace
	Web                      Web
	Subagents                Subagents
	Memory                   Memory
	Compact                  Compact
}

// Permissions hold the rules of approval. Mode is one of plan, dontAsk, default, acceptEdits, bypass.
type Permissions struct {
	Mode             Value[string]
	Allow, Ask, Deny []Item
}

// Tools hold the selectors of every session. WithoutSearch is direct, hide or error.
// AllowAt is where each list of Allow stands.
type Tools struct {
	Allow         [][]Item
	AllowAt       []meta.Origin
	Deny          []Item
	WithoutSearch Value[string]
}

// Skills say where skills are and which are seen.
type Skills struct {
	Mounts []Item
	Allow  [][]Item
	Deny   []Item
}

// Hook is one hook of one event. Type is command, http or prompt and says which of the texts is set. Timeout is in
// seconds, 0 for the default.
type Hook struct {
	Event, Matcher             string
	Type, Command, URL, Prompt string
	Headers                    []Pair
	Timeout                    float64
	Async, Once                bool
	Status                     string
	Origin                     meta.Origin
}

// Agent holds the fields laid over an agent file, sorted by name.
type Agent struct {
	Name   string
	Origin meta.Origin
	Fields []Field
}

// Field is one field as plain Go values: string, bool, float64, []any, map[string]any. Callers must not change it.
// Members are a map's fields in the order of the file.
type Field struct {
	Name    string
	Value   any
	Members []Field
	Origin  meta.Origin
}

// Gate narrows the tools of one server or source; see Settings for nil and empty.
type Gate struct {
	Allow [][]Item
	Deny  []Item
}

// Server is one MCP server: either Command or URL is set.
type Server struct {
	Name             string
	Origin           meta.Origin
	Command          Value[string]
	Args             []Item
	Env              []Pair
	URL              Value[string]
	Headers          []Pair
	Enabled, Trusted Value[bool]
	Direct           []Item
	Tools            Gate
	Timeout          Value[float64]
	OAuth            OAuth
}

// OAuth is how a client with a secret of its own signs in. Secret names an environment variable.
type OAuth struct {
	ClientID, Secret Value[string]
}

// Source is one OpenAPI document. Auth is nil, a string or a map[string]any.
type Source struct {
	Name           string
	Origin         meta.Origin
	Document, Base Value[string]
	Auth           any
	Enabled        Value[bool]
	Tools          Gate
}

// LanguageServer is one language server.
type LanguageServer struct {
	Name      string
	Origin    meta.Origin
	Command   Value[string]
	Args      []Item
	Env       []Pair
	Languages []Item
	Enabled   Value[bool]
}

// Workspace says what file and command tools may reach.
type Workspace struct {
	Sandbox, AllowHome, RestrictSystem, BashAsync Value[bool]
}

// Web configures the web tools.
type Web struct {
	Search       Value[string]
	AllowPrivate Value[bool]
}

// Subagents limits delegation.
type Subagents struct {
	Multitask, Depth, MaxTurns Value[int]
}

// Compact configures compaction. Budget is a fraction of the context window.
type Compact struct {
	Budget Value[float64]
	Auto   Value[bool]
}
