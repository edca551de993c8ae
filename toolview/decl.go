package toolview

import (
	"slices"
	"strings"
)

// Decl is what selectors need to know of a tool. Every word that selects it stands here, at its owner's, and nowhere
// else.
type Decl struct {
	// Name is what the model calls: ^[a-zA-Z0-9_-]{1,64}$.
	Name string
	// Aliases are names that other harnesses use. They are shown nowhere and count only when no tool in the view
	// has that very name.
	Aliases []string
	// Family groups tools under one selector word ("web", "todo"); "" = none. Groups are further words that select it:
	// synonyms of the family ("restapi") and presets ("pi").
	Family   string
	Groups   []string
	Category string
	// Private keeps the tool out of the selector `*`.
	Private bool
	// DeniedWith are names of tools whose deny covers this one too, and AllowedWith those that bring it along where an
	// allow list names them literally.
	DeniedWith, AllowedWith []string
	// Server and Leaf are the identity of a tool that a server or source brings: what it is called in the settings,
	// and what that calls the tool. Selectors compare them and not the qualified name.
	Server, Leaf string

	// What selectors compare, lower case: the name, and every word and identity that selects the tool.
	low                     string
	words, deniedBy, listed []string
}

// fold prepares what selectors compare.
func (d *Decl) fold() {
	d.low = strings.ToLower(d.Name)
	d.words = append(lowerAll([]string{d.Name, d.Family}, d.Aliases, d.Groups), d.identities()...)
	d.deniedBy, d.listed = lowerAll(d.DeniedWith), lowerAll(d.AllowedWith)
}

// identities are the keys of every identity without wildcards that means the tool.
func (d *Decl) identities() []string {
	if d.Server == "" {
		return nil
	}
	kinds := lowerAll([]string{d.Family}, d.Groups)
	for i, k := range kinds {
		kinds[i] = familyKey(k)
	}
	if prefix, _, ok := strings.Cut(d.low, "__"); ok {
		kinds = append(kinds, prefixKey(prefix))
	}
	var out []string
	server, leaf := strings.ToLower(d.Server), strings.ToLower(d.Leaf)
	for _, k := range kinds {
		for _, s := range lowerAll([]string{server, safe(server)}) {
			out = append(out, k+"\n"+s+"\n")
			for _, l := range lowerAll([]string{leaf, safe(leaf)}) {
				out = append(out, k+"\n"+s+"\n"+l)
			}
		}
	}
	return out
}

func familyKey(word string) string   { return "family " + word }
func prefixKey(prefix string) string { return "prefix " + prefix }

func lowerAll(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		for _, w := range l {
			if w = strings.ToLower(w); w != "" && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

func (d *Decl) lowered() string {
	if d.low != "" {
		return d.low
	}
	return strings.ToLower(d.Name)
}

// hasWord reports whether a lower-case word selects the tool.
func (d *Decl) hasWord(word string) bool {
	if word == "" {
		return false
	}
	return strings.EqualFold(word, d.Name) || foldedIn(word, d.Aliases) || d.inGroup(word)
}

// inGroup reports whether a lower-case word is a family or preset of the tool.
func (d *Decl) inGroup(word string) bool {
	return strings.EqualFold(word, d.Family) || foldedIn(word, d.Groups)
}

// hasPrefix reports whether the tool's name is qualified by a prefix.
func (d *Decl) hasPrefix(prefix string) bool {
	name := d.lowered()
	return len(name) > len(prefix)+2 && name[:len(prefix)] == prefix && name[len(prefix):len(prefix)+2] == "__"
}

func foldedIn(word string, list []string) bool {
	for _, w := range list {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// safe is a text with what a tool's name cannot hold replaced.
func safe(text string) string {
	if nameRunes(text, "") {
		return text
	}
	b := []byte(text)
	for i, c := range b {
		if !nameByte(c) {
			b[i] = '_'
		}
	}
	return string(b)
}
