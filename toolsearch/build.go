package toolsearch

import (
	"cmp"
	"slices"
)

// builder reads tools into a segment.
type builder struct {
	*segment
	lex   *lexicon
	tune  *tuning
	split splitter
	doc   uint32 // the tool at hand
	words []string

	field     field
	terms     []uint32  // of the tool at hand
	acc       []float32 // by term: its weighted count in the tool
	part      []uint32  // terms of the field at hand
	number    []float32 // by term: its count in the field
	length    float32   // of the field
	seen      []uint32  // by form: the last tool that had it, plus one
	all       []occurrence
	relations [][]uint32 // by term: its groups
}

type occurrence struct {
	term, doc uint32
	impact    uint16
}

func build(lex *lexicon, tune *tuning, texts []text) *segment {
	b := &builder{
		segment: &segment{tools: len(texts), forms: map[string]uint32{}, stems: map[string]uint32{}, nameEnd: []uint32{0}, leadEnd: []uint32{0}},
		lex:     lex, tune: tune,
	}
	b.group = slices.Repeat([]uint32{none}, 2*len(lex.lines))
	for i := range texts {
		b.doc = uint32(i)
		b.read(&texts[i])
	}
	b.spell = newSpeller(b.words)
	b.arrange()
	b.related()
	return b.segment
}

func (b *builder) read(t *text) {
	of, own := server(t.name)
	b.add(inName, own)
	for _, term := range b.part {
		if !isGroup(b.keys[term]) {
			b.names = append(b.names, term)
		}
	}
	b.nameEnd = append(b.nameEnd, uint32(len(b.names)))
	b.close()
	b.add(inTitle, t.title)
	b.close()
	first, rest := lead(t.doc)
	b.add(inDoc, first)
	b.close()
	b.add(inRest, rest)
	b.close()
	b.leadEnd = append(b.leadEnd, uint32(len(b.leads)))
	for _, s := range [...]string{of, t.owner, t.category, t.family} {
		b.add(inServer, s)
	}
	b.close()
	b.arguments(t.schema)
	for _, term := range b.terms {
		w := b.acc[term]
		b.acc[term] = 0
		b.count[term]++
		b.all = append(b.all, occurrence{term, b.doc, uint16(65535 * w / (b.tune.k1 + w))})
	}
	b.terms = b.terms[:0]
	b.call(t.name)
	if own != t.name {
		b.call(own)
	}
	for _, a := range t.aliases {
		b.call(a)
	}
}

func (b *builder) call(name string) {
	b.called = append(b.called, called{nameHash(name), b.doc})
}

// arguments reads a schema twice, since a field is counted as a whole before the next.
func (b *builder) arguments(raw []byte) {
	if len(raw) == 0 {
		return
	}
	skip := func(string) {}
	names := scan{raw: raw, name: func(n string) { b.add(inParams, n) }, doc: skip}
	names.value(aSchema, 0)
	b.close()
	docs := scan{raw: raw, name: skip, doc: func(d string) { b.add(inSchema, d) }}
	docs.value(aSchema, 0)
	b.close()
}

// add counts the words of one text in a field.
func (b *builder) add(f field, text string) {
	if text == "" {
		return
	}
	b.field = f
	b.split.each(text, b.word)
}

func (b *builder) word(w []byte, k kind) {
	if !b.tune.pairs && k >= pair || !b.tune.humps && k == part || k == lone && b.tune.lone == 0 {
		return
	}
	// A name keeps its stopwords, since nothing but a name may consist of them.
	if b.tune.stopwords && b.field != inName && b.lex.stop[string(w)] {
		return
	}
	form, known := b.forms[string(w)]
	if !known {
		form = b.form(string(w), k)
	}
	term := b.formTerm[form]
	if b.field <= inRest {
		if b.seen[form] != b.doc+1 {
			b.seen[form] = b.doc + 1
			b.formCount[form]++
		}
		if k != whole && len(b.leads)-int(b.leadEnd[b.doc]) < mostLead {
			b.leads = append(b.leads, term)
		}
	}
	b.one(term)
	for _, g := range b.relations[term] {
		b.one(g)
	}
	if k != whole && k != lone {
		b.length++
	}
}

func (b *builder) one(term uint32) {
	if b.number[term] == 0 {
		b.part = append(b.part, term)
	}
	b.number[term]++
}

// close adds what was counted in a field to the tool.
func (b *builder) close() {
	if len(b.part) == 0 {
		return
	}
	f, tn := b.field, b.tune
	if tn.weight[f] == 0 {
		for _, term := range b.part {
			b.number[term] = 0
		}
		b.part, b.length = b.part[:0], 0
		return
	}
	each := tn.weight[f] / (1 - tn.slack[f] + tn.slack[f]*max(b.length/tn.mean[f], tn.floor))
	for _, term := range b.part {
		if b.acc[term] == 0 {
			b.terms = append(b.terms, term)
		}
		b.acc[term] += each * b.number[term]
		b.number[term] = 0
	}
	b.part, b.length = b.part[:0], 0
}

func (b *builder) form(w string, k kind) uint32 {
	key := w
	if k < pair && b.tune.stem {
		key = stem(w)
	}
	term := b.term(key)
	if term == none {
		term = b.enter(key, key == w)
		if b.tune.group > 0 {
			for _, g := range b.lex.groups[key] {
				side := sided(g, k >= pair)
				if b.group[side] == none {
					b.group[side] = b.enter(groupKey(side), false)
				}
				b.relations[term] = append(b.relations[term], b.group[side])
			}
		}
	}
	id := uint32(len(b.words))
	b.forms[w], b.words = id, append(b.words, w)
	b.formTerm, b.formCount, b.seen = append(b.formTerm, term), append(b.formCount, 0), append(b.seen, 0)
	return id
}

// enter makes a term. One whose key is a form is found by that.
func (b *builder) enter(key string, form bool) uint32 {
	id := uint32(len(b.keys))
	if !form {
		b.stems[key] = id
	}
	b.keys, b.relations, b.count = append(b.keys, key), append(b.relations, nil), append(b.count, 0)
	b.acc, b.number = append(b.acc, 0), append(b.number, 0)
	return id
}

// arrange sorts what occurred by term, and the names by hash.
func (b *builder) arrange() {
	b.start = make([]uint32, len(b.count)+1)
	for i, n := range b.count {
		b.start[i+1] = b.start[i] + n
	}
	next := slices.Clone(b.start)
	b.docs, b.impact = make([]uint32, len(b.all)), make([]uint16, len(b.all))
	for _, o := range b.all {
		at := next[o.term]
		next[o.term]++
		b.docs[at], b.impact[at] = o.doc, o.impact
	}
	slices.SortFunc(b.called, func(a, c called) int { return cmp.Or(cmp.Compare(a.hash, c.hash), cmp.Compare(a.doc, c.doc)) })
	b.called = slices.Compact(slices.Clip(b.called))
	b.names, b.leads = slices.Clip(b.names), slices.Clip(b.leads)
	b.keys, b.count = slices.Clip(b.keys), slices.Clip(b.count)
	b.formTerm, b.formCount = slices.Clip(b.formTerm), slices.Clip(b.formCount)
	b.spell.words = slices.Clip(b.spell.words)
}

// related lays out the groups of terms.
func (b *builder) related() {
	b.kinEnd = make([]uint32, 1, len(b.relations)+1)
	for _, r := range b.relations {
		b.kins = append(b.kins, r...)
		b.kinEnd = append(b.kinEnd, uint32(len(b.kins)))
	}
	b.kins = slices.Clip(b.kins)
}
