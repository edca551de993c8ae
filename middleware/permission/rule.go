package permission

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Rule is one entry of an allow, ask or deny list with the place where somebody wrote it. Its text is a tool's name or
// alias, several of them joined by `|`, or `*`. Case does not count. `Edit` stands for every tool that edits files.
type Rule struct {
	Text   string      `json:"text"`
	Origin meta.Origin `json:"origin"`
}

// matcher is a compiled rule.
type matcher struct {
	rule  Rule
	all   bool
	edits bool
	names map[string]bool // lower case
}

// compile refuses what it cannot enforce: a deny rule that was dropped would open what it closes.
func compile(list string, rules []Rule) ([]matcher, error) {
	var out []matcher
	var errs []error
	for _, r := range rules {
		m := matcher{rule: r, names: map[string]bool{}}
		for name := range strings.SplitSeq(r.Text, "|") {
			name = strings.TrimSpace(name)
			if bad := m.add(name); bad != "" {
				errs = append(errs, fmt.Errorf("permission: %w", &meta.Error{
					Origin: r.Origin, Key: "permissions." + list, Message: fmt.Sprintf("rule %q: %s", r.Text, bad),
				}))
			}
		}
		out = append(out, m)
	}
	return out, errors.Join(errs...)
}

// add takes one name into the rule, or says what to write instead.
func (m *matcher) add(name string) (bad string) {
	base, _, pattern := strings.Cut(name, "(")
	switch {
	case name == "":
		return "an empty name: write a tool's name, or remove the entry"
	case name == "*":
		m.all = true
		return ""
	case pattern:
		return fmt.Sprintf("patterns are not understood yet: write %q for every call of the tool, or remove the entry", strings.TrimSpace(base))
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		return "not a tool's name: write the whole name of a tool, several joined by |, or *"
	case serverOnly(name):
		return fmt.Sprintf("names a server and no tool: write the tools' whole names, such as %q", name+"__NAME")
	}
	name = strings.ToLower(name)
	m.names[name] = true
	m.edits = m.edits || name == "edit"
	return ""
}

func nameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// serverOnly reports whether a name stands for all tools of a server, as in `mcp__github`.
func serverOnly(name string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(name), "mcp__")
	return ok && !strings.Contains(strings.Trim(rest, "_"), "__")
}

// match reports whether the rule is about a tool. opening says that it would allow: an edit rule then covers only
// tools that do nothing but edit.
func (m *matcher) match(t *toolview.Tool, opening bool) bool {
	if m.all || m.names[strings.ToLower(t.Name)] {
		return true
	}
	for _, a := range t.Aliases {
		if m.names[strings.ToLower(a)] {
			return true
		}
	}
	if !m.edits {
		return false
	}
	if opening {
		return onlyEdits(t.Effects)
	}
	return t.Effects.Has(toolview.Edits)
}

// first is the first rule about a tool.
func first(rules []matcher, t *toolview.Tool, opening bool) (*Rule, bool) {
	for i := range rules {
		if rules[i].match(t, opening) {
			return &rules[i].rule, true
		}
	}
	return nil, false
}

// Unmatched lists the rules that no tool of the given groups could ever meet, with the nearest names. Tools of closed
// middlewares count as known.
func (o Options) Unmatched(bands []toolview.Band) []meta.Diagnostic {
	words := map[string]bool{"*": true, "edit": true}
	var names []string
	for _, b := range bands {
		for _, t := range b.Set.All() {
			names = append(names, t.Name)
			for _, w := range append([]string{t.Name}, t.Aliases...) {
				words[strings.ToLower(w)] = true
			}
		}
	}
	var out []meta.Diagnostic
	for _, l := range o.lists() {
		for _, r := range l.rules {
			for name := range strings.SplitSeq(r.Text, "|") {
				name = strings.TrimSpace(name)
				if words[strings.ToLower(name)] {
					continue
				}
				d := meta.Diagnostic{
					Severity: meta.SeverityWarning, Code: "unmatched_rule", Key: "permissions." + l.name, Origin: r.Origin,
					Message: fmt.Sprintf("%q is no tool of this session", name),
				}
				if near := meta.Nearest(name, names); len(near) > 0 {
					d.Suggestion = "did you mean " + strings.Join(near, ", ") + "?"
				}
				out = append(out, d)
			}
		}
	}
	return out
}
