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
	words     table    // forms, which are words as they are written, in lower case; and the keys of terms
	formTerm  []uint32 // by word: its term as a form, none when it is no form
	keyTerm   []uint32 // by word: the term whose key it is, none when it is no key
	formCount []uint32 // by word: the tools whose name, title or doc has the form
	spell     *speller // over the words
	group     []uint32 // by side of a group: its term, none where no tool has a word of it
	keys      []uint32 // by term: the word that is its key, which is a stem, CJK, or a group's
	senses    []*sense // by term: nil when nothing is known of it
	count     []uint32 // the tools that have a term
	start     []uint32 // where a term's postings begin; one more than terms
	docs      []uint32 // postings: the tool, in order,
	impact    []uint16 // and the saturated weight of the term in it, 65535 = 1
	nameEnd   []uint32 // of a tool in names and in leads; one more than tools
	names     []uint32 // the terms of names
	leadEnd   []uint32
	leads     []uint32 // the terms of name, title and doc in order, the first of them
	called    []called // by hash
	callable  []uint64 // has a bit for the hash of each name: what it has none for is no name
}

// called is a name that a tool goes by.
type called struct {
	hash uint32
	doc  uint32
}

// mostLead is how many words of name, title and doc are kept in order.
const mostLead = 48

// termOf finds the number of a stem's term.
func termOf[T string | []byte](g *segment, key T) uint32 {
	if w := find(&g.words, key); w != none {
		return g.keyTerm[w]
	}
	return none
}

// key is that of a term.
func (g *segment) key(term uint32) []byte { return g.words.word(g.keys[term]) }

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
