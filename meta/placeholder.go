package meta

import (
	"fmt"
	"slices"
	"strings"
)

// maxPlaceholder bounds the look-ahead for }}, so that a text of many {{ is not read many times.
const maxPlaceholder = 256

// Fill replaces every {{name}} of a text by what fill returns, and every \{{ by a literal {{. What fill puts in is not
// read again. A name that fill does not know stays as it is; overrides have none, since Freeze refuses them.
func Fill(text string, fill func(name string) (string, bool)) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	var b strings.Builder
	rest := text
	for {
		before, name, after, found := nextPlaceholder(rest)
		b.WriteString(strings.ReplaceAll(before, `\{{`, "{{"))
		if !found {
			return b.String()
		}
		if v, ok := fill(name); ok {
			b.WriteString(v)
		} else {
			b.WriteString(rest[len(before) : len(rest)-len(after)])
		}
		rest = after
	}
}

// nextPlaceholder cuts a text around its first placeholder: {{ and }} on one line, without a backslash before it.
// Blanks around the name do not count.
func nextPlaceholder(text string) (before, name, after string, found bool) {
	for at := 0; ; {
		i := strings.Index(text[at:], "{{")
		if i < 0 {
			return text, "", "", false
		}
		i += at
		if i > 0 && text[i-1] == '\\' {
			at = i + 2
			continue
		}
		inner, _, ok := strings.Cut(text[i+2:min(len(text), i+2+maxPlaceholder)], "}}")
		if !ok || strings.Contains(inner, "\n") {
			at = i + 2
			continue
		}
		return text[:i], strings.TrimSpace(inner), text[i+2+len(inner)+2:], true
	}
}

// checkPlaceholders finds the first placeholder that a segment's override may not have.
func checkPlaceholders(text string, k *Key) *Error {
	for rest := text; ; {
		before, name, after, found := nextPlaceholder(rest)
		if !found {
			return nil
		}
		if k.Cached || !slices.Contains(k.Vars, name) {
			line, column := position(text, len(text)-len(rest)+len(before))
			return &Error{
				Origin:     Origin{Line: line, Column: column},
				Message:    refusal(name, k),
				Suggestion: `write \{{ for a literal {{`,
			}
		}
		rest = after
	}
}

func refusal(name string, k *Key) string {
	switch {
	case k.Cached:
		return fmt.Sprintf("placeholder {{%s}} in a segment before the cache boundary, where none is allowed", name)
	case len(k.Vars) == 0:
		return fmt.Sprintf("unknown placeholder {{%s}}; this segment has none", name)
	}
	return fmt.Sprintf("unknown placeholder {{%s}}; this segment has {{%s}}", name, strings.Join(k.Vars, "}}, {{"))
}
