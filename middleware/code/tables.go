package code

import "strings"

// tables is what can be told of a TOML file without parsing it whole: its tables, and the texts that stand in one line
// of them. What it does not understand is left out.
type tables map[string]map[string]string

func parseTables(text string) tables {
	out := tables{}
	at, open := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if open != "" { // inside a text of several lines
			if strings.Contains(line, open) {
				open = ""
			}
			continue
		}
		if strings.HasPrefix(line, "[") {
			head, _, ok := strings.Cut(strings.TrimLeft(line, "["), "]")
			if ok && !strings.Contains(head, "=") {
				at = strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(head), `"`, ""), " ", "")
				out.table(at)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		for _, q := range []string{`"""`, "'''"} {
			if rest, ok := strings.CutPrefix(value, q); ok && !strings.Contains(rest, q) {
				open = q
			}
		}
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && open == "" {
			if s, _, ok := strings.Cut(value[1:], value[:1]); ok {
				out.table(at)[strings.TrimSpace(key)] = s
			}
		}
	}
	return out
}

func (t tables) table(name string) map[string]string {
	if t[name] == nil {
		t[name] = map[string]string{}
	}
	return t[name]
}

// has reports whether there is such a table, or one below it.
func (t tables) has(name string) bool {
	for at := range t {
		if at == name || strings.HasPrefix(at, name+".") {
			return true
		}
	}
	return false
}

func (t tables) text(table, key string) string { return t[table][key] }
