package subagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// reader turns one file's fields into a definition.
type reader struct {
	def     Definition
	dialect dialect
	// trusted says that the file may widen its permission mode and bring hooks.
	trusted bool
	off     bool        // enabled: false
	laid    meta.Origin // where the field stands when settings lay it over a definition
	bad     []problem
	notes   []problem
}

func (r *reader) refuse(n *yaml.Node, suggestion, format string, args ...any) {
	r.bad = append(r.bad, *at(n, fmt.Sprintf(format, args...), suggestion))
}

func (r *reader) note(n *yaml.Node, suggestion, format string, args ...any) {
	r.notes = append(r.notes, *at(n, fmt.Sprintf(format, args...), suggestion))
}

// origin is the place of a node.
func (r *reader) origin(n *yaml.Node) meta.Origin {
	if r.laid != (meta.Origin{}) {
		return r.laid
	}
	o, p := r.def.Origin, at(n, "", "")
	o.Line, o.Column = p.line, p.column
	return o
}

// brings reports whether a literal name in an allow list brings its companions along.
func (r *reader) brings() bool { return r.dialect == periDialect }

// honoured are the fields that have a meaning here.
var honoured = []string{
	"name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "enabled", "skills", "mcp",
	"requiredMcpServers", "mcpServers", "delegates", "permission", "background", "hidden", "isolation", "hooks",
}

// restricting are those that narrow an agent: ignoring a misspelt one would widen it.
var restricting = []string{
	"tools", "disallowedTools", "permissionMode", "enabled", "mcp", "requiredMcpServers", "permission", "isolation", "hooks",
}

// unhonoured are fields that other harnesses know and that do nothing here.
var unhonoured = []string{
	"memory", "primary", "color", "effort", "initialPrompt", "mode", "temperature", "top_p", "prompt",
	"version", "license", "metadata",
}

// widening are fields that narrow an agent in a way that is not enforced here.
var widening = []string{"permissions", "capabilities"}

// nearMisses are other spellings of a restricting field, without case, - and _.
var nearMisses = map[string]string{
	"allowedtools": "tools", "allowtools": "tools", "allow": "tools", "allowed": "tools", "tool": "tools", "tools": "tools", "toolset": "tools", "enabledtools": "tools",
	"disallowedtools": "disallowedTools", "disallowtools": "disallowedTools", "disallowed": "disallowedTools", "deniedtools": "disallowedTools",
	"denytools": "disallowedTools", "deny": "disallowedTools", "denied": "disallowedTools", "disabledtools": "disallowedTools", "excludedtools": "disallowedTools",
	"excludetools": "disallowedTools", "blockedtools": "disallowedTools", "forbiddentools": "disallowedTools",
	"permissionmode": "permissionMode", "disabled": "enabled: false", "disable": "enabled: false", "enabled": "enabled",
}

func (r *reader) field(key, value *yaml.Node) {
	switch name := key.Value; {
	case name == "name":
		if r.text(key, value, &r.def.Name) && !legal.MatchString(r.def.Name) {
			r.refuse(value, "use "+legalNames, "name: %q is no agent's name", r.def.Name)
		}
	case name == "description":
		r.text(key, value, &r.def.Description)
	case name == "tools" && value.Kind == yaml.MappingNode && isSwitches(value):
		r.switches(value)
	case name == "tools" && value.Kind == yaml.MappingNode:
		r.kind(toolview.Plain, key, value)
	case name == "tools":
		r.def.Tools, r.def.ToolsAt = r.list(key, value), r.origin(key)
		if r.dialect == claudeDialect {
			for i, t := range r.def.Tools {
				if t == "*" {
					r.def.Tools[i] = "**"
				}
			}
		}
	case name == "disallowedTools":
		r.def.Deny, r.def.DenyAt = r.list(key, value), r.origin(key)
	case name == "skills" && value.Kind == yaml.MappingNode:
		r.kind(toolview.Skilled, key, value)
	case name == "skills":
		r.preload(key, value)
	case name == "mcp" && value.Kind == yaml.MappingNode:
		r.kind(toolview.Served, key, value)
	case name == "mcp":
		allowed := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "allowed", Line: key.Line, Column: key.Column}, value}}
		r.kind(toolview.Served, key, &allowed)
	case name == "requiredMcpServers":
		r.def.Servers = appendNew(r.def.Servers, r.list(key, value)...)
	case name == "mcpServers":
		r.servers(key, value)
	case name == "delegates":
		r.def.Delegates, r.def.DelegatesAt = r.list(key, value), r.origin(key)
	case name == "permission":
		r.ruleset(key, value)
	case name == "background":
		r.flag(key, value, &r.def.Background)
	case name == "hidden":
		r.flag(key, value, &r.def.Hidden)
	case name == "hooks":
		r.hooks(key, value)
	case name == "isolation":
		if r.text(key, value, &r.def.Isolation) && r.def.Isolation != toolview.Worktree {
			r.refuse(value, "write "+toolview.Worktree+", or remove the field", "isolation: %q is none, and without it the agent would work in the project itself", r.def.Isolation)
		}
	case name == "model":
		if r.text(key, value, &r.def.Model) && strings.EqualFold(r.def.Model, "inherit") {
			r.def.Model = ""
		}
	case name == "permissionMode":
		r.mode(key, value)
	case name == "maxTurns", r.dialect == opencodeDialect && (name == "steps" || name == "maxSteps"):
		n, err := strconv.Atoi(value.Value)
		if value.Kind != yaml.ScalarNode || value.Tag != "!!int" || err != nil || n < 1 {
			r.refuse(value, "write a whole number from 1 on", "%s: found %s", name, found(value))
			return
		}
		r.def.MaxTurns = n
	case name == "enabled", r.dialect == opencodeDialect && name == "disable":
		on := true
		if r.flag(key, value, &on) {
			r.off = on == (name == "disable")
		}
	case r.dialect == opencodeDialect && name == "prompt":
		r.text(key, value, &r.def.Body)
	case r.dialect == opencodeDialect && name == "mode":
		if value.Value == "primary" {
			r.def.Hidden = true
			r.note(value, "write mode: all to have it offered", "mode: primary: it is not offered to the model, and no session can be of its kind here")
		}
	default:
		r.other(key, value)
	}
}

// other answers a field that has no meaning here.
func (r *reader) other(key, value *yaml.Node) {
	name := key.Value
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	near := meta.Nearest(name, slices.Concat(honoured, widening))
	switch {
	case slices.Contains(widening, name):
		r.refuse(key, "remove it, or say the same with tools and disallowedTools", "%s restricts the agent in a way that is not enforced here", name)
	case nearMisses[plain] != "":
		r.refuse(key, "write "+nearMisses[plain], "%s is no field, and ignoring it would widen the agent", name)
	case name == "mode" && !slices.Contains([]string{"subagent", "primary", "all"}, value.Value):
		r.refuse(key, "write permissionMode", "mode is no field, and ignoring it could widen the agent")
	case slices.Contains(unhonoured, name):
		r.note(key, "", "%s is not honoured here and has no effect", name)
	case len(near) > 0 && (slices.Contains(restricting, near[0]) || slices.Contains(widening, near[0])):
		r.refuse(key, "write "+near[0]+", or remove it", "%s is no field; if it restricts the agent, ignoring it would widen it", name)
	case len(near) > 0:
		r.note(key, "did you mean "+near[0]+"?", "%s is no field and has no effect", name)
	default:
		r.note(key, "the fields are "+strings.Join(honoured, ", "), "%s is no field and has no effect", name)
	}
}

// flag reads a boolean.
func (r *reader) flag(key, value *yaml.Node, into *bool) bool {
	if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" || value.Value != "true" && value.Value != "false" {
		r.refuse(value, "write true or false", "%s: found %s", key.Value, found(value))
		return false
	}
	*into = value.Value == "true"
	return true
}

// text reads a scalar as it is written.
func (r *reader) text(key, value *yaml.Node, into *string) bool {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || value.Tag == "!!bool" {
		r.refuse(value, "write a text, or remove the field", "%s: found %s", key.Value, found(value))
		return false
	}
	*into = strings.TrimSpace(value.Value)
	return true
}

// list reads selectors: comma text, flow list and block list alike. It is never nil: what says nothing is an error,
// since it could mean everything as well as nothing.
func (r *reader) list(key, value *yaml.Node) []string {
	out := []string{}
	var items []*yaml.Node
	switch {
	case value.Kind == yaml.SequenceNode:
		if items = value.Content; len(items) == 0 {
			return out
		}
	case value.Kind == yaml.ScalarNode && value.Tag == "!!str":
		items = []*yaml.Node{value}
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		r.refuse(key, "list the tools, write [] for none, or remove the field for no list", "%s: nothing stands behind it", key.Value)
		return out
	default:
		r.refuse(value, "list the tools", "%s: found %s", key.Value, found(value))
		return out
	}
	for _, n := range items {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" && n.Tag != "!!null" {
			r.refuse(n, "list tools as texts", "%s: found %s", key.Value, found(n))
			continue
		}
		if n.Tag == "!!null" {
			r.refuse(n, "name a tool, or remove the entry", "%s: an empty entry", key.Value)
			continue
		}
		for _, s := range commas(n.Value) {
			if strings.ContainsAny(outside(s), " \t\n") {
				r.refuse(n, "put commas between tools", "%s: %q is no selector", key.Value, s)
			}
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		r.refuse(value, "list the tools, write [] for none, or remove the field for no list", "%s: found %s", key.Value, found(value))
	}
	return out
}

// commas cuts a text at the commas that stand in no parentheses.
func commas(text string) []string {
	var out []string
	depth, start := 0, 0
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				add(text[start:i])
				start = i + 1
			}
		}
	}
	add(text[start:])
	return out
}

// outside is a selector without what stands in its parentheses.
func outside(s string) string {
	before, _, _ := strings.Cut(s, "(")
	return before
}

// modes are the permission modes by the spellings that are understood; Claude Code's bypassPermissions is bypass.
var modes = map[string]string{
	"default": "default", "acceptEdits": "acceptEdits", "plan": "plan", "bypass": "bypass", "dontAsk": "dontAsk",
	"bypassPermissions": "bypass",
}

const modeNames = "default, acceptEdits, plan, bypass or dontAsk"

func (r *reader) mode(key, value *yaml.Node) {
	var text string
	if !r.text(key, value, &text) {
		return
	}
	mode, ok := modes[text]
	switch {
	case !ok:
		r.refuse(value, "write "+modeNames, "permissionMode: %q is no mode", text)
	case wide(mode) && !r.trusted:
		r.note(value, "trust the project to apply it", "permissionMode: %s is wider than default and the project is not trusted: ignored", mode)
	default:
		r.def.Mode = mode
	}
}

// wide reports whether a mode allows more than the default.
func wide(mode string) bool { return mode == "acceptEdits" || mode == "bypass" }

// found says what stands in the place of a value.
func found(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!str":
		return strconv.Quote(n.Value)
	}
	return n.Value
}
