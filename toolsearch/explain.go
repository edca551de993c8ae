package toolsearch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// Explained is a hit and what found it.
type Explained struct {
	Hit
	// Why is the strongest reason first.
	Why []Reason
}

// Reason is one thing that speaks for a tool.
type Reason struct {
	// Word is of the query; "" for what looks at the query as a whole.
	Word string
	// How is "called" (the tool goes by that name), "word", "synonym", "spelling", "name" (the query covers the tool's
	// name), "start" (the first words of its name and doc) or "order" (words stand together in both).
	How string
	// Match is what the tool has for the word: its stem, the synonyms, or the right spelling.
	Match string
	// Score of a word is what it counts in its sentence before that is discounted for what the tool lacks; of anything
	// else the part by which the score was raised. "called" has none.
	Score float64
}

// Explain is Search with reasons. It is for people: it allocates freely.
func (x *Index) Explain(query string, limit int) []Explained {
	hits, s := x.search(query, limit, true)
	out := make([]Explained, len(hits))
	called := x.callers(query)
	for i, h := range hits {
		out[i].Hit = h
		place, _ := slices.BinarySearchFunc(x.tools, h.Entry.Tool.Name, func(e toolview.Entry, name string) int { return cmp.Compare(e.Tool.Name, name) })
		number := x.number[place]
		for token, group := range called {
			if slices.Contains(group, number) {
				out[i].Why = append(out[i].Why, Reason{Word: token, How: "called", Match: h.Entry.Tool.Name})
			}
		}
		if s != nil {
			out[i].Why = append(out[i].Why, x.reasons(s, number)...)
		}
		slices.SortStableFunc(out[i].Why, stronger)
	}
	if s != nil {
		x.giveBack(s)
	}
	return out
}

// callers are the tokens of a query that are names, with the tools that go by them.
func (x *Index) callers(query string) map[string][]uint32 {
	if list, ok := cutFold(strings.TrimSpace(query), "select:"); ok {
		query = strings.ReplaceAll(list, ",", " ")
	}
	out := map[string][]uint32{}
	for token := range strings.FieldsSeq(query) {
		token = bare(strings.TrimPrefix(token, "+"))
		if group := x.calledBy(token); len(group) > 0 {
			out[token] = group
		}
	}
	return out
}

func (x *Index) reasons(s *scratch, number uint32) (out []Reason) {
	p, doc := x.piece(number)
	i := x.at(p)
	own := "" // the last word that the tool itself has
	for _, u := range s.log {
		impact := p.has(u.terms[i], doc)
		if impact == 0 || u.how == "synonym" && u.word == own {
			continue
		}
		r := Reason{Word: u.word, How: u.how, Match: u.match, Score: float64(u.trust * u.worth * impact)}
		if u.how == "synonym" {
			r.Match = x.members(p, doc, u.match)
		} else {
			own = u.word
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil
	}
	leads := p.leads[p.leadEnd[doc]:p.leadEnd[doc+1]]
	for _, r := range []Reason{
		{How: "name", Score: float64(x.tune.name * x.covers(p, s.mark[i], p.names[p.nameEnd[doc]:p.nameEnd[doc+1]], nil))},
		{How: "start", Score: float64(x.tune.lead * x.covers(p, s.mark[i], leads, x.fades))},
		{How: "order", Score: float64(x.tune.order * x.together(p, s.mark[i], leads))},
	} {
		if r.Score > 0 {
			out = append(out, r)
		}
	}
	return out
}

// has is the saturated weight of a term in a tool, 0 to 1.
func (g *segment) has(term, doc uint32) float32 {
	if term == none {
		return 0
	}
	from, to := g.start[term], g.start[term+1]
	if at, ok := slices.BinarySearch(g.docs[from:to], doc); ok {
		return float32(g.impact[int(from)+at]) / 65535
	}
	return 0
}

// members are the words of a group that a tool has.
func (x *Index) members(p *piece, doc uint32, key string) string {
	var words []string
	for w := range strings.FieldsSeq(x.lex.lines[(int(key[1])<<8|int(key[2]))/2]) {
		if p.has(termOf(p.segment, stem(w)), doc) > 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// stronger sorts reasons: names, then by score.
func stronger(a, b Reason) int {
	if (a.How == "called") != (b.How == "called") {
		if a.How == "called" {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Word, b.Word), cmp.Compare(a.Match, b.Match))
}
