package toolsearch

import "strings"

// none is the number of a term that a segment does not have.
const none = ^uint32(0)

// text is what of a tool is read.
type text struct {
	name, title, doc, owner, category, family string
	aliases                                   []string
	schema                                    []byte
}

// segment is the words of some tools, numbered as they were given. It is immutable and holds nothing of the tools but
// words and numbers: not whose they are, how they run, or any state. So segments can be shared by sessions.
type segment struct {
	tools     int
	forms     map[string]uint32 // a word as it is written, in lower case → its number
	formTerm  []uint32          // a form's term
	formCount []uint32          // the tools whose name, title or doc has a form
	spell     *speller          // over the forms
	stems     map[string]uint32 // the key of a term that is no form → its number
	group     []uint32          // by side of a group: its term, none where no tool has a word of it
	keys      []string          // a term's key: a stem, CJK, or a group's
	kinEnd    []uint32          // of a term in kins; one more than terms
	kins      []uint32          // the groups of terms
	count     []uint32          // the tools that have a term
	start     []uint32          // where a term's postings begin; one more than terms
	docs      []uint32          // postings: the tool, in order,
	impact    []uint16          // and the saturated weight of the term in it, 65535 = 1
	nameEnd   []uint32          // of a tool in names and in leads; one more than tools
	names     []uint32          // the terms of names
	leadEnd   []uint32
	leads     []uint32 // the terms of name, title and doc in order, the first of them
	called    []called // by hash
}

// called is a name that a tool goes by.
type called struct {
	hash uint32
	doc  uint32
}

// mostLead is how many words of name, title and doc are kept in order.
const mostLead = 48

// term finds the number of a stem's term.
func (g *segment) term(key string) uint32 {
	if form, ok := g.forms[key]; ok {
		if t := g.formTerm[form]; g.keys[t] == key {
			return t
		}
	}
	if t, ok := g.stems[key]; ok {
		return t
	}
	return none
}

// kin are the groups of a term.
func (g *segment) kin(term uint32) []uint32 { return g.kins[g.kinEnd[term]:g.kinEnd[term+1]] }

// server splits a name at its last "__": behind it is the tool's own name, before it whose the tool is. Of three parts
// the first is the kind of source and says nothing.
func server(name string) (of, own string) {
	at := strings.LastIndex(name, "__")
	if at <= 0 || at+2 == len(name) {
		return "", name
	}
	of, own = name[:at], name[at+2:]
	if kind, rest, ok := strings.Cut(of, "__"); ok && kind != "" && rest != "" {
		of = rest
	}
	return of, own
}

// lead cuts a doc behind its first sentence.
func lead(doc string) (first, rest string) {
	const least = 8 // bytes: "e.g." and "1." are no sentences
	doc = strings.TrimSpace(doc)
	for i := least; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '\n',
			(c == '.' || c == '!' || c == '?') && i+1 < len(doc) && (doc[i+1] == ' ' || doc[i+1] == '\n'),
			c == 0xE3 && strings.HasPrefix(doc[i:], "。"):
			return doc[:i], doc[i:]
		}
	}
	return doc, ""
}

// nameHash is FNV-1a over a name, letters a to z in lower case.
func nameHash(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
