package plugin

import (
	"strings"

	"github.com/metaharness/peri/meta"
)

// Command is one slash command: a prompt with places for arguments.
type Command struct {
	Name string `json:"name"`
	Doc  string `json:"doc,omitempty"`
	Args string `json:"args,omitempty"`
	// Body is the prompt. $1 to $9 are its arguments and $ARGUMENTS all of them.
	Body string `json:"body"`
	// Tools narrow the turn that it starts; nil = nothing is narrowed.
	Tools   []string    `json:"tools"`
	ToolsAt meta.Origin `json:"tools_at,omitzero"`
	Origin  meta.Origin `json:"origin"`
}

// Prompt is the command with its arguments put in. When the body has no place for them, they are added behind it.
func (c *Command) Prompt(args string) string {
	args = strings.TrimSpace(args)
	words := split(args)
	var b strings.Builder
	placed, rest := false, c.Body
	for {
		at := strings.IndexByte(rest, '$')
		if at < 0 {
			break
		}
		b.WriteString(rest[:at])
		rest = rest[at:]
		switch {
		case strings.HasPrefix(rest, "$ARGUMENTS") && !named(rest[len("$ARGUMENTS"):]):
			b.WriteString(args)
			rest, placed = rest[len("$ARGUMENTS"):], true
		case len(rest) > 1 && rest[1] >= '1' && rest[1] <= '9' && !digit(rest[2:]):
			if n := int(rest[1] - '1'); n < len(words) {
				b.WriteString(words[n])
			}
			rest, placed = rest[2:], true
		default:
			b.WriteByte('$')
			rest = rest[1:]
		}
	}
	b.WriteString(rest)
	if !placed && args != "" {
		b.WriteString("\n\nArguments: " + args)
	}
	return b.String()
}

// named reports whether what follows makes a longer name of what stands before it.
func named(rest string) bool {
	return rest != "" && (rest[0] == '_' || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= 'a' && rest[0] <= 'z' || digit(rest))
}

func digit(rest string) bool { return rest != "" && rest[0] >= '0' && rest[0] <= '9' }

// split cuts arguments at blanks; quotes keep a text together, and one that does not end reaches to the end.
func split(args string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	in := false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'' && !in):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				out = append(out, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		out = append(out, word.String())
	}
	return out
}
