package toolsearch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

// stated is a view whose deferred tools carry a session's state.
func stated(t *testing.T, state any, tools ...toolview.Tool) *toolview.View {
	t.Helper()
	finder := tool("Find", "Finds.")
	finder.Finder = true
	return toolview.NewDeriver([]toolview.Band{
		{Owner: "McpMiddleware", Set: toolview.MustSet(tools...), Deferred: true, State: state},
		{Owner: "FindMiddleware", Set: toolview.MustSet(finder)},
	}, nil, nil).View(&toolview.Policy{}, nil)
}

func TestEqualViewsShareOneIndexAndKeepTheirOwnTools(t *testing.T) {
	c := NewCache(4)
	a := c.Index(stated(t, "session a", office()...), nil)
	b := c.Index(stated(t, "session b", office()...), nil)
	require.Same(t, a.core, b.core)
	require.Equal(t, a.Digest(), b.Digest())
	require.Equal(t, "session a", a.Search("create edge", 1)[0].Entry.State)
	require.Equal(t, "session b", b.Search("create edge", 1)[0].Entry.State)
	require.NotSame(t, a.Search("create edge", 1)[0].Entry.Tool, b.Search("create edge", 1)[0].Entry.Tool)

	for name, change := range map[string]func(*toolview.Tool){
		"a doc":     func(t *toolview.Tool) { t.Doc += " Now." },
		"a title":   func(t *toolview.Tool) { t.Title = "Now" },
		"a schema":  func(t *toolview.Tool) { t.Schema = tool("x", "x", "now").Schema },
		"an alias":  func(t *toolview.Tool) { t.Aliases = []string{"now"} },
		"a family":  func(t *toolview.Tool) { t.Family = "now" },
		"the owner": nil,
	} {
		tools := office()
		v := view(t, tools...)
		if change != nil {
			change(&tools[0])
			v = stated(t, nil, tools...)
		} else {
			e := deferred(v)
			for i := range e {
				e[i].Owner = "OtherMiddleware"
			}
			require.NotSame(t, a.core, c.index(e, nil).core, name)
			continue
		}
		require.NotSame(t, a.core, c.Index(v, nil).core, name)
	}
}

func TestTheCacheForgetsWhatWasUsedLongAgo(t *testing.T) {
	c := NewCache(2)
	of := func(n int) *core {
		return c.Index(view(t, tool(fmt.Sprintf("tool_%d", n), "Does.")), nil).core
	}
	first := of(1)
	require.Same(t, first, of(1))
	of(2)
	require.Same(t, first, of(1), "it was used just now")
	of(3)
	require.Len(t, c.cores, 2)
	require.Same(t, first, of(1))
	of(2)
	of(3)
	require.NotSame(t, first, of(1), "it was forgotten and made anew")
}

func TestOneIndexIsMadeForManyWhoAskAtOnce(t *testing.T) {
	c := NewCache(2)
	v := view(t, office()...)
	cores := make([]*core, 8)
	var wg sync.WaitGroup
	for i := range cores {
		wg.Go(func() {
			x := c.Index(v, nil)
			cores[i] = x.core
			x.Search("create edge", 5)
		})
	}
	wg.Wait()
	for _, other := range cores {
		require.Same(t, cores[0], other)
	}
}

func TestAChangeReadsOnlyWhatChanged(t *testing.T) {
	c := NewCache(4)
	var tools []toolview.Tool
	for i := range 200 {
		tools = append(tools, tool(fmt.Sprintf("mcp__s__tool_%03d", i), fmt.Sprintf("Reads gauge %d.", i)))
	}
	x := c.Index(view(t, tools...), nil)
	tools[100].Doc = "Waters the garden."
	y := c.Index(view(t, tools...), x)
	require.Same(t, x.parts[0].segment, y.parts[0].segment, "what did not change was not read again")
	require.Equal(t, 1, y.parts[1].tools)
	require.Empty(t, x.Search("water garden", 5), "the old index is as it was")
	require.Equal(t, []string{"mcp__s__tool_100"}, names(y.Search("water garden", 5)))
	require.Contains(t, names(x.Search("+gauge 100", 200)), "mcp__s__tool_100")
	require.NotContains(t, names(y.Search("+gauge 100", 200)), "mcp__s__tool_100", "what is gone is not found")

	z := c.Index(view(t, tools[:199]...), y)
	require.Same(t, x.parts[0].segment, z.parts[0].segment)
	require.NotEmpty(t, y.Search("select:tool_199", 5))
	require.Empty(t, z.Search("select:tool_199", 5))
}

// An index must be a function of its view: whatever way led to it, every query finds the same with the same scores.
func TestAnIndexDoesNotDependOnTheWayToIt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := []string{"search", "mail", "weather", "graph", "delete", "create", "file", "route", "天气", "路线", "issue", "GitHub", "invoice", "train", "ticket", "forecast"}
	some := func(n int) (out string) {
		for range n {
			out += word[r.IntN(len(word))] + " "
		}
		return out
	}
	make1 := func(i int) toolview.Tool {
		return tool(fmt.Sprintf("mcp__srv%d__%s_%d", i%3, []string{"get", "sendMail", "plan"}[i%3], i), some(5)+".", "city", "file_path")
	}
	var tools []toolview.Tool
	for i := range 120 {
		tools = append(tools, make1(i))
	}
	c := NewCache(1)
	x := c.Index(view(t, tools...), nil)
	deepest := 0
	for step := range 60 {
		switch at := r.IntN(len(tools)); step % 4 {
		case 0:
			tools[at].Doc = some(4) + "."
		case 1:
			tools = append(slices.Clone(tools), make1(1000+step))
		case 2:
			tools = slices.Delete(slices.Clone(tools), at, at+1)
		case 3:
			tools = slices.Clone(tools)
			for k := range r.IntN(9) {
				tools[(at+k)%len(tools)].Doc = some(6) + "."
			}
		}
		x = c.Index(view(t, tools...), x)
		deepest = max(deepest, len(x.parts))
		fresh := New(view(t, tools...))
		require.Equal(t, fresh.Digest(), x.Digest())
		for range 5 {
			query := some(1 + r.IntN(4))
			if r.IntN(3) == 0 {
				query = typo(query, r)
			}
			a, b := x.Search(query, 20), fresh.Search(query, 20)
			require.Equal(t, names(b), names(a), "step %d: %s", step, query)
			for i := range a {
				require.InDelta(t, b[i].Score, a[i].Score, 0)
			}
		}
	}
	require.Greater(t, deepest, 3, "several pieces were searched together")
}
