// Package subagent holds agent definitions, the catalog that they form, and the middleware by which a model hands work
// to them.
package subagent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// The levels that a definition can come from, low to high.
const (
	BuiltIn = "builtin"
	Plugin  = "plugin"
	User    = "user"
	Project = "project"
)

// Definition is one agent as its file says it, settings laid over it.
type Definition struct {
	Name string `json:"name"`
	// Description is what it is for. Without one it is not offered to the model.
	Description string `json:"description,omitempty"`
	// Tools is the allow list: nil = all that the parent may see, empty = none. Deny wins over it.
	Tools []string `json:"tools"`
	Deny  []string `json:"deny,omitempty"`
	// ToolsAt and DenyAt are where the lists stand, when that is another place than Origin. Brings says that a literal
	// name in Tools brings along the tools that declare so.
	ToolsAt meta.Origin `json:"tools_at,omitzero"`
	DenyAt  meta.Origin `json:"deny_at,omitzero"`
	Brings  bool        `json:"brings,omitempty"`
	// Kinds are lists for one kind of tool each, Rules is a ruleset whose last match holds.
	Kinds []toolview.KindLists `json:"kinds,omitempty"`
	Rules []toolview.Ruling    `json:"rules,omitempty"`
	// Delegates selects what its children may have although its own lists keep it from it.
	Delegates   []string    `json:"delegates,omitempty"`
	DelegatesAt meta.Origin `json:"delegates_at,omitzero"`
	// Servers are servers and tools of servers without which it is not started.
	Servers []string `json:"servers,omitempty"`
	// Background starts it in the background, whatever the call says. Hidden keeps it from being offered to the model.
	Background bool `json:"background,omitempty"`
	Hidden     bool `json:"hidden,omitempty"`
	// Model is the model's name; "" = its parent's.
	Model string `json:"model,omitempty"`
	// Mode is the permission mode; "" = its parent's.
	Mode string `json:"mode,omitempty"`
	// MaxTurns bounds its steps; 0 = no bound of its own.
	MaxTurns int `json:"max_turns,omitempty"`
	// Isolation is where it works: "" = where its parent does, toolview.Worktree = in a git worktree of its own.
	Isolation string `json:"isolation,omitempty"`
	// Extras are what it brings for itself and those below it: its hooks, and which skills it wants before it begins.
	Extras []toolview.Extra `json:"extras,omitempty"`
	// Body is its system text.
	Body string `json:"body"`
	// Origin is its level and file. Files are named from the project's root, or from ~ for a user's.
	Origin meta.Origin `json:"origin"`

	by string // the middleware that brought it into a session
}

// Spawn is the start of a child by this definition, but for what it is to do.
func (d *Definition) Spawn() toolview.Spawn {
	return toolview.Spawn{
		Agent: d.Name, Body: d.Body, Origin: d.source(), Tools: d.allowed(), Deny: slices.Clone(d.Deny),
		ToolsAt: d.ToolsAt, DenyAt: d.DenyAt, Brings: d.Brings, Kinds: slices.Clone(d.Kinds), Rules: slices.Clone(d.Rules),
		Delegates: slices.Clone(d.Delegates), DelegatesAt: d.DelegatesAt, Servers: slices.Clone(d.Servers), Background: d.Background,
		Model: d.Model, Mode: d.Mode, MaxTurns: d.MaxTurns, Isolation: d.Isolation,
		Extras: slices.Clone(d.Extras),
	}
}

// allowed is its allow list. That it wants skills lists them: the list was not written to keep them from it.
func (d *Definition) allowed() []string {
	out := slices.Clone(d.Tools)
	if out == nil {
		return nil
	}
	for _, name := range d.Preload() {
		out = append(out, kindText(toolview.Skilled, name))
	}
	return out
}

// Preload are the skills that it wants before it begins, by name or id.
func (d *Definition) Preload() []string {
	var names []string
	if raw := d.Extra(toolview.ExtraPreload); raw != nil {
		_ = json.Unmarshal(raw, &names) // its own, or a stored session's: what does not read is not loaded
	}
	return names
}

// Extra is what it brings of a kind; nil = nothing.
func (d *Definition) Extra(kind string) json.RawMessage {
	for _, x := range d.Extras {
		if x.Kind == kind {
			return x.Value
		}
	}
	return nil
}

// bring sets what it brings of a kind; an empty value takes it away.
func (d *Definition) bring(x toolview.Extra) {
	d.Extras = slices.DeleteFunc(slices.Clone(d.Extras), func(old toolview.Extra) bool { return old.Kind == x.Kind })
	if len(x.Value) > 0 {
		d.Extras = append(d.Extras, x)
	}
}

// Frame compiles its lists, so that what is wrong with them is known before it is started.
func (d *Definition) Frame() (*toolview.Frame, error) {
	sp := d.Spawn()
	l := sp.Lists()
	l.Lift = sp.Lift()
	return toolview.NewFrame(l)
}

// offered reports whether the model is told of it.
func (d *Definition) offered() bool { return d.Description != "" && !d.Hidden }

// source is the file, or the level of a definition that has none.
func (d *Definition) source() string {
	if d.Origin.File != "" {
		return d.Origin.File
	}
	return d.Origin.Layer
}

// Info is the definition as a roster shows it.
func (d *Definition) Info() middleware.AgentInfo {
	return middleware.AgentInfo{Name: d.Name, Doc: d.Description, Origin: d.Origin.Layer, File: d.Origin.File, Tools: slices.Clone(d.Tools), By: d.by}
}

var legal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

const legalNames = "1 to 64 of a-z A-Z 0-9 _ . -, a letter or digit first"

// Catalog is a session's definitions, one for each name. It is immutable and safe for concurrent use; a nil Catalog is
// empty.
type Catalog struct {
	defs []Definition // by name
}

// NewCatalog holds the given definitions in the order of their names; of two with one name it keeps the first.
func NewCatalog(defs ...Definition) *Catalog {
	c := &Catalog{defs: slices.Clone(defs)}
	slices.SortStableFunc(c.defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	c.defs = slices.CompactFunc(c.defs, func(a, b Definition) bool { return a.Name == b.Name })
	return c
}

// All returns the definitions in the order of their names. The slice is not to be changed.
func (c *Catalog) All() []Definition {
	if c == nil {
		return nil
	}
	return c.defs
}

// Lookup finds a definition by its name; when none has that very name, by the only one that differs in case.
func (c *Catalog) Lookup(name string) (*Definition, bool) {
	var near *Definition
	alone := true
	for i := range c.All() {
		d := &c.defs[i]
		switch {
		case d.Name == name:
			return d, true
		case strings.EqualFold(d.Name, name):
			alone = near == nil
			near = d
		}
	}
	return near, near != nil && alone
}

// Without is the catalog less the definitions of one level.
func (c *Catalog) Without(level string) *Catalog {
	kept := slices.DeleteFunc(slices.Clone(c.All()), func(d Definition) bool { return d.Origin.Layer == level })
	return &Catalog{defs: kept}
}
