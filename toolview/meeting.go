package toolview

import "strings"

// Meeting says how sure it is that a rule is about a subject.
type Meeting uint8

const (
	Misses Meeting = iota
	// MayMeet: what the subject is, is decided only when it runs, and it could be what the rule is about.
	MayMeet
	Meets
)

// Restricts is Matches for a rule that denies or asks: it also sees what the subject stands for besides its value.
func (r *Rule) Restricts(owner string, d *Decl, s Subject, at Place) Meeting {
	most := Misses
	for i := range r.terms {
		t := &r.terms[i]
		edits := t.word == editWord && s.Kind == Path && s.Edit
		if about := edits || t.kind == everyPublic || t.selects(owner, d) || t.under(d); !about {
			continue
		}
		if t.scope == nil {
			return Meets
		}
		if most = max(most, t.scope.meets(s, at)); most == Meets {
			return Meets
		}
	}
	return most
}

// Each is the rule as one rule for each of the tools that it names with `|`, under the same selector.
func (r *Rule) Each() []Rule {
	out := make([]Rule, len(r.terms))
	for i := range r.terms {
		out[i] = Rule{Selector: r.Selector, terms: r.terms[i : i+1]}
	}
	return out
}

// meets is matches that also looks at what a subject stands for besides its value.
func (s *scope) meets(sub Subject, at Place) Meeting {
	if s.matches(sub, at) {
		return Meets
	}
	most := Misses
	for _, text := range sub.Also {
		p := scopePattern(text)
		switch {
		case s.hosts || sub.Kind != Command && sub.Kind != Path:
		case p.items == nil:
			plain := sub
			plain.Value = p.literal
			if s.matches(plain, at) {
				return Meets
			}
		case sub.Kind == Command && s.command.touches(p), sub.Kind == Path && s.reaches(text, at):
			most = MayMeet
		}
	}
	return most
}

func (r reading) touches(q *pattern) bool {
	for _, p := range r {
		if p.touches(q) {
			return true
		}
	}
	return false
}

// reaches reports whether a pattern of paths and the scope have a path in common.
func (s *scope) reaches(text string, at Place) bool {
	var bases []string
	switch s.base {
	case fromTop:
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
			text = Escape(strings.TrimSuffix(at.Root, "/")) + "/" + text
		}
		return s.path.touches(scopePattern(text))
	case fromHome:
		bases = []string{"~/", Escape(strings.TrimSuffix(at.Home, "/")) + "/"}
	default:
		bases = []string{Escape(strings.TrimSuffix(at.Root, "/")) + "/"}
		if !strings.HasPrefix(text, "/") {
			return s.path.touches(scopePattern(text))
		}
	}
	if strings.HasPrefix(text, "*") {
		return s.path.touches(scopePattern(text))
	}
	for _, b := range bases {
		if rest, ok := strings.CutPrefix(text, b); ok && s.path.touches(scopePattern(rest)) {
			return true
		}
	}
	// A wildcard among the folders above may stand for them.
	head, _, wild := strings.Cut(text, "*")
	return wild && strings.HasPrefix(bases[len(bases)-1], head) && s.path.touches(scopePattern("*"))
}

// touches reports whether two patterns have a text in common. The work is bounded by the product of both lengths.
func (p *pattern) touches(q *pattern) bool {
	a, b := p.whole(), q.whole()
	// row[j]: the items of a so far and b[:j] have a text in common.
	row := make([]bool, len(b)+1)
	row[0] = true
	for j := range b {
		row[j+1] = row[j] && b[j].kind == anyRun
	}
	for i := range a {
		next := make([]bool, len(b)+1)
		next[0] = row[0] && a[i].kind == anyRun
		for j := range b {
			switch {
			case a[i].kind == anyRun || b[j].kind == anyRun:
				next[j+1] = a[i].kind == anyRun && (row[j+1] || next[j]) || b[j].kind == anyRun && (next[j] || row[j+1])
			default:
				next[j+1] = row[j] && a[i].common(&b[j])
			}
		}
		row = next
	}
	return row[len(b)]
}

// whole is the pattern as items, also when it has no wildcard.
func (p *pattern) whole() []item {
	if p.items != nil {
		return p.items
	}
	var out []item
	for _, r := range p.literal {
		out = append(out, item{r: r})
	}
	return out
}

func (it *item) common(o *item) bool {
	switch {
	case o.kind == oneRune:
		return it.one(o.r)
	case it.kind == oneRune:
		return o.one(it.r)
	}
	return true
}
