package subagent

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/toolview"
)

// ruleset reads opencode's permission: an action for everything, or {key: action} and {key: {pattern: action}}, of which
// the last that matches holds.
func (r *reader) ruleset(key, value *yaml.Node) {
	r.def.Rules = nil
	if value.Kind == yaml.ScalarNode && value.Tag == "!!str" {
		r.rule(key, "*", "", value)
		return
	}
	if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
		r.refuse(key, "write a map of tools to allow, ask or deny", "%s: found %s", key.Value, found(value))
		return
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		switch {
		case k.Value == "external_directory" || k.Value == "doom_loop":
			r.note(k, "workspace.sandbox in settings keeps file tools inside the project", "permission.%s is not honoured here and has no effect", k.Value)
		case v.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(v.Content); j += 2 {
				r.rule(k, k.Value, v.Content[j].Value, v.Content[j+1])
			}
		default:
			r.rule(k, k.Value, "", v)
		}
	}
}

// switches reads opencode's tools: {tool: true or false}.
func (r *reader) switches(value *yaml.Node) {
	r.def.Rules = nil
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		action := *v
		action.Tag, action.Value = "!!str", string(toolview.ActionDeny)
		if v.Value == "true" {
			action.Value = string(toolview.ActionAllow)
		}
		r.rule(k, k.Value, "", &action)
	}
}

// isSwitches reports whether a map says true or false of every key.
func isSwitches(value *yaml.Node) bool {
	for i := 1; i < len(value.Content); i += 2 {
		if v := value.Content[i]; v.Kind != yaml.ScalarNode || v.Tag != "!!bool" || v.Value != "true" && v.Value != "false" {
			return false
		}
	}
	return len(value.Content) > 0
}

func (r *reader) rule(at *yaml.Node, key, pattern string, action *yaml.Node) {
	a := toolview.Action(action.Value)
	if action.Kind != yaml.ScalarNode || a != toolview.ActionAllow && a != toolview.ActionAsk && a != toolview.ActionDeny {
		r.refuse(action, "write allow, ask or deny", "%s: found %s", key, found(action))
		return
	}
	if strings.Contains(pattern, "://") {
		r.refuse(at, "write domain: and the host", "%s: %q: addresses are judged by their host", key, pattern)
		return
	}
	text := ruleText(key, pattern)
	if _, err := toolview.ParseRule(text, r.origin(at)); err != nil {
		r.refuse(at, "write a tool's name or a pattern of names", "%s: no tool can be called so", key)
		return
	}
	r.def.Rules = append(r.def.Rules, toolview.Ruling{
		Selector: toolview.Selector{Text: text, Origin: r.origin(at)}, Action: a,
	})
}

// ruleText is a key with its pattern as a selector. There, edit stands for every tool that edits files, and server_tool
// for the tools of servers.
func ruleText(key, pattern string) string {
	keys := []string{key}
	switch low := strings.ToLower(key); {
	case low == "edit", low == "write", low == "patch", low == "multiedit":
		keys = []string{"edit", "write"}
	case strings.HasSuffix(low, "_*") && !strings.Contains(low, "__"):
		keys = []string{key, "mcp:" + strings.TrimSuffix(key, "_*")}
	}
	if rest, ok := strings.CutPrefix(pattern, "$HOME/"); ok {
		pattern = "~/" + rest
	}
	if pattern != "" && pattern != "*" && pattern != "**" {
		pattern = "(" + strings.NewReplacer("(", `\(`, ")", `\)`, "|", `\|`, ",", `\,`, `\`, `\\`).Replace(pattern) + ")"
	} else {
		pattern = ""
	}
	for i := range keys {
		keys[i] += pattern
	}
	return strings.Join(keys, "|")
}
