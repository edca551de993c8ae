// Package toolsearch finds deferred tools. An Index is derived from one View and from nothing else, so that what
// search can find is exactly what that View lets be called.
package toolsearch

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
)

// field is a part of a tool that words are looked for in.
type field uint8

const (
	inName field = iota
	inTitle
	inDoc
	inParams
	inOwner
	fields
)

// weight is what a word counts in each field, and slack how far the field's length discounts it.
var (
	weight = [fields]float64{inName: 3.5, inTitle: 2, inDoc: 1, inParams: 0.6, inOwner: 0.4}
	slack  = [fields]float64{inName: 0.4, inTitle: 0.5, inDoc: 0.7, inParams: 0.7, inOwner: 0}
)

// saturation is BM25's k1.
const saturation = 1.2

// Index is the deferred tools of one View, ready to be searched. It is immutable: any number of goroutines may search
// it, and no lock is taken.
type Index struct {
	tools []toolview.Entry // by name
	terms map[string][]posting
	full  map[string][]int // lower-case name or alias → tools
	leaf  map[string][]int // lower-case name behind the last "__" → tools
	vocab []string         // sorted terms, for typing errors
}

// posting is one tool that a term occurs in, with its weighted and length-discounted count.
type posting struct {
	tool  int
	count float64
}

// Hit is one tool found. Score compares hits of one search; a tool found by its name alone may score 0.
type Hit struct {
	Entry toolview.Entry
	Score float64
}

// New indexes the deferred tools of a view. A nil view has none.
func New(v *toolview.View) *Index {
	x := &Index{terms: map[string][]posting{}, full: map[string][]int{}, leaf: map[string][]int{}}
	if v == nil {
		return x
	}
	for e := range v.Deferred() {
		x.tools = append(x.tools, e)
	}
	slices.SortStableFunc(x.tools, func(a, b toolview.Entry) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	words, mean := x.read()
	for i := range x.tools {
		x.enter(i, &words[i], &mean)
	}
	x.vocab = make([]string, 0, len(x.terms))
	for t := range x.terms {
		x.vocab = append(x.vocab, t)
	}
	slices.Sort(x.vocab)
	return x
}

// Len counts the tools that can be found.
func (x *Index) Len() int { return len(x.tools) }

// read splits every field of every tool into terms, and returns the mean length of each field.
func (x *Index) read() (words [][fields][]string, mean [fields]float64) {
	words = make([][fields][]string, len(x.tools))
	for i, e := range x.tools {
		t := e.Tool
		words[i] = [fields][]string{
			inName:   terms(t.Name),
			inTitle:  terms(t.Title),
			inDoc:    terms(t.Doc),
			inParams: terms(strings.Join(params(t.Schema), " ")),
			inOwner:  terms(strings.TrimSuffix(e.Owner, "Middleware")),
		}
		for f := range fields {
			mean[f] += float64(len(words[i][f])) / float64(len(x.tools))
		}
	}
	return words, mean
}

// enter adds one tool's terms and names.
func (x *Index) enter(i int, words *[fields][]string, mean *[fields]float64) {
	counts := map[string]float64{}
	var order []string
	for f := range fields {
		if len(words[f]) == 0 {
			continue
		}
		each := weight[f] / (1 - slack[f] + slack[f]*float64(len(words[f]))/mean[f])
		for _, w := range words[f] {
			if _, seen := counts[w]; !seen {
				order = append(order, w)
			}
			counts[w] += each
		}
	}
	for _, w := range order {
		x.terms[w] = append(x.terms[w], posting{i, counts[w]})
	}
	name := strings.ToLower(x.tools[i].Tool.Name)
	x.full[name] = append(x.full[name], i)
	if at := strings.LastIndex(name, "__"); at >= 0 && at+2 < len(name) {
		x.leaf[name[at+2:]] = append(x.leaf[name[at+2:]], i)
	}
	for _, a := range x.tools[i].Tool.Aliases {
		// An alias counts only where no tool has that very name; named sees to that by asking names first.
		x.leaf[strings.ToLower(a)] = append(x.leaf[strings.ToLower(a)], i)
	}
}

// params are the names of a tool's arguments.
func params(raw json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for n := range s.Properties {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// rarity is BM25's inverse document frequency of a term that df tools have; never below 0.
func (x *Index) rarity(df int) float64 {
	return math.Log(1 + (float64(len(x.tools))-float64(df)+0.5)/(float64(df)+0.5))
}
