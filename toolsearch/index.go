// Package toolsearch finds deferred tools. An Index is derived from one View and from nothing else, so that what
// search can find is exactly what that View lets be called.
package toolsearch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// Index is the deferred tools of one View, ready to be searched. It is immutable: any number of goroutines may search
// it, and no lock is taken.
type Index struct {
	*core
	tools []toolview.Entry // by name
}

// New indexes the deferred tools of a view by itself. A nil view has none. Who follows a view through its changes, or
// serves several sessions, uses a Cache.
func New(v *toolview.View) *Index { return NewCache(1).Index(v, nil) }

// Len counts the tools that can be found.
func (x *Index) Len() int { return len(x.tools) }

// Digest is the SHA-256 over all that is read of the tools: of two indexes with one digest, every query finds the
// same names with the same scores.
func (x *Index) Digest() [sha256.Size]byte { return x.digest }

// deferred lists the tools of a view by name.
func deferred(v *toolview.View) []toolview.Entry {
	var tools []toolview.Entry
	if v != nil {
		for e := range v.Deferred() {
			tools = append(tools, e)
		}
	}
	byName := func(a, b toolview.Entry) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) }
	if !slices.IsSortedFunc(tools, byName) {
		slices.SortStableFunc(tools, byName)
	}
	return tools
}

func textOf(e *toolview.Entry) text {
	t := e.Tool
	return text{
		name: t.Name, title: t.Title, doc: t.Doc, owner: strings.TrimSuffix(e.Owner, "Middleware"),
		category: t.Category, family: t.Family, aliases: t.Aliases, schema: t.Schema,
	}
}

// same reports whether two tools read the same. Texts that a republished tool shares with its predecessor are not
// even compared.
func same(a, b *toolview.Entry) bool {
	x, y := a.Tool, b.Tool
	return a.Owner == b.Owner && (x == y || x.Name == y.Name && x.Title == y.Title && x.Doc == y.Doc &&
		x.Category == y.Category && x.Family == y.Family && bytes.Equal(x.Schema, y.Schema) && slices.Equal(x.Aliases, y.Aliases))
}

// digester sums texts.
type digester struct {
	h   hash.Hash
	buf []byte
}

func (d *digester) sum(t *text) (out sum) {
	d.h.Reset()
	put := func(s string) {
		d.buf = append(binary.AppendUvarint(d.buf, uint64(len(s))), s...)
	}
	d.buf = d.buf[:0]
	for _, s := range [...]string{t.name, t.title, t.doc, t.owner, t.category, t.family} {
		put(s)
	}
	d.buf = binary.AppendUvarint(d.buf, uint64(len(t.aliases)))
	for _, a := range t.aliases {
		put(a)
	}
	d.h.Write(d.buf)
	d.h.Write(t.schema)
	d.h.Sum(out[:0])
	return out
}

// differ is what changed from an index to a list of tools, both by name.
func differ(from *Index, tools []toolview.Entry) (ch *change, digest sum) {
	ch = &change{texts: make([]text, len(tools)), sums: make([]sum, len(tools)), kept: make([]uint32, len(tools))}
	d := digester{h: sha256.New()}
	old := 0
	drop := func() {
		ch.removed = append(ch.removed, removed{from.number[old], textOf(&from.tools[old])})
		old++
	}
	for i := range tools {
		e := &tools[i]
		ch.texts[i] = textOf(e)
		for old < len(from.tools) && from.tools[old].Tool.Name < e.Tool.Name {
			drop()
		}
		if old < len(from.tools) && same(&from.tools[old], e) {
			ch.kept[i], ch.sums[i] = from.number[old], from.sums[old]
			old++
			continue
		}
		ch.kept[i], ch.sums[i] = none, d.sum(&ch.texts[i])
	}
	for old < len(from.tools) {
		drop()
	}
	d.h.Reset()
	for i := range ch.sums {
		d.h.Write(ch.sums[i][:])
	}
	d.h.Sum(digest[:0])
	return ch, digest
}
