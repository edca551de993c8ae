package meta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Resolved is the merged map: per key, the entry of the highest layer that has it. It is immutable.
type Resolved struct {
	entries []decided // sorted by key
}

type decided struct {
	Entry
	key *Key
}

// Entries lists the merged map, sorted by key.
func (r Resolved) Entries() []Entry {
	out := make([]Entry, len(r.entries))
	for i, d := range r.entries {
		out[i] = d.Entry
	}
	return out
}

// Resolve merges layers, low to high, key by key. The order of entries inside a layer never matters. An unknown key
// is a warning and ignored; one key set twice in one layer, be it under an alias, is an error naming both places.
// All errors come joined, each a *Error, by layer and position.
func Resolve(keys Keys, layers ...Layer) (Resolved, []Diagnostic, error) {
	var (
		r     Resolved
		diags []Diagnostic
		errs  []error
	)
	for _, l := range layers {
		entries := slices.Clone(l.Entries)
		slices.SortStableFunc(entries, compareEntries)
		first := len(r.entries)
		for _, e := range entries {
			if e.Origin.Layer == "" {
				e.Origin.Layer = l.Name
			}
			k, ok := keys.byName[e.Key]
			if !ok || k.Kind == Foreign {
				diags = append(diags, keys.unknown(e))
				continue
			}
			spelling := e.Key
			e.Key = k.Name
			if i := slices.IndexFunc(r.entries[first:], func(d decided) bool { return d.key == k }); i >= 0 {
				errs = append(errs, twice(spelling, e, r.entries[first+i].Entry))
				continue
			}
			r.entries = append(r.entries, decided{e, k})
		}
	}
	if len(errs) > 0 {
		return Resolved{}, diags, errors.Join(errs...)
	}
	r.entries = highest(r.entries)
	return r, diags, nil
}

func compareEntries(a, b Entry) int {
	return cmp.Or(a.Origin.compare(b.Origin), strings.Compare(a.Key, b.Key))
}

func twice(spelling string, e, before Entry) error {
	return &Error{
		Origin:     e.Origin,
		Key:        spelling,
		Message:    fmt.Sprintf("%s is set twice in one layer, first at %s", e.Key, before.Origin),
		Suggestion: "keep one of the two, as " + e.Key,
	}
}

// highest keeps the last entry of every key and sorts by key.
func highest(all []decided) []decided {
	slices.SortStableFunc(all, func(a, b decided) int { return strings.Compare(a.Key, b.Key) })
	out := all[:0]
	for i, d := range all {
		if i+1 == len(all) || all[i+1].Key != d.Key {
			out = append(out, d)
		}
	}
	return out
}
