package closuretest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mentions are the names that a text may mean, told apart by how they stand in it.
type mentions struct {
	bare   map[string]bool // words
	quoted map[string]bool // words in backticks or quotes
	slash  map[string]bool // words behind a slash that begins them
}

// word is a run that a tool's name could be.
var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// command is a slash command; what stands before and behind it is looked at apart.
var command = regexp.MustCompile(`/([A-Za-z][A-Za-z0-9_-]*(?::[A-Za-z0-9_-]+)?)`)

// alone are the names that count as bare words although they look like ordinary ones.
var alone = [...]string{"Bash", "Glob", "Grep", "LS", "LSP"}

// distinct reports whether a bare word is enough to mean a tool: an inner capital, a digit or _, or one of alone.
func distinct(name string) bool {
	for i, r := range name {
		if r == '_' || unicode.IsDigit(r) || i > 0 && unicode.IsUpper(r) {
			return true
		}
	}
	return slices.Contains(alone[:], name)
}

// tool reports whether the text names a tool.
func (m *mentions) tool(name string) bool {
	return m.quoted[name] || m.bare[name] && distinct(name)
}

// scan reads a text once. Lines are looked at by themselves, so that a stray backtick spoils no more than its own.
func scan(text string) *mentions {
	m := &mentions{bare: map[string]bool{}, quoted: map[string]bool{}, slash: map[string]bool{}}
	for line := range strings.Lines(text) {
		m.line(line)
	}
	return m
}

func (m *mentions) line(line string) {
	code := spans(line)
	for _, at := range word.FindAllStringIndex(line, -1) {
		from, to := at[0], at[1]
		before, behind := edge(line[:from], true), edge(line[to:], false)
		quoted := isQuote(before) && isQuote(behind)
		for _, span := range code {
			quoted = quoted || span[0] <= from && to <= span[1]
		}
		// A part of a path or of a selector is another word.
		part := before == '.' || before == '/' || behind == '.' && to+1 < len(line) && unicode.IsLetter(rune(line[to+1]))
		m.add(line[from:to], quoted && !part)
	}
	for _, at := range command.FindAllStringSubmatchIndex(line, -1) {
		before, behind := edge(line[:at[0]], true), edge(line[at[1]:], false)
		path := before == '/' || before == '.' || before == '~' || before == '_' || before == '-' || before == '}' || before == '>' ||
			unicode.IsLetter(before) || unicode.IsDigit(before)
		file := behind == '/' || behind == '.' && at[1]+1 < len(line) && unicode.IsLetter(rune(line[at[1]+1]))
		if !path && !file {
			m.slash[line[at[2]:at[3]]] = true
		}
	}
}

// add counts a word, its parts between hyphens, and what is left of it without marks of emphasis.
func (m *mentions) add(w string, quoted bool) {
	forms := []string{w, strings.Trim(w, "-"), strings.Trim(w, "_-")}
	if strings.Contains(w, "-") {
		forms = append(forms, strings.Split(w, "-")...)
	}
	for _, f := range forms {
		m.bare[f] = true
		if quoted {
			m.quoted[f] = true
		}
	}
}

// spans are the pieces of a line between single backticks.
func spans(line string) (out [][2]int) {
	from := -1
	for i := 0; i < len(line); i++ {
		if line[i] != '`' {
			continue
		}
		n := i
		for n < len(line) && line[n] == '`' {
			n++
		}
		if n-i < 3 {
			if from < 0 {
				from = n
			} else {
				out, from = append(out, [2]int{from, i}), -1
			}
		}
		i = n - 1
	}
	return out
}

// edge is the last rune of what stands before a word, or the first of what stands behind it; 0 = none.
func edge(s string, last bool) rune {
	if s == "" {
		return 0
	}
	runes := []rune(s)
	if last {
		return runes[len(runes)-1]
	}
	return runes[0]
}

func isQuote(r rune) bool { return r != 0 && strings.ContainsRune("\"'`“”‘’«»", r) }

// piece is one text of a schema. Exact ones are values and names, which are a mention as a whole alone.
type piece struct {
	at, text string
	exact    bool
	property bool
}

// pieces are the texts of a JSON Schema in a fixed order.
func pieces(schema json.RawMessage) []piece {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil
	}
	var out []piece
	walk(v, "", &out)
	return out
}

func walk(v any, at string, out *[]piece) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			walk(x, at, out)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			switch k {
			case "description", "title", "$comment":
				if s, ok := v[k].(string); ok {
					*out = append(*out, piece{at: at + "/" + k, text: s})
					continue
				}
			case "enum", "const", "default", "examples":
				values(v[k], at+"/"+k, out)
				continue
			case "properties":
				if props, ok := v[k].(map[string]any); ok {
					for _, name := range sorted(props) {
						*out = append(*out, piece{at: at + "/properties", text: name, exact: true, property: true})
					}
				}
			}
			walk(v[k], at+"/"+k, out)
		}
	}
}

// values are all strings below a keyword whose values are data.
func values(v any, at string, out *[]piece) {
	switch v := v.(type) {
	case string:
		*out = append(*out, piece{at: at, text: v, exact: true})
	case []any:
		for _, x := range v {
			values(x, at, out)
		}
	case map[string]any:
		for _, k := range sorted(v) {
			values(v[k], at, out)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
