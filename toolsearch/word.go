package toolsearch

import (
	"slices"
	"strings"
)

const mostWords = 192 // different words of a query that are looked up; a longer one says nothing more

// look takes one word of a query.
func (c *core) look(s *scratch, w []byte, k kind) {
	tn := c.tune
	if tn.stopwords && k < whole && c.lex.stop[string(w)] || !tn.pairs && k >= pair || !tn.humps && k == part || s.different >= mostWords {
		return
	}
	trust := s.weight
	switch k {
	case lone:
		trust *= tn.lone
	case whole:
		trust /= 2 // its parts count too
	}
	key, df := c.find(s, w, k)
	s.at++
	if s.had(key, df) {
		c.again(s, df)
		return
	}
	groups := c.lex.groups[key]
	how := "word"
	if df == 0 && k < whole && tn.repair > 0 && !c.grouped(groups) {
		near, stop := c.repair(s, w)
		if stop {
			return
		}
		if near != "" {
			df = c.terms(s, near)
			if s.had(near, df) {
				return
			}
			key, how, trust, groups = near, "spelling", trust*tn.repair, c.lex.groups[near]
		}
	}
	if df == 0 && (k == whole || k == lone) {
		return
	}
	c.count(s, found{string(w), key, how, k, df, trust, groups})
}

// had reports whether the query has had a word, whose terms are in s.terms: one that tools have was placed, of any other
// the key is kept.
func (s *scratch) had(key string, df uint32) bool {
	if df > 0 {
		for i, t := range s.terms {
			if t != none && s.place[i][t] > 0 {
				return true
			}
		}
		s.different++
		return false
	}
	if slices.Contains(s.words, key) {
		return true
	}
	s.words = append(s.words, key)
	s.different++
	return false
}

// found is a word with the terms that it stands for.
type found struct {
	word, key, how string
	kind           kind
	df             uint32
	trust          float32
	groups         []uint16
}

// count adds what a word finds to the sentence.
func (c *core) count(s *scratch, f found) {
	tn := c.tune
	if c.lex.fill[f.key] && tn.fill > 0 {
		f.trust *= tn.fill
	}
	worth := c.worth(f.df) * f.trust
	if f.df == 0 && f.kind == pair {
		worth *= strangers
	}
	// A word that most tools have carries no match.
	carries := !(c.live >= few && 2*int(f.df) > c.live)
	s.stamp++
	s.sentence += worth
	synonyms := tn.group > 0 && c.grouped(f.groups)
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
		s.logged(f.word, f.key, f.how, f.trust, c.worth(f.df))
	}
	if !synonyms {
		return
	}
	share := tn.group
	if f.df == 0 {
		share = tn.alone
	}
	for _, g := range f.groups {
		c.synonym(s, &f, sided(g, f.kind >= pair), share, worth)
		c.synonym(s, &f, sided(g, f.kind < pair), max(share, tn.abroad), worth)
	}
}

func (c *core) synonym(s *scratch, f *found, side uint16, share, worth float32) {
	df := c.kindred(s, side)
	if df == 0 {
		return
	}
	c.post(s, f.trust*share, worth, f.df == 0, true)
	c.note(s, f.trust/2, false)
	if s.why {
		s.logged(f.word, groupKey(side), "synonym", f.trust*share, c.worth(df))
	}
}

const (
	// strangers is what an unknown pair of CJK characters counts: most pairs of a sentence are no words.
	strangers = 0.15
	// few is the number of tools below which no word can be called ubiquitous.
	few = 8
)

// again places a word that the query has had, so that what stands together is seen wherever it does.
func (c *core) again(s *scratch, df uint32) {
	if df == 0 {
		return
	}
	for i, t := range s.terms {
		if t != none && s.place[i][t] > 0 {
			s.place[i][t] = s.at
		}
	}
}

// find looks up a word and leaves its terms in s.terms.
func (c *core) find(s *scratch, w []byte, k kind) (key string, df uint32) {
	for i := range c.parts {
		p := &c.parts[i]
		form, ok := p.forms[string(w)]
		if !ok {
			continue
		}
		t := p.formTerm[form]
		if len(c.parts) == 1 {
			s.terms = append(s.terms[:0], t)
			return p.keys[t], p.df[t]
		}
		key = p.keys[t]
		break
	}
	if key == "" {
		key = string(w)
		if k < pair && c.tune.stem {
			key = stem(key)
		}
	}
	return key, c.terms(s, key)
}

// terms leaves the terms of a key in s.terms, one a piece, and returns how many tools have it.
func (c *core) terms(s *scratch, key string) (df uint32) {
	s.terms = s.terms[:0]
	for i := range c.parts {
		t := c.parts[i].term(key)
		s.terms = append(s.terms, t)
		if t != none {
			df = c.parts[i].df[t]
		}
	}
	return df
}

// grouped reports whether any tool has a word of the groups.
func (c *core) grouped(groups []uint16) bool {
	for _, g := range groups {
		for i := range c.parts {
			p := &c.parts[i]
			for _, t := range p.group[2*g : 2*g+2] {
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

// repair is the key of the word that a mistyped one was meant to be, "" when there is none; of several, that which most
// tools have. stop says that it was meant to be a stopword.
func (c *core) repair(s *scratch, w []byte) (key string, stop bool) {
	if !spellable(string(w)) {
		return "", false
	}
	most := uint32(0)
	word := ""
	better := func(near, its string, df uint32) {
		if df > most || df == most && df > 0 && near < word {
			key, word, most = its, near, df
		}
	}
	for i := range c.parts {
		p := &c.parts[i]
		p.spell.near(w, func(form uint32) {
			if p.shown[form] > 0 {
				t := p.formTerm[form]
				better(p.spell.words[form], p.keys[t], p.df[t])
			}
		})
	}
	c.lex.spell.near(w, func(i uint32) {
		near := c.lex.spell.words[i]
		if c.lex.stop[near] {
			stop = true
		} else if its := stem(near); most == 0 && c.grouped(c.lex.groups[its]) && (key == "" || near < word) {
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
		impact := p.impact[from:to]
		for j, doc := range p.docs[from:to] {
			x := &s.cells[doc+p.base]
			// A tool that has the word gains nothing by a synonym of it.
			if x.unit == itself && now != itself {
				continue
			}
			if x.cur == 0 {
				s.touched = append(s.touched, doc+p.base)
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
	}
}

// note marks s.terms for the bonuses.
func (c *core) note(s *scratch, trust float32, placed bool) {
	for i, t := range s.terms {
		if t == none {
			continue
		}
		if s.mark[i][t] == 0 {
			s.marks = append(s.marks, mark{i, t})
		}
		s.mark[i][t] = max(s.mark[i][t], min(trust, 1))
		if placed {
			s.place[i][t] = s.at
		}
	}
}

func (s *scratch) logged(word, match, how string, trust, worth float32) {
	if s.why {
		s.log = append(s.log, used{word, match, how, slices.Clone(s.terms), trust, worth})
	}
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
