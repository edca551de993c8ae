package subagent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// hookEntry is one hook of one event, as whoever runs hooks reads it.
type hookEntry struct {
	Event   string            `json:"event"`
	Matcher string            `json:"matcher,omitempty"`
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout float64           `json:"timeout,omitempty"`
	Async   bool              `json:"async,omitempty"`
	Once    bool              `json:"once,omitempty"`
	Origin  meta.Origin       `json:"origin,omitzero"`
}

// hookEvents are the events that hooks can be written for.
var hookEvents = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied", "Notification",
	"UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
	"PreCompact", "PostCompact",
}

const hookFields = "type, command, url, headers, prompt, timeout, async, once, statusMessage"

// hooks reads Claude Code's shape: {event: [{matcher, hooks: [{type, command, …}]}]}. Everything in it is either understood
// or refused, since a hook that is written is meant to run.
func (r *reader) hooks(key, value *yaml.Node) {
	r.def.bring(toolview.Extra{Kind: toolview.ExtraHooks})
	var all []hookEntry
	guards, before := false, len(r.bad)
	r.members(key.Value, value, func(event, list *yaml.Node) {
		switch name := event.Value; {
		case !slices.Contains(hookEvents, name):
			suggestion := "the events are " + strings.Join(hookEvents, ", ")
			if near := meta.Nearest(name, hookEvents); len(near) > 0 {
				suggestion = "write " + near[0]
			}
			r.refuse(event, suggestion, "hooks: %q is no event", name)
			return
		case name == "UserPromptSubmit":
			r.refuse(event, "write PreToolUse, or put it in settings", "hooks: an agent's task is no user's prompt, so that a hook of %s would guard nothing", name)
			return
		case name == "SessionStart" || name == "SessionEnd":
			r.note(event, "write SubagentStart or SubagentStop", "hooks.%s does not happen in an agent and has no effect", name)
		case name == "PreToolUse" || name == "PermissionRequest":
			guards = true
		}
		for _, m := range r.sequence("hooks."+event.Value, list) {
			all = append(all, r.matcher(event.Value, m)...)
		}
	})
	switch {
	case len(r.bad) > before || len(all) == 0:
		return
	case !r.trusted && guards:
		r.refuse(key, "trust the project to apply them", "hooks: the project is not trusted, so they do not run, and without them the agent would be less guarded")
		return
	case !r.trusted:
		r.note(key, "trust the project to apply them", "hooks: the project is not trusted: ignored")
		return
	}
	raw, err := json.Marshal(all)
	if err != nil {
		r.refuse(key, "write plain texts and numbers", "hooks: %v", err)
		return
	}
	r.def.bring(toolview.Extra{Kind: toolview.ExtraHooks, Value: raw, Needed: guards})
}

// matcher reads the hooks of one matcher.
func (r *reader) matcher(event string, value *yaml.Node) []hookEntry {
	what, before := "hooks."+event, len(r.bad)
	var match string
	var list *yaml.Node
	r.members(what, value, func(k, v *yaml.Node) {
		switch k.Value {
		case "matcher":
			r.text(k, v, &match)
		case "hooks":
			list = v
		default:
			r.refuse(k, "the fields are matcher and hooks", "%s: %s is no field", what, k.Value)
		}
	})
	switch {
	case len(r.bad) > before:
		return nil
	case list == nil:
		r.refuse(value, "write hooks: [{type: command, command: …}]", "%s: a matcher without hooks", what)
		return nil
	}
	var out []hookEntry
	for _, h := range r.sequence(what+".hooks", list) {
		e := hookEntry{Event: event, Matcher: match, Type: "command", Origin: r.origin(h)}
		r.hook(what, h, &e)
		out = append(out, e)
	}
	return out
}

func (r *reader) hook(what string, value *yaml.Node, e *hookEntry) {
	before, prompt, status := len(r.bad), "", ""
	r.members(what, value, func(k, v *yaml.Node) {
		switch k.Value {
		case "type":
			r.text(k, v, &e.Type)
		case "command":
			r.text(k, v, &e.Command)
		case "url":
			r.text(k, v, &e.URL)
		case "prompt":
			r.text(k, v, &prompt)
		case "statusMessage":
			r.text(k, v, &status)
		case "async":
			r.flag(k, v, &e.Async)
		case "once":
			r.flag(k, v, &e.Once)
		case "headers":
			e.Headers = map[string]string{}
			r.members(what+".headers", v, func(k, v *yaml.Node) {
				var text string
				if r.text(k, v, &text) {
					e.Headers[k.Value] = text
				}
			})
		case "timeout":
			n, err := strconv.ParseFloat(v.Value, 64)
			if v.Kind != yaml.ScalarNode || v.Tag != "!!int" && v.Tag != "!!float" || err != nil || !(n > 0 && n <= 86400) {
				r.refuse(v, "write seconds, up to 86400", "%s: timeout: found %s", what, found(v))
				return
			}
			e.Timeout = n
		default:
			r.refuse(k, "the fields are "+hookFields, "%s: %s is no field of a hook", what, k.Value)
		}
	})
	if len(r.bad) > before {
		return
	}
	needs := map[string]*string{"command": &e.Command, "http": &e.URL, "prompt": &prompt}[e.Type]
	switch {
	case needs == nil:
		r.refuse(value, "write command, http or prompt", "%s: type %q is none", what, e.Type)
	case *needs == "":
		need := e.Type
		if need == "http" {
			need = "url"
		}
		r.refuse(value, "write its "+need, "%s: a hook of type %s without %s", what, e.Type, need)
	}
}

// members goes through a map, no key of which may be there twice.
func (r *reader) members(what string, value *yaml.Node, each func(k, v *yaml.Node)) {
	if value.Kind != yaml.MappingNode {
		r.refuse(value, "write a map", "%s: found %s", what, found(value))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k := value.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || seen[k.Value] {
			r.refuse(k, "write every field once", "%s: %s", what, fmt.Sprintf("%q is no field or is there twice", k.Value))
			continue
		}
		seen[k.Value] = true
		each(k, value.Content[i+1])
	}
}

func (r *reader) sequence(what string, value *yaml.Node) []*yaml.Node {
	if value.Kind != yaml.SequenceNode {
		r.refuse(value, "write a list", "%s: found %s", what, found(value))
		return nil
	}
	return value.Content
}

// checkHooks lets whoever runs hooks say what is wrong with an agent's.
func (l *loader) checkHooks(r *reader) {
	raw := r.def.Extra(toolview.ExtraHooks)
	if l.o.CheckHooks == nil || raw == nil || len(r.bad) > 0 {
		return
	}
	for _, e := range findings(l.o.CheckHooks(raw)) {
		r.bad = append(r.bad, problem{max(e.Origin.Line, 1), max(e.Origin.Column, 1), "hooks: " + e.Message, e.Suggestion})
	}
}
