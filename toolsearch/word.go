package toolsearch

import (
	"bytes"
	"slices"
	"strings"
)

const mostWords = 192 // different words of a query that are looked up; a longer one says nothing more

// look takes one word of a query.
func (c *core) look(s *scratch, w []byte, k kind) {
	tn := c.tune
	if !tn.pairs && k >= pair || !tn.humps && k == part || s.different >= mostWords {
		return
	}
	hash := wordHash(w)
	if tn.stopwords && k < whole && c.lex.isStop(hash, w) {
		return
	}
	f := found{how: "word", kind: k, trust: s.weight}
	switch k {
	case lone:
		f.trust *= tn.lone
	case whole:
		f.trust /= 2 // its parts count too
	}
	c.find(s, hash, w, &f)
	s.at++
	if s.had(&f) {
		c.replace(s, f.df)
		return
	}
	if f.df == 0 && k < whole && tn.repair > 0 && !c.grouped(f.known) {
		near, stop := c.repair(s, w)
		if stop {
			return
		}
		if near != nil {
			f.key, f.how, f.known = near, "spelling", of(c.lex, near)
			f.df = c.terms(s, near)
			f.trust *= tn.repair
			if s.had(&f) {
				return
			}
		}
	}
	if f.df == 0 && (k == whole || k == lone) {
		return
	}
	if s.why {
		f.word = string(w)
	}
	c.count(s, &f)
}

// found is a word with the terms that it stands for, which are in the scratch.
type found struct {
	word, how string
	key       []byte
	kind      kind
	df        uint32
	trust     float32
	known     *sense
}

// had reports whether the query has had a word: one that tools have was placed, of any other the key is kept.
func (s *scratch) had(f *found) bool {
	if f.df > 0 {
		for i, t := range s.terms {
			if t != none && s.mark[i][t].place > 0 {
				return true
			}
		}
		s.different++
		return false
	}
	if find(&s.words, f.key) != none {
		return true
	}
	s.words.add(f.key)
	s.different++
	return false
}

// count adds what a word finds to the sentence.
func (c *core) count(s *scratch, f *found) {
	tn := c.tune
	if tn.fill > 0 && f.known != nil && f.known.fill {
		f.trust *= tn.fill
	}
	idf := c.worth(f.df)
	worth := idf * f.trust
	if f.df == 0 && f.kind == pair {
		worth *= strangers
	}
	// A word that most tools have carries no match.
	carries := !(c.live >= few && 2*int(f.df) > c.live)
	s.stamp++
	s.sentence += worth
	synonyms := tn.group > 0 && c.grouped(f.known)
	// A name or a number that no tool has is what a tool is to work on, and says nothing of which.
	if carries && (f.df > 0 || synonyms || !s.split.value) {
		s.telling++
		s.want += worth
		if f.df > 0 {
			s.known += worth
		} else if synonyms {
			s.known += worth * tn.proxy
		}
	}
	if f.df > 0 {
		c.post(s, f.trust, worth, carries, false)
		c.note(s, f.trust, true)
		if s.why {
			s.logged(f.word, string(f.key), f.how, f.trust, idf)
		}
	}
	if synonyms {
		c.synonyms(s, f, worth)
	}
}

// synonyms adds what the words of a word's groups find. Groups come in pairs of sides: first the word's own script.
func (c *core) synonyms(s *scratch, f *found, worth float32) {
	share := c.tune.group
	if f.df == 0 {
		share = c.tune.alone
	}
	for _, own := range f.known.sides {
		for _, side := range [2]uint16{own, own ^ 1} {
			df := c.kindred(s, side)
			if df == 0 {
				continue
			}
			counts := f.trust * share
			if side != own {
				counts = f.trust * max(share, c.tune.abroad)
			}
			c.post(s, counts, worth, f.df == 0, true)
			c.note(s, f.trust/2, false)
			if s.why {
				s.logged(f.word, groupKey(side), "synonym", counts, c.worth(df))
			}
		}
	}
}

const (
	// strangers is what an unknown pair of CJK characters counts: most pairs of a sentence are no words.
	strangers = 0.15
	// few is the number of tools below which no word can be called ubiquitous.
	few = 8
)

// replace places a word that the query has had, so that what stands together is seen wherever it does.
func (c *core) replace(s *scratch, df uint32) {
	if df == 0 {
		return
	}
	for i, t := range s.terms {
		if t != none && s.mark[i][t].place > 0 {
			s.mark[i][t].place = s.at
		}
	}
}

// find looks up a word and leaves its terms in s.terms. It needs no stem of a word that a tool has in this very form.
func (c *core) find(s *scratch, hash uint32, w []byte, f *found) {
	for i := range c.parts {
		p := &c.parts[i]
		form := p.words.at(hash, w)
		if form == none || p.formTerm[form] == none {
			continue
		}
		t := p.formTerm[form]
		f.key, f.known = p.key(t), p.senses[t]
		if len(c.parts) == 1 {
			s.terms, f.df = append(s.terms[:0], t), p.df[t]
		} else {
			f.df = c.terms(s, f.key)
		}
		return
	}
	f.key = w
	if f.kind < pair && c.tune.stem {
		f.key = []byte(stem(string(w)))
	}
	f.known, f.df = of(c.lex, f.key), c.terms(s, f.key)
}

// terms leaves the terms of a key in s.terms, one a piece, and returns how many tools have it.
func (c *core) terms(s *scratch, key []byte) (df uint32) {
	s.terms = s.terms[:0]
	for i := range c.parts {
		t := termOf(c.parts[i].segment, key)
		s.terms = append(s.terms, t)
		if t != none {
			df = c.parts[i].df[t]
		}
	}
	return df
}

// grouped reports whether any tool has a word of a word's groups.
func (c *core) grouped(known *sense) bool {
	if known == nil {
		return false
	}
	for _, side := range known.sides {
		for i := range c.parts {
			p := &c.parts[i]
			for _, t := range [2]uint32{p.group[side], p.group[side^1]} {
				if t != none && p.df[t] > 0 {
					return true
				}
			}
		}
	}
	return false
}

// kindred leaves the terms of a group's side in s.terms, one a piece, and returns how many tools have a word of it.
func (c *core) kindred(s *scratch, side uint16) (df uint32) {
	s.terms = s.terms[:0]
	for i := range c.parts {
		t := c.parts[i].group[side]
		s.terms = append(s.terms, t)
		if t != none {
			df = c.parts[i].df[t]
		}
	}
	return df
}

// repair is the key of the word that a mistyped one was meant to be, nil when there is none; of several, that which most
// tools have. stop says that it was meant to be a stopword.
func (c *core) repair(s *scratch, w []byte) (key []byte, stop bool) {
	if !spellable(w) {
		return nil, false
	}
	most := uint32(0)
	var word []byte
	for i := range c.parts {
		p := &c.parts[i]
		p.spell.near(w, func(form uint32) {
			if p.shown[form] == 0 {
				return
			}
			t := p.formTerm[form]
			near, df := p.words.word(form), p.df[t]
			if df > most || df == most && df > 0 && bytes.Compare(near, word) < 0 {
				key, word, most = p.key(t), near, df
			}
		})
	}
	c.lex.spell.near(w, func(i uint32) {
		near := c.lex.spell.words.word(i)
		if c.lex.isStop(wordHash(near), near) {
			stop = true
			return
		}
		its := []byte(stem(string(near)))
		if most == 0 && c.grouped(of(c.lex, its)) && (key == nil || bytes.Compare(near, word) < 0) {
			key, word = its, near
		}
	})
	return key, stop
}

// post adds the postings of s.terms. worth is what the word covers.
func (c *core) post(s *scratch, trust, worth float32, carries, synonym bool) {
	itself := 2*s.stamp + 1
	now := itself
	if synonym {
		now--
	}
	carry := uint8(0)
	if carries {
		carry = 1
	}
	for i, t := range s.terms {
		if t == none || c.parts[i].df[t] == 0 {
			continue
		}
		p := &c.parts[i]
		each := trust * p.worth[t] / 65535
		from, to := p.start[t], p.start[t+1]
		docs := p.docs[from:to]
		impact := p.impact[from:to][:len(docs)]
		cells, touched := s.cells[p.base:], s.touched
		for j, doc := range docs {
			x := &cells[doc]
			// A tool that has the word gains nothing by a synonym of it.
			if x.unit == itself && now != itself {
				continue
			}
			if x.cur == 0 {
				touched = append(touched, doc+p.base)
			}
			x.cur += each * float32(impact[j])
			if x.unit != now {
				x.unit = now
				x.covered += worth
				if x.carried < 255 {
					x.carried += carry
				}
			}
		}
		s.touched = touched
	}
}

// note marks s.terms for the bonuses.
func (c *core) note(s *scratch, trust float32, placed bool) {
	for i, t := range s.terms {
		if t == none {
			continue
		}
		m := &s.mark[i][t]
		if m.trust == 0 {
			s.marked = append(s.marked, marked{i, t})
		}
		m.trust = max(m.trust, min(trust, 1))
		if placed {
			m.place = s.at
		}
	}
}

func (s *scratch) logged(word, match, how string, trust, worth float32) {
	s.log = append(s.log, used{word, match, how, slices.Clone(s.terms), trust, worth})
}

// pathOf is what a path or a link is about: that it is a file, and its ending; or its host, and that it is a page. ""
// when the token is neither.
func pathOf(token string) string {
	token = strings.TrimRight(strings.Trim(token, "\"'`()[]<>,;:!?"), ".")
	if _, rest, ok := strings.Cut(token, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		host, _, _ = strings.Cut(strings.TrimPrefix(host, "www."), ".")
		return "url " + host
	}
	at := strings.LastIndexAny(token, `/\`)
	if at < 0 || token[0] != '/' && token[0] != '~' && token[0] != '.' && (len(token) < 3 || token[1] != ':') {
		return ""
	}
	if dot := strings.LastIndexByte(token, '.'); dot > at+1 {
		return "file " + token[dot+1:]
	}
	return "directory"
}
