package toolview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Unmatched lists the selectors that no tool of the given groups could ever meet, with the nearest words. Names of
// closed middlewares' tools count as known, and so does what a server may bring later.
func (f *Frame) Unmatched(known []Band) []meta.Diagnostic {
	if f.free() {
		return nil
	}
	v := vocabulary(known)
	var out []meta.Diagnostic
	report := func(where string, l *list) {
		for i := range l.rules {
			out = append(out, v.unmatched(where, &l.rules[i])...)
		}
	}
	for i := range f.allow {
		report("tools.allow", &f.allow[i])
	}
	report("tools.deny", &f.deny)
	for _, k := range f.kinds {
		if k.allow != nil {
			report(string(k.kind)+".allowed", k.allow)
		}
		report(string(k.kind)+".disabled", &k.deny)
	}
	if f.rules != nil {
		for i := range f.rules.rules {
			out = append(out, v.unmatched("permission", &f.rules.rules[i])...)
		}
	}
	report("delegates", &f.lift)
	return out
}

// Unmatched reports the parts of a rule that no tool of the given groups could ever meet, under a key of the settings.
func (r *Rule) Unmatched(key string, known []Band) []meta.Diagnostic {
	return vocabulary(known).unmatched(key, r)
}

// words are what selectors can mean here.
type words struct {
	known []Band
	all   []string // as their owners spell them, sorted
}

func vocabulary(known []Band) words {
	seen := map[string]string{} // lower case → as its owner spells it
	know := func(list ...string) {
		for _, w := range list {
			if l := strings.ToLower(w); w != "" && seen[l] == "" {
				seen[l] = w
			}
		}
	}
	for _, b := range known {
		know("@" + b.Owner)
		for _, t := range b.Set.All() {
			know(t.Name, t.Family)
			know(t.Aliases...)
			know(t.Groups...)
		}
	}
	return words{known, slices.Sorted(maps.Values(seen))}
}

func (v words) unmatched(key string, r *Rule) []meta.Diagnostic {
	var out []meta.Diagnostic
	for i := range r.terms {
		t := &r.terms[i]
		if v.met(t) {
			if t.scope != nil && v.mute(t) {
				out = append(out, meta.Diagnostic{
					Severity: meta.SeverityWarning, Code: "inert_scope", Key: key, Origin: r.Origin,
					Message: fmt.Sprintf("%q has a pattern, and calls of its tool name nothing that a pattern could match", r.Text), Suggestion: "remove the parentheses",
				})
			}
			continue
		}
		d := meta.Diagnostic{
			Severity: meta.SeverityWarning, Code: "unmatched_selector", Key: key, Origin: r.Origin,
			Message: fmt.Sprintf("%q selects no tool of this session", t.said(r)),
		}
		word := t.word
		if t.kind == byOwner {
			word = "@" + word
		}
		if near := meta.Nearest(word, v.all); len(near) > 0 {
			d.Suggestion = "did you mean " + strings.Join(near, ", ") + "?"
		}
		out = append(out, d)
	}
	return out
}

// said is a term as it was written, where the rule is nothing else.
func (t *term) said(r *Rule) string {
	if len(r.terms) == 1 {
		return r.Text
	}
	if t.kind == byOwner {
		return "@" + t.word
	}
	return t.word
}

func (v words) met(t *term) bool {
	if t.kind == everyPublic || t.kind == everyTool {
		return true
	}
	if _, is := wordless[t.word]; is && t.kind == byWord {
		return true
	}
	for _, b := range v.known {
		if t.kind == byOwner && strings.EqualFold(t.word, b.Owner) {
			return true
		}
		for _, tool := range b.Set.All() {
			if t.selects(b.Owner, &tool.Decl) || t.under(&tool.Decl) {
				return true
			}
		}
		if b.Prefix != "" && t.foreseen(strings.ToLower(strings.TrimSuffix(b.Prefix, "__"))) {
			return true
		}
	}
	return false
}

// mute reports whether the tools that a term selects name nothing that a scope could judge.
func (v words) mute(t *term) bool {
	found := false
	for _, b := range v.known {
		for _, tool := range b.Set.All() {
			if !t.selects(b.Owner, &tool.Decl) {
				continue
			}
			if found = true; tool.Subjects != nil || tool.Server != "" {
				return false
			}
		}
	}
	return found
}

// foreseen reports whether a term is about tools that an owner may publish under its prefix.
func (t *term) foreseen(prefix string) bool {
	if t.kind == byWord && t.word == prefix {
		return true
	}
	for i := range t.reads {
		if t.reads[i].prefix == prefix {
			return true
		}
	}
	return false
}
