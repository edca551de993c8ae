package toolsearch

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

//go:embed testdata/catalog.txt
var catalog string

// ownCatalogue reads the repository's own tools and queries.
func ownCatalogue(t *testing.T) (tools []toolview.Tool, queries []judged) {
	t.Helper()
	for line := range strings.Lines(catalog) {
		line = strings.TrimSpace(line)
		if query, ok := strings.CutPrefix(line, "? "); ok {
			queries = append(queries, judged{Query: query, Relevant: []string{tools[len(tools)-1].Name}})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 3, line)
		tools = append(tools, tool(cells[0], cells[1], strings.Fields(cells[2])...))
	}
	require.Greater(t, len(queries), 150)
	return tools, queries
}

func TestTheRightToolIsFirstOrNearlySo(t *testing.T) {
	tools, queries := ownCatalogue(t)
	x := New(view(t, tools...))
	r := rand.New(rand.NewPCG(5, 6))
	var clean, slipped quality
	for _, q := range queries {
		found := x.Search(q.Query, 10)
		if len(found) == 0 || found[0].Entry.Tool.Name != q.Relevant[0] {
			t.Logf("%q should find %s first, finds %v", q.Query, q.Relevant[0], names(found[:min(3, len(found))]))
		}
		clean.add(found, q.Relevant)
		slipped.add(x.Search(typo(q.Query, r), 10), q.Relevant)
	}
	t.Logf("nDCG@10 %.3f, first %.3f, in five %.3f; with a slip %.3f", clean.ndcg/clean.n, clean.hit1/clean.n, clean.hit5/clean.n, slipped.ndcg/slipped.n)
	require.Greater(t, clean.ndcg/clean.n, 0.80)
	require.Greater(t, clean.hit5/clean.n, 0.85)
	require.Greater(t, slipped.ndcg/slipped.n, clean.ndcg/clean.n-0.15)
}

func TestWhatNoToolDoesFindsNothing(t *testing.T) {
	tools, _ := ownCatalogue(t)
	x := New(view(t, tools...))
	require.NotEmpty(t, x.Search("send an email", 5), "what a tool does is found")
	for _, query := range []string{"sharpen knives", "zebra migration corridor", "xyzzy plugh", "吃葡萄"} {
		require.Empty(t, names(x.Search(query, 5)), query)
	}
}
