package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func tool(name, doc string, params ...string) toolview.Tool {
	props := map[string]any{}
	for _, p := range params {
		props[p] = map[string]string{"type": "string"}
	}
	raw, _ := json.Marshal(map[string]any{"type": "object", "properties": props})
	return toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: doc, Schema: raw,
		Run: func(context.Context, *toolview.Call) (*message.Result, error) { return message.Say(name), nil },
	}
}

// view shows deferred tools, one direct tool and a finder.
func view(t testing.TB, deferred ...toolview.Tool) *toolview.View {
	t.Helper()
	set, err := toolview.NewSet(deferred...)
	require.NoError(t, err)
	finder := tool("Find", "Finds.")
	finder.Finder = true
	return toolview.NewDeriver([]toolview.Band{
		{Owner: "DirectMiddleware", Set: toolview.MustSet(tool("DirectTool", "Sends mail directly."))},
		{Owner: "McpMiddleware", Set: set, Deferred: true},
		{Owner: "FindMiddleware", Set: toolview.MustSet(finder)},
	}, nil, nil).View(&toolview.Policy{}, nil)
}

func names(hits []Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Entry.Tool.Name)
	}
	return out
}

// office is a mixed catalogue in which no word is everywhere.
func office() []toolview.Tool {
	ls := tool("disk_listing", "Shows what a folder holds.", "path")
	ls.Aliases = []string{"dir"}
	return []toolview.Tool{
		tool("ask_helper", "Puts a question to the helper desk.", "question"),
		tool("mcp__graph__createEdge", "Adds an edge between two nodes.", "from_node", "to_node"),
		tool("mcp__graph__createNode", "Adds a node to the graph.", "label"),
		tool("mcp__hub__list_issues", "Lists the issues of a repository.", "repository", "state"),
		tool("mcp__hub__search", "Searches all the code of GitHub.", "text"),
		tool("mcp__wiki__search", "Searches all the pages of Wikis.", "text"),
		tool("mcp__weather__forecast", "查询城市的天气预报。", "city"),
		tool("mcp__map__route", "规划两地之间的路线。", "origin"),
		tool("HTTPServerStart", "Starts a server for local files.", "port"),
		tool("send_parcel", "Sends a parcel.", "address"),
		ls,
	}
}

func TestQueriesFindWhatTheyMean(t *testing.T) {
	x := New(view(t, office()...))
	for _, c := range []struct {
		name, query string
		limit       int
		want        []string
	}{
		{"a full name", "ask_helper", 1, []string{"ask_helper"}},
		{"the words of a name", "ask helper", 1, []string{"ask_helper"}},
		{"a name in another case", "ASK_Helper", 1, []string{"ask_helper"}},
		{"inner capitals", "create edge", 1, []string{"mcp__graph__createEdge"}},
		{"a run of capitals", "http server", 1, []string{"HTTPServerStart"}},
		{"a leaf name", "createedge", 1, []string{"mcp__graph__createEdge"}},
		{"an alias", "dir", 1, []string{"disk_listing"}},
		{"a word written with capitals inside", "github code", 1, []string{"mcp__hub__search"}},
		{"a plural", "issue", 1, []string{"mcp__hub__list_issues"}},
		{"an argument's name", "repository", 1, []string{"mcp__hub__list_issues"}},
		{"a typing error", "forcast", 1, []string{"mcp__weather__forecast"}},
		{"Chinese", "天气预报", 1, []string{"mcp__weather__forecast"}},
		{"a Chinese sentence", "请帮我规划一条路线", 1, []string{"mcp__map__route"}},
		{"one Chinese character", "路", 1, []string{"mcp__map__route"}},
		{"select", "select:send_parcel,createNode, nothing", 1, []string{"send_parcel", "mcp__graph__createNode"}},
		{"select in another case", "Select:SEND_PARCEL", 5, []string{"send_parcel"}},
		{"a word that must match", "create +edge", 5, []string{"mcp__graph__createEdge"}},
		{"a must that excludes the rest", "+parcel createEdge", 5, []string{"send_parcel"}},
		{"a must that nothing has", "create +zeppelin", 5, []string{}},
		{"a telephone number is no must", "+parcel +49151234567", 5, []string{"send_parcel"}},
		{"a number that letters of another script are glued to", "寄送 parcel 到 +49151234567，国家德国", 1, []string{"send_parcel"}},
		{"a name that words are glued to", "请用ask_helper，查询天气预报", 1, []string{"ask_helper"}},
		{"a link that words are glued to", "打开https://example.org/a/b并规划路线", 1, []string{"mcp__map__route"}},
		{"a word of two names", "searches", 5, []string{"mcp__wiki__search", "mcp__hub__search"}},
		{"two names beyond the limit", "disk_listing route", 1, []string{"disk_listing", "mcp__map__route"}},
		{"a leaf that two servers have", "search", 1, []string{"mcp__wiki__search"}},
		{"a leaf that two servers have, within the limit", "search", 2, []string{"mcp__wiki__search", "mcp__hub__search"}},
		{"filler", "can you please help me", 5, []string{}},
		{"nothing", " \t ", 5, []string{}},
		{"punctuation", "+++ ,,, __ select", 5, []string{}},
		{"no room", "ask_helper", 0, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, names(x.Search(c.query, c.limit)))
		})
	}
}

func TestANameOutranksADescription(t *testing.T) {
	x := New(view(t, tool("aaa", "Can export, and export again."), tool("zzz_export", "Writes."), tool("other", "Reads.")))
	require.Equal(t, []string{"zzz_export", "aaa"}, names(x.Search("export", 5)))
}

func TestAQueryNobodyCanServeIsEmpty(t *testing.T) {
	var many []toolview.Tool
	for i := range 300 {
		doc := fmt.Sprintf("Reads record number %d of the ledger.", i)
		if i%30 == 0 {
			doc = fmt.Sprintf("Can send record number %d.", i)
		}
		many = append(many, tool(fmt.Sprintf("ledger_%03d", i), doc))
	}
	x := New(view(t, many...))
	require.Len(t, x.Search("send", 5), 5, "the shared word alone finds")
	require.Empty(t, x.Search("send gmail email", 5))
	require.Empty(t, x.Search("ledger record", 5), "ubiquitous words alone carry no match")
	require.NotEmpty(t, x.Search("ledger record send", 5), "beside another word they count")
}

func TestOnlyDeferredToolsAreFound(t *testing.T) {
	v := view(t, office()...)
	_, there := v.Lookup("DirectTool")
	require.True(t, there)
	x := New(v)
	require.Equal(t, len(office()), x.Len())
	require.NotEmpty(t, x.Search("select:ask_helper", 5))
	require.Empty(t, x.Search("select:DirectTool,Find", 5))
	require.Empty(t, x.Search("DirectTool select mail", 5))
	require.Empty(t, New(nil).Search("ask_helper", 5))
}

func TestAnAliasYieldsToAName(t *testing.T) {
	other := tool("other", "Something else.")
	other.Aliases = []string{"route"}
	x := New(view(t, tool("route", "Plans."), other))
	require.Equal(t, []string{"route"}, names(x.Search("select:route", 5)))
}

func TestConcurrentSearchesAgree(t *testing.T) {
	x := New(view(t, office()...))
	want := names(x.Search("search the wiki pages", 5))
	require.NotEmpty(t, want)
	var wg sync.WaitGroup
	got := make([][]string, 16)
	for i := range got {
		wg.Go(func() { got[i] = names(x.Search("search the wiki pages", 5)) })
	}
	wg.Wait()
	for _, g := range got {
		require.Equal(t, want, g)
	}
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{"", "ask helper", "select:a,b", "+edge create", "天气", "select:", "+", "HTTPServer's x", "\xff\xfe", strings.Repeat("ab ", 3000), "search +search"} {
		f.Add(q, 5)
	}
	x := New(view(f, office()...))
	f.Fuzz(func(t *testing.T, q string, limit int) {
		limit %= 20
		hits := x.Search(q, limit)
		require.LessOrEqual(t, len(hits), x.Len())
		require.Equal(t, hits, x.Search(q, limit), "one query, one answer")
		seen := names(hits)
		slices.Sort(seen)
		require.Len(t, slices.Compact(seen), len(hits), "no tool twice")
		for _, h := range hits {
			require.True(t, h.Entry.Deferred)
			require.GreaterOrEqual(t, h.Score, 0.0)
		}
		if limit < 1 {
			require.Empty(t, hits)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	x := New(view(b, office()...))
	for b.Loop() {
		x.Search("create an edge between nodes", 5)
	}
}

func TestTiesAreBrokenByName(t *testing.T) {
	x := New(view(t, tool("mcp__b__mow", "Mows the lawn."), tool("mcp__a__mow", "Mows the lawn."), tool("mcp__c__mow", "Mows the lawn."), tool("other", "Reads.")))
	hits := x.Search("lawn", 5)
	require.Equal(t, []string{"mcp__a__mow", "mcp__b__mow", "mcp__c__mow"}, names(hits))
	require.InDelta(t, hits[0].Score, hits[2].Score, 0)
}

func TestAWordThatIsANameKeepsASeatAmongBetterOnes(t *testing.T) {
	var tools []toolview.Tool
	for i := range 12 {
		tools = append(tools, tool(fmt.Sprintf("mcp__rail__train_ticket_%c", 'a'+i), "Searches train tickets between two stations."))
	}
	for i := range 20 {
		tools = append(tools, tool(fmt.Sprintf("other_%d", i), "Waters plants."))
	}
	tools = append(tools, tool("mcp__wiki__search", "Looks through pages."))
	x := New(view(t, tools...))
	found := names(x.Search("search train tickets between stations", 5))
	require.Len(t, found, 5)
	require.Equal(t, "mcp__wiki__search", found[4], "it was meant as a word, but may be a name")
	require.Equal(t, "mcp__wiki__search", names(x.Search("train tickets mcp__wiki__search", 5))[0], "written like a name it comes first")
	require.Equal(t, []string{"mcp__wiki__search"}, names(x.Search("search", 1)))
}

func TestAShortNameIsFoundAsWellAsTheLongOne(t *testing.T) {
	x := New(view(t, office()...))
	for _, query := range []string{"ask_helper", "ask-helper", "askHelper", "ask helper", "helper"} {
		require.Equal(t, "ask_helper", names(x.Search(query, 5))[0], query)
	}
	for _, query := range []string{"mcp__graph__createEdge", "createEdge", "create_edge", "create edge", "graph edge"} {
		require.Equal(t, "mcp__graph__createEdge", names(x.Search(query, 5))[0], query)
	}
	require.Equal(t, "mcp__weather__forecast", names(x.Search("明天天气怎么样", 5))[0])
}

func TestAQueryMayUseWordsThatTheToolDoesNot(t *testing.T) {
	x := New(view(t, office()...))
	require.Equal(t, "mcp__weather__forecast", names(x.Search("climate", 5))[0], "English for Chinese")
	require.Equal(t, "send_parcel", names(x.Search("寄送包裹", 5))[0], "Chinese for English")
	require.Equal(t, "disk_listing", names(x.Search("browse /home/me/pictures", 5))[0], "a path is a folder")
}

func TestReasonsAddUpToWhatWasFound(t *testing.T) {
	x := New(view(t, office()...))
	for _, query := range []string{"create edge", "forcast", "climate", "select:ask_helper", "createEdge", "seach the wiki pages. then send a parcel"} {
		plain, why := x.Search(query, 5), x.Explain(query, 5)
		require.Len(t, why, len(plain), query)
		require.NotEmpty(t, why, query)
		for i, e := range why {
			require.Equal(t, plain[i], e.Hit, query)
			require.NotEmpty(t, e.Why, query)
		}
	}
	how := func(query string) (out []string) {
		for _, r := range x.Explain(query, 1)[0].Why {
			out = append(out, strings.TrimSpace(r.How+" "+r.Word+" "+r.Match))
		}
		return out
	}
	require.Contains(t, how("create edges"), "word edges edg")
	require.Contains(t, how("forcast"), "spelling forcast forecast")
	require.Contains(t, how("createedge"), "called createedge mcp__graph__createEdge")
	require.Contains(t, how("climate"), "synonym climate weather forecast 天气")
	require.Contains(t, how("create edge"), "name")
}

func TestALongQueryIsReadToItsLimit(t *testing.T) {
	x := New(view(t, office()...))
	long := strings.Repeat("please help us ", maxQuery/14)
	require.NotEmpty(t, x.Search("parcel "+long, 5))
	require.Empty(t, x.Search(long+" "+long+" parcel", 5))
}

func TestANumberIsNoNameBeforeAllOthers(t *testing.T) {
	tools := append(office(), tool("mcp__srv__2", "Reads a gauge."))
	x := New(view(t, tools...))
	require.Equal(t, []string{"mcp__srv__2"}, names(x.Search("2", 5)), "alone it is the name")
	found := names(x.Search("send a parcel of 2 kilos", 5))
	require.Equal(t, "send_parcel", found[0])
	require.Contains(t, found, "mcp__srv__2", "yet it keeps its seat")
}
