package meta

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Key declares one name of the map. Its owner declares it; meta has no table of its own.
type Key struct {
	Name    string
	Kind    Kind
	Aliases []string // accepted spellings, reported under Name
	// Upstream lists what other harnesses call it. Such a spelling is not accepted, but answered with Name.
	Upstream []string
	Vars     []string // segments: the {{placeholders}} that an override may use
	Cached   bool     // segments: frozen before the cache boundary, so no placeholder at all
	Safety   bool     // segments: an override is allowed and reported
}

// Keys is the immutable set of valid names. The zero Keys knows none. It is safe for concurrent use.
type Keys struct {
	byName   map[string]*Key   // every accepted spelling and every Foreign name
	upstream map[string]string // upstream spelling → name here
	names    []string          // canonical, sorted, without Foreign
	near     []string          // names and aliases, sorted
}

// NewKeys builds the set. Every defect of the list is reported, joined: an empty or unusable name, a kind that is
// none, and a spelling that two keys claim.
func NewKeys(keys []Key) (Keys, error) {
	ks := Keys{byName: map[string]*Key{}, upstream: map[string]string{}}
	owners := map[string][]string{}
	var errs []error
	for _, k := range keys {
		if !usable(k.Name) {
			errs = append(errs, fmt.Errorf("meta: key %q: a name has letters, digits, '_', '-' and '.'", k.Name))
		}
		if k.Kind < Segment || k.Kind > Foreign {
			errs = append(errs, fmt.Errorf("meta: key %q: unknown %v", k.Name, k.Kind))
		}
		k.Aliases, k.Upstream, k.Vars = slices.Clone(k.Aliases), slices.Clone(k.Upstream), slices.Clone(k.Vars)
		for _, spelling := range slices.Concat([]string{k.Name}, k.Aliases) {
			owners[spelling] = append(owners[spelling], k.Name)
			ks.byName[spelling] = &k
		}
		for _, spelling := range k.Upstream {
			owners[spelling] = append(owners[spelling], k.Name)
			ks.upstream[spelling] = k.Name
		}
		if k.Kind != Foreign {
			ks.names = append(ks.names, k.Name)
			ks.near = append(append(ks.near, k.Name), k.Aliases...)
		}
	}
	for _, spelling := range sortedKeys(owners) {
		if o := owners[spelling]; len(o) > 1 {
			errs = append(errs, fmt.Errorf("meta: key %q is declared %d times, by %s", spelling, len(o), strings.Join(o, ", ")))
		}
	}
	if len(errs) > 0 {
		return Keys{}, errors.Join(errs...)
	}
	slices.Sort(ks.names)
	slices.Sort(ks.near)
	return ks, nil
}

// A segment's name becomes a file's name, so nothing that a path could be made of is usable.
func usable(name string) bool {
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			continue
		}
		return false
	}
	return strings.Trim(name, ".") != ""
}

// Lookup finds a key by its name or an alias, exactly as written.
func (ks Keys) Lookup(spelling string) (Key, bool) {
	k, ok := ks.byName[spelling]
	if !ok || k.Kind == Foreign {
		return Key{}, false
	}
	return *k, true
}

// Names lists the canonical names, sorted.
func (ks Keys) Names() []string { return slices.Clone(ks.names) }

// Len counts the canonical names.
func (ks Keys) Len() int { return len(ks.names) }

// unknown says what to do about a spelling that Lookup does not find.
func (ks Keys) unknown(e Entry) Diagnostic {
	d := Diagnostic{Severity: SeverityWarning, Code: "unknown_key", Key: e.Key, Origin: e.Origin}
	if here, ok := ks.upstream[e.Key]; ok {
		d.Code = "upstream_key"
		d.Message = fmt.Sprintf("%q is another harness's name and is ignored", e.Key)
		d.Suggestion = fmt.Sprintf("write %s: %t", here, e.Value)
		return d
	}
	if _, ok := ks.byName[e.Key]; ok {
		d.Code = "upstream_key"
		d.Message = fmt.Sprintf("%q is another harness's name, has no counterpart here and is ignored", e.Key)
		d.Suggestion = "remove it"
		return d
	}
	d.Message = fmt.Sprintf("unknown key %q is ignored", e.Key)
	if near := Nearest(e.Key, ks.near); len(near) > 0 {
		d.Suggestion = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return d
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
