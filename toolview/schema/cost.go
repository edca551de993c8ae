package schema

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxVisits bounds how often the library looks at one value of the arguments.
const maxVisits = 100_000

// graph is what the library may do with schemas: judge the same value by several (same), and hand parts of a value on.
// Of the schemas in one of the groups of parts only the dearest counts, since a part is judged by one of them.
type graph struct {
	same  map[*jsonschema.Schema][]*jsonschema.Schema
	parts map[*jsonschema.Schema][][]*jsonschema.Schema
	order []*jsonschema.Schema // what a schema judges the same value by stands before it
}

// allowedDepth returns how deep arguments may nest so that checking them stays cheap. A schema that refers to itself
// from several alternatives is tried anew at each level, so the work grows with a power of the depth; one that refers
// to itself without consuming anything would never end, and is an error.
func allowedDepth(root *jsonschema.Schema, all []*jsonschema.Schema) (int, error) {
	g := graph{same: map[*jsonschema.Schema][]*jsonschema.Schema{}, parts: map[*jsonschema.Schema][][]*jsonschema.Schema{}}
	for _, s := range all {
		if err := g.read(root, s); err != nil {
			return 0, err
		}
	}
	state := map[*jsonschema.Schema]int{}
	for _, s := range all {
		if !g.visit(s, state) {
			return 0, errors.New(`a "$ref" leads back to itself without end`)
		}
	}
	below := map[*jsonschema.Schema]int{}
	for depth := 0; ; depth++ {
		here := g.visits(below)
		if here[root] > maxVisits {
			if depth < 2 {
				return 0, errors.New("too many alternatives to check")
			}
			return depth, nil
		}
		if depth == maxArgsDepth || maps.Equal(here, below) {
			return maxArgsDepth, nil
		}
		below = here
	}
}

// visits counts how often the deepest part of a value is looked at, given the counts one level below.
func (g *graph) visits(below map[*jsonschema.Schema]int) map[*jsonschema.Schema]int {
	here := make(map[*jsonschema.Schema]int, len(g.order))
	for _, s := range g.order {
		n := 0
		for _, group := range g.parts[s] {
			dearest := 0
			for _, p := range group {
				dearest = max(dearest, below[p])
			}
			n += dearest
		}
		n = max(n, 1)
		for _, t := range g.same[s] {
			n += here[t]
		}
		here[s] = min(n, maxVisits+1)
	}
	return here
}

// visit orders the graph; it reports false on a cycle. state: 1 is being visited, 2 is done.
func (g *graph) visit(s *jsonschema.Schema, state map[*jsonschema.Schema]int) bool {
	switch state[s] {
	case 1:
		return false
	case 2:
		return true
	}
	state[s] = 1
	for _, t := range g.same[s] {
		if !g.visit(t, state) {
			return false
		}
	}
	state[s] = 2
	g.order = append(g.order, s)
	return true
}

func (g *graph) read(root, s *jsonschema.Schema) error {
	same := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else})
	for _, byName := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		same = slices.AppendSeq(same, maps.Values(byName))
	}
	if s.Ref != "" {
		target, err := resolve(root, s.Ref)
		if err != nil {
			return err
		}
		same = append(same, target)
	}
	g.same[s] = slices.DeleteFunc(same, func(t *jsonschema.Schema) bool { return t == nil })
	groups := [][]*jsonschema.Schema{
		append(slices.Collect(maps.Values(s.Properties)), s.AdditionalProperties, s.Items, s.AdditionalItems),
		append(slices.Concat(s.PrefixItems, s.ItemsArray), s.UnevaluatedProperties, s.UnevaluatedItems),
		{s.Contains},
		{s.PropertyNames},
	}
	for _, p := range s.PatternProperties {
		groups = append(groups, []*jsonschema.Schema{p})
	}
	for _, group := range groups {
		group = slices.DeleteFunc(group, func(t *jsonschema.Schema) bool { return t == nil })
		if len(group) > 0 {
			g.parts[s] = append(g.parts[s], group)
		}
	}
	return nil
}
