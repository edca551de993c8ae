package toolview

import "errors"

// list is a compiled allow or deny list. Single words are looked up; what else there is, is asked in turn.
type list struct {
	rules  []Rule
	words  map[string]int // key of a rule that is nothing but one word or identity → its index, the first
	rest   []int          // the other rules, in order
	scoped bool           // some rule is about some calls alone
}

// wordless are selector words of capabilities that bring no tool, so that no declaration can carry them: in a deny list
// such a word is refused with the text, "" = it is known and selects nothing.
var wordless = map[string]string{
	"hitl": "approval is no tool and a list cannot switch it off",
	"code": "",
}

func compile(sel []Selector, deny bool) (list, error) {
	l := list{rules: make([]Rule, 0, len(sel)), words: make(map[string]int, len(sel))}
	var errs []error
	for _, s := range sel {
		r, err := compileRule(s)
		if err == nil && deny {
			err = r.deniable()
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		i := len(l.rules)
		l.rules = append(l.rules, r)
		l.scoped = l.scoped || r.Scoped()
		l.index(i)
	}
	return l, errors.Join(errs...)
}

// index puts a rule where it is found.
func (l *list) index(i int) {
	r := &l.rules[i]
	var keys []string
	if len(r.terms) == 1 {
		keys = r.terms[0].keys()
	}
	if keys == nil {
		l.rest = append(l.rest, i)
	}
	for _, k := range keys {
		if first, there := l.words[k]; !there || r.Brings && !l.rules[first].Brings {
			l.words[k] = i
		}
	}
}

// deniable refuses a word that a deny list cannot mean, and makes both stars the same.
func (r *Rule) deniable() error {
	for i := range r.terms {
		t := &r.terms[i]
		if why := wordless[t.word]; t.kind == byWord && why != "" {
			return badSelector(r.Selector, why, "close PermissionMiddleware in meta")
		}
		if t.kind == everyPublic {
			t.kind = everyTool
		}
	}
	return nil
}

// lists reports whether an allow list lists the tool, and whether all of its calls.
func (l *list) lists(owner string, d *Decl) (listed, whole bool) {
	for _, w := range d.words {
		if _, ok := l.words[w]; ok {
			return true, true
		}
	}
	for _, w := range d.listed {
		if i, ok := l.words[w]; ok && l.rules[i].Brings {
			return true, true
		}
	}
	for _, i := range l.rest {
		r := &l.rules[i]
		for k := range r.terms {
			if t := &r.terms[k]; t.selects(owner, d) || r.Brings && t.brings(d) {
				listed = true
				if t.scope == nil {
					return true, true
				}
			}
		}
	}
	return listed, false
}

// denies finds the first rule of a deny list that covers every call of the tool.
func (l *list) denies(owner string, d *Decl) (Selector, bool) {
	first := len(l.rules)
	for _, words := range [...][]string{d.words, d.deniedBy} {
		for _, w := range words {
			if i, ok := l.words[w]; ok && i < first {
				first = i
			}
		}
	}
	for _, i := range l.rest {
		if i >= first {
			break
		}
		if l.rules[i].Whole(owner, d) {
			first = i
			break
		}
	}
	if first == len(l.rules) {
		return Selector{}, false
	}
	return l.rules[first].Selector, true
}

// refuses finds the rule of a deny list that is about some subject of a call.
func (l *list) refuses(t *touch) *refusal {
	for i := range l.rules {
		r := &l.rules[i]
		for k := range r.terms {
			term := &r.terms[k]
			if term.scope == nil {
				continue
			}
			about := term.selects(t.owner, t.decl) || term.under(t.decl)
			edits := term.word == editWord && t.edits
			if !about && !edits {
				continue
			}
			subjects, err := t.subjects()
			if err != nil {
				return &refusal{r.Selector, "what the call touches cannot be told, and some calls are denied here"}
			}
			for _, s := range subjects {
				if !about && !(s.Kind == Path && s.Edit) {
					continue
				}
				switch term.scope.meets(s, t.at) {
				case Meets:
					return &refusal{r.Selector, "it is denied here"}
				case MayMeet:
					return &refusal{r.Selector, "what it does is decided only when it runs, and it could be what is denied here"}
				}
			}
		}
	}
	return nil
}

// restrains finds what of a call an allow list does not list, when it lists some calls of the tool alone.
func (l *list) restrains(t *touch) *refusal {
	if listed, whole := l.lists(t.owner, t.decl); !listed || whole {
		return nil // visible for another reason, or listed for every call
	}
	at := Selector{}
	for i := range l.rules {
		if r := &l.rules[i]; r.Selects(t.owner, t.decl) {
			at = r.Selector
			break
		}
	}
	subjects, err := t.judged()
	if err != nil {
		return &refusal{at, "what the call touches cannot be told, and only some calls are allowed here"}
	}
	for _, s := range subjects {
		if s.Opaque || !l.covers(t, s) {
			return &refusal{at, "only calls that match are allowed here"}
		}
	}
	if len(subjects) == 0 && !t.internal {
		return &refusal{at, "only calls that match are allowed here, and this one names nothing to match"}
	}
	return nil
}

func (l *list) covers(t *touch, s Subject) bool {
	for i := range l.rules {
		if l.rules[i].Matches(t.owner, t.decl, s, t.at) && (l.rules[i].Selects(t.owner, t.decl) || l.rules[i].Edits()) {
			return true
		}
	}
	return false
}

// entries are what the list was compiled from.
func (l *list) entries() []Selector {
	out := make([]Selector, len(l.rules))
	for i := range l.rules {
		out[i] = l.rules[i].Selector
	}
	return out
}
