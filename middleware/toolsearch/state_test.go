package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// shelf is a Store in memory. It is safe for concurrent use.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
	broken bool
}

func (s *shelf) Load(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return v, ok, nil
}

func (s *shelf) Save(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return errors.New("the disk is full")
	}
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	s.values[key] = value
	return nil
}

// garden is deferred tools of which "water" finds one.
func garden() []toolview.Tool {
	return []toolview.Tool{
		leaf("mcp__g__water_lawn", "Waters the lawn.", `{"type":"object"}`),
		leaf("mcp__g__plant_tree", "Plants a tree.", `{"type":"object"}`),
		leaf("mcp__map__route", "Plans a route.", `{"type":"object"}`),
	}
}

// show makes the view of an instance over deferred tools.
func show(t *testing.T, m middleware.Middleware, in *middleware.Instance, deferred ...toolview.Tool) *toolview.View {
	t.Helper()
	bands := []toolview.Band{{Owner: "McpMiddleware", Set: toolview.MustSet(deferred...), Deferred: true}, {Owner: Name, Set: m.Tools, State: in.State}}
	return toolview.NewDeriver(bands, nil, nil).View(&toolview.Policy{}, nil)
}

func TestWhatWasFoundIsNamedAfterAResume(t *testing.T) {
	m, store := New(), &shelf{}
	in, err := m.Open(t.Context(), middleware.Env{Store: store})
	require.NoError(t, err)
	v := show(t, m, in, garden()...)
	require.NotContains(t, tail(t, in, v), "Found before")
	run(t, v, `{"query":"water the lawn","limit":1}`)
	text := tail(t, in, v)
	require.Contains(t, text, "Found before and still to be run with `ExecuteExtraTool`: mcp__g__water_lawn.")
	require.Equal(t, 1, strings.Count(text, "mcp__g__water_lawn"), "it is not named a second time")
	require.Contains(t, text, "More tools can be found with `SearchExtraTools` and run with `ExecuteExtraTool`: mcp__g__plant_tree, mcp__map__route.")

	again, err := m.Open(t.Context(), middleware.Env{Store: store, Resumed: true})
	require.NoError(t, err)
	require.Equal(t, text, tail(t, again, show(t, m, again, garden()...)))
	smaller := tail(t, again, show(t, m, again, garden()[1:]...))
	require.NotContains(t, smaller, "water_lawn", "what is gone from the view is not named")
	require.NotContains(t, smaller, "Found before")

	fresh, err := m.Open(t.Context(), middleware.Env{Store: &shelf{}})
	require.NoError(t, err)
	require.NotContains(t, tail(t, fresh, show(t, m, fresh, garden()...)), "Found before", "another session found nothing")
}

func TestAChildFindsForItselfAndAForkGoesOn(t *testing.T) {
	m := New()
	in, err := m.Open(t.Context(), middleware.Env{Store: &shelf{}})
	require.NoError(t, err)
	run(t, show(t, m, in, garden()...), `{"query":"water the lawn","limit":1}`)
	child, err := in.Child(t.Context(), middleware.Env{Store: &shelf{}, Agent: middleware.Agent{Name: "helper"}})
	require.NoError(t, err)
	require.NotContains(t, tail(t, child, show(t, m, child, garden()...)), "Found before")
	run(t, show(t, m, child, garden()...), `{"query":"plant a tree","limit":1}`)
	require.NotContains(t, tail(t, in, show(t, m, in, garden()...)), "Found before and still to be run with `ExecuteExtraTool`: mcp__g__plant_tree")
	fork, err := in.Child(t.Context(), middleware.Env{Store: &shelf{}, Agent: middleware.Agent{Fork: true}})
	require.NoError(t, err)
	require.Contains(t, tail(t, fork, show(t, m, fork, garden()...)), "`ExecuteExtraTool`: mcp__g__water_lawn.")
}

func TestAStoreThatFailsCostsNoSearch(t *testing.T) {
	m, store := New(), &shelf{broken: true}
	in, err := m.Open(t.Context(), middleware.Env{Store: store})
	require.NoError(t, err)
	v := show(t, m, in, garden()...)
	require.Contains(t, run(t, v, `{"query":"water the lawn"}`).Text(), "mcp__g__water_lawn")
	require.Contains(t, tail(t, in, v), "Found before")
	store.values = map[string][]byte{foundKey: []byte("{")}
	_, err = m.Open(t.Context(), middleware.Env{Store: store})
	require.NoError(t, err)
}

func TestTheFoundSetIsBounded(t *testing.T) {
	m, store := New(), &shelf{}
	in, err := m.Open(t.Context(), middleware.Env{Store: store})
	require.NoError(t, err)
	s := in.State.(*state)
	for i := range kept + 5 {
		s.remember(t.Context(), []string{fmt.Sprintf("t%03d", i)})
	}
	s.remember(t.Context(), []string{"t010"})
	require.Len(t, s.known(), kept)
	require.Equal(t, "t010", s.known()[kept-1], "found again, it is the newest")
	var stored []string
	require.NoError(t, json.Unmarshal(store.values[foundKey], &stored))
	require.Equal(t, s.known(), stored)
}

func TestSessionsOfOneSuiteShareIndexesAndNothingElse(t *testing.T) {
	m := New()
	a, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	b, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	va, vb := show(t, m, a, garden()...), show(t, m, b, garden()...)
	x, y := a.State.(*state).index(va), b.State.(*state).index(vb)
	require.Equal(t, x.Digest(), y.Digest())
	tool := func(v *toolview.View) *toolview.Tool {
		e, ok := v.Lookup("mcp__g__water_lawn")
		require.True(t, ok)
		return e.Tool
	}
	require.Same(t, tool(va), x.Search("water", 1)[0].Entry.Tool)
	require.Same(t, tool(vb), y.Search("water", 1)[0].Entry.Tool)
	run(t, va, `{"query":"water"}`)
	require.Empty(t, b.State.(*state).known())
}

func TestManyViewsShareOneBoundedState(t *testing.T) {
	m := New()
	in, err := m.Open(t.Context(), middleware.Env{Store: &shelf{}})
	require.NoError(t, err)
	s := in.State.(*state)
	v := show(t, m, in, garden()...)
	require.Same(t, s.seen(v), s.seen(v))
	require.Same(t, s.index(v), s.index(v))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 3 * remembered {
				other := show(t, m, in, append(garden(), leaf(fmt.Sprintf("t_%d_%d", i, k), "Mows.", `{"type":"object"}`))...)
				s.index(other).Search("route", 5)
				s.announcement(other)
				s.remember(t.Context(), []string{fmt.Sprintf("t_%d_%d", i, k)})
			}
		})
	}
	wg.Wait()
	require.Len(t, s.views, remembered)
	require.Len(t, maps.Clone(s.env.Store.(*shelf).values), 1)
	require.NotEmpty(t, s.index(v).Search("route", 5))
}
