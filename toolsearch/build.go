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
	scan  scan
	doc   uint32 // the tool at hand

	field  field
	terms  []uint32  // of the tool at hand
	acc    []float32 // by term: its weighted count in the tool
	part   []uint32  // terms of the field at hand
	number []float32 // by term: its count in the field
	length float32   // of the field
	seen   []uint32  // by form: the last tool that had it, plus one
	all    []occurrence
}

type occurrence struct {
	term, doc uint32
	impact    uint16
}

func build(lex *lexicon, tune *tuning, texts []text) *segment {
	b := &builder{
		segment: &segment{tools: len(texts), nameEnd: []uint32{0}, leadEnd: []uint32{0}},
		lex:     lex, tune: tune,
	}
	b.group = slices.Repeat([]uint32{none}, 2*len(lex.lines))
	for i := range texts {
		b.doc = uint32(i)
		b.read(&texts[i])
	}
	b.arrange()
	b.spell = newSpeller(&b.words)
	return b.segment
}

func (b *builder) read(t *text) {
	of, own := server(t.name)
	b.add(inName, own)
	for _, term := range b.part {
		if !isGroup(b.key(term)) {
			b.names = append(b.names, term)
		}
	}
	b.nameEnd = append(b.nameEnd, uint32(len(b.names)))
	b.close()
	b.add(inTitle, t.title)
	b.close()
	b.add(inDoc, t.doc)
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

func (b *builder) arguments(raw []byte) {
	if len(raw) == 0 {
		return
	}
	b.scan.read(raw)
	for _, n := range b.scan.names {
		b.add(inParams, n)
	}
	b.close()
	for _, d := range b.scan.docs {
		b.add(inSchema, d)
	}
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
	hash := wordHash(w)
	// A name keeps its stopwords, since nothing but a name may consist of them.
	if b.tune.stopwords && b.field != inName && b.lex.isStop(hash, w) {
		return
	}
	form := b.words.at(hash, w)
	if form == none || b.formTerm[form] == none {
		form = b.form(w, k)
	}
	term := b.formTerm[form]
	if b.field <= inDoc {
		if b.seen[form] != b.doc+1 {
			b.seen[form] = b.doc + 1
			b.formCount[form]++
		}
		if k != whole && len(b.leads)-int(b.leadEnd[b.doc]) < mostLead {
			b.leads = append(b.leads, term)
		}
	}
	b.one(term)
	if known := b.senses[term]; known != nil && b.tune.group > 0 {
		for _, side := range known.sides {
			b.one(b.group[side])
		}
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

// form numbers a word that is not known as a form yet.
func (b *builder) form(w []byte, k kind) uint32 {
	key := w
	if k < pair && b.tune.stem {
		key = []byte(stem(string(w)))
	}
	term := b.enter(key)
	form := b.wordNumber(w)
	b.formTerm[form] = term
	return form
}

// wordNumber is the number of a word, a new one when it has none.
func (b *builder) wordNumber(w []byte) uint32 {
	if n := find(&b.words, w); n != none {
		return n
	}
	b.formTerm, b.keyTerm = append(b.formTerm, none), append(b.keyTerm, none)
	b.formCount, b.seen = append(b.formCount, 0), append(b.seen, 0)
	return b.words.add(w)
}

// enter is the term of a key, a new one when it has none.
func (b *builder) enter(key []byte) uint32 {
	w := b.wordNumber(key)
	if b.keyTerm[w] != none {
		return b.keyTerm[w]
	}
	term := uint32(len(b.keys))
	b.keyTerm[w] = term
	known := of(b.lex, key)
	b.keys, b.count, b.senses = append(b.keys, w), append(b.count, 0), append(b.senses, known)
	b.acc, b.number = append(b.acc, 0), append(b.number, 0)
	if known != nil && b.tune.group > 0 {
		for _, side := range known.sides {
			if b.group[side] == none {
				b.group[side] = b.enter([]byte(groupKey(side)))
			}
		}
	}
	return term
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
	b.called = slices.Clone(slices.Compact(b.called))
	b.callable = make([]uint64, 1+len(b.called)/4)
	for _, c := range b.called {
		b.callable[c.hash>>6%uint32(len(b.callable))] |= 1 << (c.hash % 64)
	}
	b.names, b.leads = slices.Clone(b.names), slices.Clone(b.leads)
	b.keys, b.count, b.senses = slices.Clone(b.keys), slices.Clone(b.count), slices.Clone(b.senses)
	b.formTerm, b.keyTerm, b.formCount = slices.Clone(b.formTerm), slices.Clone(b.keyTerm), slices.Clone(b.formCount)
	b.words.clip()
}
