package subagent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// kind reads lists for one kind of tool: a map of allowed, disabled, categories and, for servers, required.
func (r *reader) kind(kind toolview.Kind, key, value *yaml.Node) {
	lists := toolview.KindLists{Kind: kind, Origin: r.origin(key)}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		switch k.Value {
		case "allowed":
			lists.Allow = r.kindSelectors(kind, k, r.list(k, v), true)
		case "disabled":
			lists.Deny = r.kindSelectors(kind, k, r.list(k, v), false)
		case "categories":
			if kind == toolview.Skilled {
				r.refuse(k, "list the skills under allowed or disabled", "skills.categories restricts the agent in a way that is not enforced here")
				continue
			}
			lists.Categories = r.list(k, v)
		case "required":
			if kind == toolview.Served {
				r.def.Servers = appendNew(r.def.Servers, r.list(k, v)...)
				continue
			}
			fallthrough
		default:
			known := []string{"allowed", "disabled", "categories"}
			if kind == toolview.Served {
				known = append(known, "required")
			}
			suggestion := "the fields are " + strings.Join(known, ", ")
			if near := meta.Nearest(k.Value, known); len(near) > 0 {
				suggestion = "write " + near[0]
			}
			r.refuse(k, suggestion, "%s.%s is no field, and ignoring it could widen the agent", kind, k.Value)
		}
	}
	r.def.Kinds = append(without(r.def.Kinds, kind), lists)
}

func without(lists []toolview.KindLists, kind toolview.Kind) []toolview.KindLists {
	return slices.DeleteFunc(slices.Clone(lists), func(k toolview.KindLists) bool { return k.Kind == kind })
}

func appendNew(to []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(to, m) {
			to = append(to, m)
		}
	}
	return to
}

// kindSelectors turns entries that mean servers or skills into selectors.
func (r *reader) kindSelectors(kind toolview.Kind, key *yaml.Node, texts []string, allow bool) []toolview.Selector {
	out := make([]toolview.Selector, len(texts))
	for i, t := range texts {
		out[i] = toolview.Selector{Text: kindText(kind, t), Origin: r.origin(key), Brings: allow && r.brings()}
	}
	return out
}

func kindText(kind toolview.Kind, text string) string {
	switch {
	case kind == toolview.Skilled && text != "**" && !strings.HasPrefix(text, "@") && !strings.Contains(text, "("):
		return "Skill(" + text + ")"
	case kind == toolview.Served && text != "**" && !strings.ContainsAny(text, ":@(") && !strings.Contains(text, "__"):
		return "mcp:" + text
	}
	return text
}

var skillName = regexp.MustCompile(`^@?[A-Za-z0-9][A-Za-z0-9_./-]*$`)

// preload reads the skills that the agent wants before it begins.
func (r *reader) preload(key, value *yaml.Node) {
	names := r.list(key, value)
	for _, n := range names {
		if !skillName.MatchString(n) {
			r.refuse(value, "name a skill, or write its id", "%s: %q is no skill's name", key.Value, n)
		}
	}
	raw, err := json.Marshal(names)
	if err != nil {
		r.refuse(value, "write plain texts", "%s: %v", key.Value, err)
		return
	}
	r.def.bring(toolview.Extra{Kind: toolview.ExtraPreload, Value: raw})
}
