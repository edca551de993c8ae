package skills

import (
	"regexp"
	"strconv"
	"strings"
)

// placeholder is $ARGUMENTS, $ARGUMENTS[0], or $1 to $9. Longer words and numbers ($ARGUMENTS_DIR, $10) are none.
var placeholder = regexp.MustCompile(`\$(ARGUMENTS\[\d{1,3}\]|ARGUMENTS\b|[1-9]\b)`)

// substitute puts arguments into a text, once: $ARGUMENTS is all of them, $1 the first, $ARGUMENTS[0] the first too. One
// that is not among them is empty. Without any, numbers stay: they may as well be a script's. placed says whether the text
// had a place for arguments.
func substitute(text, args string) (out string, placed bool) {
	args = strings.TrimSpace(args)
	words := split(args)
	out = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case found == "$ARGUMENTS":
			placed = true
			return args
		case args == "":
			return found
		}
		placed = true
		n, first := strings.CutPrefix(found, "$ARGUMENTS[")
		i, _ := strconv.Atoi(strings.Trim(n, "$]"))
		if !first {
			i--
		}
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	})
	return out, placed
}

// split cuts arguments at blanks; what stands in quotes is one.
func split(args string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case (r == '"' || r == '\'') && !begun:
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if begun {
		out = append(out, word.String())
	}
	return out
}
