package permission

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Rule is one entry of an allow, ask or deny list with the place where somebody wrote it; toolview.ParseRule has its
// grammar. `Edit` stands for every edit of a file, whichever tool makes it.
type Rule struct {
	Text   string      `json:"text"`
	Origin meta.Origin `json:"origin"`
}

// rule is a compiled rule about one tool; one that names several with `|` makes several.
type rule struct {
	toolview.Rule
	scoped, edits bool
}

// compile refuses what it cannot enforce: a deny rule that was dropped would open what it closes.
func compile(list string, rules []Rule) ([]rule, error) {
	var out []rule
	var errs []error
	for _, r := range rules {
		parsed, err := toolview.ParseRule(r.Text, r.Origin)
		if err != nil {
			errs = append(errs, fmt.Errorf("permission: %w", placed(err, list, r)))
			continue
		}
		for _, one := range parsed.Each() {
			out = append(out, rule{Rule: one, scoped: one.Scoped(), edits: one.Edits()})
		}
	}
	return out, errors.Join(errs...)
}

// placed gives an error of the grammar its key.
func placed(err error, list string, r Rule) error {
	var e *meta.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Key, c.Origin = "permissions."+list, r.Origin
	return &c
}

// covers reports whether a restricting rule is about every call of a tool. A rule about edits is about every tool that
// edits, also when it does not say what.
func (r *rule) covers(c *toolview.Call) bool {
	t := c.Tool()
	if r.scoped {
		return false
	}
	return r.edits && t.Effects.Has(toolview.Edits) || r.Restricts(c.Owner(), &t.Decl, toolview.Subject{}, toolview.Place{}) == toolview.Meets
}

// about reports whether a scoped restricting rule may be about some call of the tool.
func (r *rule) about(c *toolview.Call) bool {
	t := c.Tool()
	return r.Covers(c.Owner(), &t.Decl) || r.edits && (t.Effects&(toolview.Edits|toolview.Runs) != 0 || t.Effects.Has(toolview.Internal) && t.Subjects != nil)
}

// opens reports whether a rule without a scope allows every call of a tool. One about edits allows tools that do nothing
// else.
func (r *rule) opens(c *toolview.Call) bool {
	t := c.Tool()
	return !r.scoped && (r.Selects(c.Owner(), &t.Decl) || r.edits && onlyEdits(t.Effects))
}

// allows reports whether a rule allows one subject of a call.
func (r *rule) allows(c *toolview.Call, s toolview.Subject, at toolview.Place) bool {
	t := c.Tool()
	if !r.Selects(c.Owner(), &t.Decl) && !(r.edits && s.Kind == toolview.Path && s.Edit) {
		return started(c) && s.Kind == toolview.Command && r.Covers(c.Owner(), &t.Decl) && r.Matches(c.Owner(), &t.Decl, s, at)
	}
	return r.Matches(c.Owner(), &t.Decl, s, at)
}

// started reports whether a call starts a command as Bash does, so that what allows a command there allows it here.
func started(c *toolview.Call) bool {
	t := c.Tool()
	return t.Effects.Has(toolview.Runs) && len(t.DeniedWith) > 0
}

// Unmatched lists what of the rules no tool of the given groups could ever meet, with the nearest names. Tools of closed
// middlewares count as known.
func (o Options) Unmatched(bands []toolview.Band) []meta.Diagnostic {
	var out []meta.Diagnostic
	for _, l := range o.lists() {
		for _, r := range l.rules {
			parsed, err := toolview.ParseRule(r.Text, r.Origin)
			if err != nil {
				continue // New refuses it
			}
			for _, one := range parsed.Each() {
				if !one.Edits() { // whoever edits, a command too, is met by these
					out = append(out, one.Unmatched("permissions."+l.name, bands)...)
				}
			}
			out = append(out, inert(l.name, r)...)
		}
	}
	for i := range out {
		if out[i].Code == "unmatched_selector" {
			out[i].Code = "unmatched_rule"
		}
	}
	return out
}

// inert reports a rule that reads as if it did something and never can.
func inert(list string, r Rule) []meta.Diagnostic {
	d := meta.Diagnostic{Severity: meta.SeverityWarning, Code: "inert_rule", Key: "permissions." + list, Origin: r.Origin}
	name, scope, scoped := strings.Cut(strings.TrimSuffix(strings.TrimSpace(r.Text), ")"), "(")
	name, scope = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(scope)
	if !scoped || strings.Contains(r.Text, "|") {
		return nil
	}
	switch {
	case list == "allow" && (name == "bashstdin" || name == "bash_stdin"):
		d.Message, d.Suggestion = "what is typed into a running command is never allowed by a pattern", "remove it"
	case commands[name] && hidden(scope) && list == "allow":
		d.Message = fmt.Sprintf("%q can never match: commands in one line are judged one by one", r.Text)
		d.Suggestion = "write one rule for each command"
	case commands[name] && strings.HasPrefix(scope, "domain:"):
		d.Message, d.Suggestion = fmt.Sprintf("%q can never match: a command has no domain", r.Text), "write Bash(curl *), or WebFetch("+scope+")"
	case files[name] && strings.HasPrefix(scope, "../"):
		d.Message = fmt.Sprintf("%q can never match: patterns of paths begin in the project, with / or with ~/", r.Text)
		d.Suggestion = "write the whole path"
	default:
		return nil
	}
	return []meta.Diagnostic{d}
}

var (
	commands = map[string]bool{"bash": true, "bashstart": true, "bash_start": true, "shell": true, "terminal": true, "command": true}
	files    = map[string]bool{"read": true, "write": true, "edit": true, "glob": true, "grep": true, "ls": true}
)

// hidden reports whether a pattern of commands holds an operator outside of quotes, which no single command has.
func hidden(scope string) bool {
	for _, op := range []string{" && ", " || ", "; ", " | "} {
		if i := strings.Index(scope, op); i > 0 && !strings.ContainsAny(scope[:i], `'"`+"`"+`\(`) {
			return true
		}
	}
	return false
}
