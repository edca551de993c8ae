package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

func open(context.Context, middleware.Env) (*middleware.Instance, error) {
	return &middleware.Instance{}, nil
}

func TestValidateReportsEveryDefectAtOnceInTheListsOrder(t *testing.T) {
	finder := tool("Find")
	finder.Finder = true
	list := []middleware.Middleware{
		{
			Name: "A", Aliases: []string{"B"}, Requires: []string{"A", "Gone", "C"}, After: []string{"C", "Nowhere"},
			RootOnly: true, Gates: true, Dynamic: "dyn__", Tools: tools("Read"), Deferred: toolview.MustSet(finder, tool("Read")),
			Segments: []prompt.Segment{
				{ID: "01_intro", Text: "hi"},
				{ID: "Bad ID", Zone: prompt.Live, Needs: []string{"Write"}},
				{ID: "02_x", Text: "{{who}}", Needs: []string{"Read"}},
			},
		},
		{Name: "B", Doc: "b", Tools: toolview.MustSet(tool("Read"), tool("dyn__x"), tool("Write", "Find")), Dynamic: "dyn__more__"},
		{Name: "C", Doc: "c", Open: open, Segments: []prompt.Segment{{ID: "01_intro", Text: "hi"}}, Routes: []middleware.RouteDecl{{Name: "go on", Doc: "x"}, {Name: "go"}, {Name: "go", Doc: "x"}}},
		{Name: "C", Doc: "", Tools: toolview.MustSet(tool("Other", "Find"), tool("Another", "Write"))},
		{Name: "no name", Doc: "x", Routes: []middleware.RouteDecl{{Name: "go", Doc: "x"}}},
	}
	want := strings.TrimSpace(`
middleware: C: stands in the suite twice, at 2 and 3
middleware: A: has no Doc
middleware: A: is RootOnly and brings a gate: children would lose it
middleware: A: declares a gate or routes and has no Open that brings them
middleware: A: segment id "Bad ID": use a-z, 0-9 and _
segment Bad ID has no text
middleware: A: segment Bad ID needs the tool Write, which is not its own
middleware: A: segment 02_x stands before the cache boundary: it can need no tool or word and fill no placeholder
segment 02_x has the placeholder {{who}}, which its Vars lack
middleware: A: tool Find finds deferred tools and is itself deferred
middleware: A: tool Read is already A's
middleware: A: requires itself
middleware: A: requires Gone, which the suite lacks
middleware: A: requires C, which the suite has behind it
middleware: A: stands after C, which the suite has behind it
middleware: B: key B is already A's
middleware: B: tool Read is already A's
middleware: B: the alias Find of tool Write is a name or alias of a tool of A
middleware: C: key 01_intro is already A's
middleware: C: route "go on" needs a name without blanks and slashes, and a Doc
middleware: C: route "go" needs a name without blanks and slashes, and a Doc
middleware: C: route go is already C's
middleware: C: has no Doc
middleware: C: the alias Write of tool Another is a name or alias of a tool of B
middleware: C: the alias Find of tool Other is a name or alias of a tool of A
middleware: "no name": is no name: use letters, digits and _, a letter first
middleware: no name: declares a gate or routes and has no Open that brings them
middleware: no name: route go is already C's
middleware: B: publishes tools under "dyn__more__", which overlaps "dyn__" of A
middleware: B: tool dyn__x begins with "dyn__", which is A's`)
	for range 3 {
		require.EqualError(t, middleware.Validate(list...), want)
	}
	s, err := middleware.NewSuite(list...)
	require.Nil(t, s)
	require.EqualError(t, err, want)
	require.NoError(t, middleware.Validate())
}

func TestSharedAliasWithinOneOwnerIsNoDefect(t *testing.T) {
	require.NoError(t, middleware.Validate(middleware.Middleware{
		Name: "A", Doc: "a", Tools: toolview.MustSet(tool("One", "o", "Two"), tool("Two", "o")), Deferred: toolview.MustSet(tool("Three", "o")),
	}))
}

func TestSuiteKnowsItsKeysBandsAndGates(t *testing.T) {
	gate := with("Guard", middleware.Instance{Hooks: middleware.Hooks{Gate: passing}})
	a := middleware.Middleware{
		Name: "A", Doc: "a", Aliases: []string{"Ay"}, Tools: tools("One"), Deferred: tools("Two"),
		Segments: []prompt.Segment{{ID: "01_a", Text: "a"}},
	}
	s := suite(t, a, gate)
	require.Equal(t, []string{"01_a", "A", meta.BuiltInSubagents, "Guard"}, s.Keys().Names())
	k, ok := s.Keys().Lookup("Ay")
	require.True(t, ok)
	require.Equal(t, "A", k.Name)
	require.Len(t, s.Bands(), 2)
	require.True(t, s.GatesOf("Guard"))
	require.False(t, s.GatesOf("A"))
	require.False(t, s.GatesOf("Nobody"))
	_, ok = s.Lookup("Nobody")
	require.False(t, ok)
}

func TestPlanClosesAndCascadesWithTheCause(t *testing.T) {
	a, b, c, d, off := named("A"), named("B"), named("C"), named("D"), named("Off")
	b.Requires, c.Requires, d.Requires = []string{"A"}, []string{"B"}, []string{"Off", "A"}
	off.Off = true
	s := suite(t, a, b, off, c, d)
	at := meta.Origin{Layer: "project", File: "settings.yaml", Line: 3}
	fates := func(keys map[string]bool) []middleware.Fate { return s.Plan(state(t, s, keys)) }
	require.Equal(t, []middleware.Fate{
		{Name: "A", Status: middleware.Live},
		{Name: "B", Status: middleware.Live},
		{Name: "Off", Status: middleware.Closed, Cause: "off unless meta.Off is true"},
		{Name: "C", Status: middleware.Live},
		{Name: "D", Status: middleware.Cascaded, Cause: "requires Off, which is closed"},
	}, fates(nil))
	require.Equal(t, []middleware.Fate{
		{Name: "A", Status: middleware.Closed, Cause: "meta.A: false", Origin: at},
		{Name: "B", Status: middleware.Cascaded, Cause: "requires A, which is closed", Origin: at},
		{Name: "Off", Status: middleware.Live},
		{Name: "C", Status: middleware.Cascaded, Cause: "requires B, which is cascaded", Origin: at},
		{Name: "D", Status: middleware.Cascaded, Cause: "requires A, which is closed", Origin: at},
	}, fates(map[string]bool{"A": false, "Off": true, "C": true}), "true does not open what requires something closed")
	require.Equal(t, middleware.Live, s.Plan(nil)[0].Status, "a state that says nothing leaves things as the build has them")
}
