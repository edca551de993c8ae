package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// maxDescription is the format's own bound, in characters.
const maxDescription = 1024

var (
	honoured = []string{
		"name", "description", "allowed-tools", "disallowed-tools", "disable-model-invocation", "user-invocable", "argument-hint",
	}
	// telling says something about the skill and asks for nothing.
	telling = []string{"license", "compatibility", "metadata", "version", "author", "tags", "category", "when_to_use"}
	// nearMisses are spellings of what restricts a skill: ignoring one would open more than its author meant.
	nearMisses = map[string]string{
		"allowedtools": "allowed-tools", "tools": "allowed-tools", "allowed": "allowed-tools", "allowtools": "allowed-tools",
		"disallowedtools": "disallowed-tools", "deniedtools": "disallowed-tools", "denytools": "disallowed-tools",
		"disablemodelinvocation": "disable-model-invocation", "disablemodelinvokation": "disable-model-invocation",
		"userinvocable": "user-invocable", "userinvokable": "user-invocable",
	}
	// unhonoured are fields of other harnesses that have no effect here.
	unhonoured = []string{"model", "effort", "context", "agent", "hooks", "paths", "shell", "arguments"}
)

// reader takes one document's fields.
type reader struct {
	skill      Skill
	bad, notes []problem
}

// define reads the front matter of the skill in a folder of that name.
func define(doc document, folder string) *reader {
	r := &reader{}
	for i := 0; i+1 < len(doc.fields); i += 2 {
		r.field(doc.fields[i], doc.fields[i+1])
	}
	if r.skill.Name == "" {
		r.skill.Name = folder
		if !legal.MatchString(folder) {
			r.bad = append(r.bad, problem{2, 1, fmt.Sprintf("name is missing, and the folder's, %q, is none", folder), "write name: and use " + legalNames})
		} else {
			r.notes = append(r.notes, problem{2, 1, "name is missing: it goes by its folder's", "write name: " + folder})
		}
	}
	if strings.TrimSpace(doc.body) == "" {
		r.bad = append(r.bad, problem{1, 1, "there is no text behind the front matter", "write what is to be done"})
	}
	return r
}

func (r *reader) refuse(n *yaml.Node, suggestion, format string, args ...any) {
	r.bad = append(r.bad, *at(n, fmt.Sprintf(format, args...), suggestion))
}

func (r *reader) note(n *yaml.Node, suggestion, format string, args ...any) {
	r.notes = append(r.notes, *at(n, fmt.Sprintf(format, args...), suggestion))
}

func (r *reader) field(key, value *yaml.Node) {
	s := &r.skill
	switch name := key.Value; name {
	case "name":
		if r.text(key, value, &s.Name) && !legal.MatchString(s.Name) {
			r.refuse(value, "use "+legalNames, "name: %q is no skill's name", s.Name)
		}
	case "description":
		if r.text(key, value, &s.Description); utf8.RuneCountInString(s.Description) > maxDescription {
			r.note(value, "shorten it", "description: over %d characters: the rest is cut", maxDescription)
			s.Description = strings.TrimSpace(string([]rune(s.Description)[:maxDescription]))
		}
	case "argument-hint":
		// [issue] [priority] is how such hints look, and a list in YAML.
		if value.Kind == yaml.SequenceNode {
			s.Hint = hint(value)
			return
		}
		r.text(key, value, &s.Hint)
	case "allowed-tools":
		s.Allow = r.list(key, value)
	case "disallowed-tools":
		s.Deny = r.list(key, value)
	case "disable-model-invocation":
		r.flag(key, value, &s.NoModel)
	case "user-invocable":
		on := true
		r.flag(key, value, &on)
		s.NoUser = !on
	default:
		r.other(key)
	}
}

func hint(list *yaml.Node) string {
	var words []string
	for _, n := range list.Content {
		words = append(words, n.Value)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// other answers a field that has no meaning here.
func (r *reader) other(key *yaml.Node) {
	name := key.Value
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	near := meta.Nearest(name, honoured)
	switch {
	case slices.Contains(telling, name):
	case nearMisses[plain] != "":
		r.refuse(key, "write "+nearMisses[plain], "%s is no field, and ignoring it would widen the skill", name)
	case slices.Contains(unhonoured, name):
		r.note(key, "", "%s is not honoured here and has no effect", name)
	case len(near) > 0 && slices.Index(honoured, near[0]) >= 2 && near[0] != "argument-hint":
		r.refuse(key, "write "+near[0]+", or remove it", "%s is no field; if it restricts the skill, ignoring it would widen it", name)
	case len(near) > 0:
		r.note(key, "did you mean "+near[0]+"?", "%s is no field and has no effect", name)
	default:
		r.note(key, "the fields are "+strings.Join(honoured, ", "), "%s is no field and has no effect", name)
	}
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

// flag reads a boolean.
func (r *reader) flag(key, value *yaml.Node, into *bool) {
	if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" || value.Value != "true" && value.Value != "false" {
		r.refuse(value, "write true or false", "%s: found %s", key.Value, found(value))
		return
	}
	*into = value.Value == "true"
}

// list reads selectors: text with commas or blanks between them, flow list and block list alike. It is never nil: what
// says nothing is an error, since it could mean everything as well as nothing.
func (r *reader) list(key, value *yaml.Node) []string {
	out := []string{}
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		if items = value.Content; len(items) == 0 {
			return out
		}
	}
	for _, n := range items {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			r.refuse(n, "list the tools, write [] for none, or remove the field for no list", "%s: found %s", key.Value, found(n))
			continue
		}
		for _, s := range selectors(n.Value) {
			if slices.Contains(out, s) {
				continue
			}
			out = append(out, s)
			var bad *meta.Error
			_, err := toolview.NewFrame(toolview.Lists{Deny: []toolview.Selector{{Text: s}}})
			if key.Value == "allowed-tools" {
				_, err = toolview.ParseRule(s, meta.Origin{})
			}
			if errors.As(err, &bad) {
				r.refuse(n, bad.Suggestion, "%s: %s", key.Value, bad.Message)
			}
		}
	}
	if len(out) == 0 && len(r.bad) == 0 {
		r.refuse(value, "list the tools, write [] for none, or remove the field for no list", "%s: found %s", key.Value, found(value))
	}
	return out
}

// selectors cuts a text at the commas and blanks that stand in no parentheses.
func selectors(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n')
	})
}

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
