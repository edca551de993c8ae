package middleware

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Suite is the ordered list of every middleware that a session could have, checked once. It is immutable and shared
// by any number of sessions.
type Suite struct {
	all   []Middleware
	index map[string]int
	keys  meta.Keys
}

// NewSuite validates the list and fixes its order. Every defect is reported at once.
func NewSuite(list ...Middleware) (*Suite, error) {
	if err := Validate(list...); err != nil {
		return nil, err
	}
	s := &Suite{all: slices.Clone(list), index: make(map[string]int, len(list))}
	keys := []meta.Key{{Name: meta.BuiltInSubagents, Kind: meta.Policy}}
	for i, m := range s.all {
		s.index[m.Name] = i
		keys = append(keys, meta.Key{Name: m.Name, Kind: meta.Middleware, Aliases: m.Aliases, Upstream: m.Upstream})
		for _, seg := range m.Segments {
			keys = append(keys, seg.Key())
		}
	}
	var err error
	if s.keys, err = meta.NewKeys(keys); err != nil {
		return nil, fmt.Errorf("middleware: %w", err)
	}
	return s, nil
}

// Keys are the meta keys that the suite gives: its middlewares, their segments and BuiltInSubagents.
func (s *Suite) Keys() meta.Keys { return s.keys }

// All returns the middlewares in chain order. The slice is not to be changed.
func (s *Suite) All() []Middleware { return s.all }

// Lookup finds a middleware by its name.
func (s *Suite) Lookup(name string) (Middleware, bool) {
	i, ok := s.index[name]
	if !ok {
		return Middleware{}, false
	}
	return s.all[i], true
}

// GatesOf reports whether a middleware of that name brings a gate.
func (s *Suite) GatesOf(name string) bool {
	m, ok := s.Lookup(name)
	return ok && m.Gates
}

// Bands are the static tools of the whole suite, closed or not: what a selector could ever mean.
func (s *Suite) Bands() []toolview.Band {
	var out []toolview.Band
	for _, m := range s.all {
		for _, set := range []*toolview.Set{m.Tools, m.Deferred} {
			if set.Len() > 0 {
				out = append(out, toolview.Band{Owner: m.Name, Set: set})
			}
		}
		if m.Dynamic != "" {
			out = append(out, toolview.Band{Owner: m.Name, Prefix: m.Dynamic})
		}
	}
	return out
}

var key = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// Validate reports every defect of a list of middlewares at once, in the list's order.
func Validate(list ...Middleware) error {
	v := validation{at: map[string]int{}, owner: map[string]string{}, aliases: map[string]string{}}
	for i, m := range list {
		if before, twice := v.at[m.Name]; twice {
			v.fail(m.Name, "stands in the suite twice, at %d and %d", before, i)
			continue
		}
		v.at[m.Name] = i
		for _, set := range []*toolview.Set{m.Tools, m.Deferred} {
			for _, t := range set.All() {
				v.aliases[t.Name] = m.Name
			}
		}
	}
	for i, m := range list {
		v.copy = v.at[m.Name] != i
		v.identity(m)
		v.belongings(m)
		v.order(i, m)
	}
	v.prefixes(list)
	return errors.Join(v.errs...)
}

type validation struct {
	errs  []error
	at    map[string]int
	owner map[string]string // "tool Read" → who has it
	// aliases has every tool's name, and then every alias that was met, with its owner: with that one closed, a call
	// would reach another owner's tool.
	aliases map[string]string
	copy    bool // the middleware at hand was met before
}

func (v *validation) fail(name, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("middleware: %s: %s", name, fmt.Sprintf(format, args...)))
}

func (v *validation) claim(m, what, name string) {
	id := what + " " + name
	if other, taken := v.owner[id]; taken {
		if v.copy && other == m {
			return // that it stands there twice has been said
		}
		v.fail(m, "%s is already %s's", id, other)
		return
	}
	v.owner[id] = m
}

func (v *validation) identity(m Middleware) {
	if !key.MatchString(m.Name) {
		v.fail(fmt.Sprintf("%q", m.Name), "is no name: use letters, digits and _, a letter first")
	}
	if strings.TrimSpace(m.Doc) == "" {
		v.fail(m.Name, "has no Doc")
	}
	v.claim(m.Name, "key", m.Name)
	for _, a := range m.Aliases {
		v.claim(m.Name, "key", a)
	}
	if m.RootOnly && m.Gates {
		v.fail(m.Name, "is RootOnly and brings a gate: children would lose it")
	}
	if m.Open == nil && (m.Gates || len(m.Routes) > 0) {
		v.fail(m.Name, "declares a gate or routes and has no Open that brings them")
	}
}

func (v *validation) belongings(m Middleware) {
	for _, s := range m.Segments {
		if err := s.Check(); err != nil {
			v.fail(m.Name, "%v", err)
		}
		v.claim(m.Name, "key", s.ID)
		for _, need := range s.Needs {
			if !m.declares(need) {
				v.fail(m.Name, "segment %s needs the tool %s, which is not its own", s.ID, need)
			}
		}
	}
	for _, set := range []*toolview.Set{m.Tools, m.Deferred} {
		for _, t := range set.All() {
			v.claim(m.Name, "tool", t.Name)
			for _, a := range t.Aliases {
				if other, taken := v.aliases[a]; taken && other != m.Name {
					v.fail(m.Name, "the alias %s of tool %s is a name or alias of a tool of %s", a, t.Name, other)
					continue
				}
				v.aliases[a] = m.Name
			}
			if t.Finder && set == m.Deferred {
				v.fail(m.Name, "tool %s finds deferred tools and is itself deferred", t.Name)
			}
		}
	}
	for _, r := range m.Routes {
		if r.Name == "" || strings.ContainsAny(r.Name, " /\t\n") || strings.TrimSpace(r.Doc) == "" {
			v.fail(m.Name, "route %q needs a name without blanks and slashes, and a Doc", r.Name)
		}
		v.claim(m.Name, "route", r.Name)
	}
}

func (v *validation) order(i int, m Middleware) {
	earlier := func(what string, names []string, needed bool) {
		for _, n := range names {
			switch at, ok := v.at[n]; {
			case n == m.Name:
				v.fail(m.Name, "%s itself", what)
			case !ok && needed:
				v.fail(m.Name, "%s %s, which the suite lacks", what, n)
			case ok && at > i:
				// Earlier places only: so requirements cannot form a cycle.
				v.fail(m.Name, "%s %s, which the suite has behind it", what, n)
			}
		}
	}
	earlier("requires", m.Requires, true)
	earlier("stands after", m.After, false)
}

func (v *validation) prefixes(list []Middleware) {
	for i, m := range list {
		for j, n := range list {
			if i == j || m.Dynamic == "" {
				continue
			}
			if j > i && n.Dynamic != "" && (strings.HasPrefix(m.Dynamic, n.Dynamic) || strings.HasPrefix(n.Dynamic, m.Dynamic)) {
				v.fail(n.Name, "publishes tools under %q, which overlaps %q of %s", n.Dynamic, m.Dynamic, m.Name)
			}
			for _, set := range []*toolview.Set{n.Tools, n.Deferred} {
				for _, t := range set.All() {
					if strings.HasPrefix(t.Name, m.Dynamic) {
						v.fail(n.Name, "tool %s begins with %q, which is %s's", t.Name, m.Dynamic, m.Name)
					}
				}
			}
		}
	}
}

// declares reports whether a tool name is one of the middleware's own.
func (m *Middleware) declares(name string) bool {
	if _, ok := m.Tools.Lookup(name); ok {
		return true
	}
	_, ok := m.Deferred.Lookup(name)
	return ok
}
