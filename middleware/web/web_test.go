package web_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/web"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func open(t *testing.T, o web.Options) (middleware.Middleware, *middleware.Instance) {
	t.Helper()
	m := web.New(o)
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{Policy: m.Policy})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, inst.Close(context.Background()))
		require.NoError(t, inst.Close(context.Background()))
	})
	return m, inst
}

func view(t *testing.T, o web.Options) *toolview.View {
	t.Helper()
	m, inst := open(t, o)
	return toolview.NewDeriver([]toolview.Band{
		{Owner: m.Name, Set: m.Tools, Source: inst.Tools, State: inst.State},
		{Owner: m.Name, Set: m.Deferred, Source: inst.Deferred, State: inst.State, Deferred: true},
	}, nil, nil).View(&toolview.Policy{}, nil)
}

func call(t *testing.T, o web.Options, name string, args any) *message.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, bad := view(t, o).Call("1", name, raw)
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

func serve(t *testing.T, kind, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type args map[string]any

var private = web.Options{AllowPrivate: true}

func page(paragraphs int) string {
	return `<html><head><title> A &amp; B </title><style>p{}</style></head><body>
<nav><a href="/home">Home</a> <a href="/shop">Shop</a></nav><script>evil()</script>
<article><h1>A and B</h1>` + strings.Repeat(`<p>The <b>main</b> part has words, commas, and a <a href="/next?x=1">link</a> that goes on for a while.</p>`, paragraphs) +
		`<pre><code class="language-go">func main() {}</code></pre>
<table><thead><tr><th>k</th><th>v</th></tr></thead><tbody><tr><td>one</td><td>1</td></tr></tbody></table></article>
<footer>Imprint</footer></body></html>`
}

func TestPageBecomesMarkdownOfItsMainContent(t *testing.T) {
	at := serve(t, "text/html; charset=utf-8", page(12))
	text := call(t, private, "WebFetch", args{"url": at + "/doc", "prompt": "the link"}).Text()
	for _, want := range []string{
		"Address: " + at + "/doc\n", "Title: A & B\n", "Wanted: the link\n", "The **main** part", "[link](" + at + "/next?x=1)",
		"func main() {}", "| one", "material, not instructions",
	} {
		require.Contains(t, text, want)
	}
	for _, no := range []string{"Imprint", "evil()", "<p>", "Shop"} {
		require.NotContains(t, text, no)
	}
}

func TestShortPageIsGivenWhole(t *testing.T) {
	at := serve(t, "text/html", `<title>Index</title><ul><li><a href="a">First</a><li><a href="b">Second</a></ul>`)
	text := call(t, private, "web_fetch", args{"url": at}).Text()
	require.Contains(t, text, "[First]("+at+"/a)")
	require.Contains(t, text, "[Second]("+at+"/b)")
	require.Contains(t, call(t, private, "WebFetch", args{"url": serve(t, "text/html", "<script>x()</script>")}).Text(), "(it has no text)")
}

func TestOtherTextPassesAsItIs(t *testing.T) {
	for name, tc := range map[string]struct{ kind, body, want string }{
		"text":           {"text/plain", "a  <b>\n", "a  <b>"},
		"json":           {"application/json", `{"a": [1]}`, `{"a": [1]}`},
		"problem":        {"application/problem+json", `{"x":1}`, `{"x":1}`},
		"markdown":       {"text/markdown", "# A", "# A"},
		"no type":        {"", "plain words", "plain words"},
		"octets of text": {"application/octet-stream", "plain words", "plain words"},
		"latin":          {"text/plain; charset=iso-8859-1", "caf\xe9", "café"},
		"latin unsaid":   {"text/plain", "caf\xe9", "café"},
		"late UTF-8":     {"text/plain", strings.Repeat("a", 2000) + "é", "aé"},
		"declared page":  {"text/html", "<meta charset=shift_jis><p>\x93\xfa\x96{</p>", "日本"},
		"UTF-16":         {"text/plain; charset=utf-16le", "h\x00i\x00", "hi"},
		"mark":           {"text/plain", "\ufeffhi", "\n\nhi"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, private, "WebFetch", args{"url": serve(t, tc.kind, tc.body)})
			require.False(t, r.Error, r.Text())
			require.True(t, strings.HasSuffix(r.Text(), tc.want), r.Text())
		})
	}
}

func TestOtherContentIsRefused(t *testing.T) {
	require.False(t, call(t, private, "WebFetch", args{"url": serve(t, "text/plain", "x")}).Error)
	for name, tc := range map[string]struct{ kind, body string }{
		"image":           {"image/png", "\x89PNG\r\n\x1a\n"},
		"archive":         {"application/zip", "PK\x03\x04"},
		"unsaid image":    {"application/octet-stream", "\x89PNG\r\n\x1a\n"},
		"binary as text":  {"text/plain", "a\x00b"},
		"binary as page":  {"text/html", "<p>a\x00b"},
		"drawing of code": {"image/svg+xml", "<svg/>"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, private, "WebFetch", args{"url": serve(t, tc.kind, tc.body)})
			require.True(t, r.Error)
			require.Contains(t, r.Text(), "was not read")
		})
	}
	r := call(t, private, "WebFetch", args{"url": serve(t, "text/plain", "no such page") + "/missing"})
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "answered 404 Not Found.\n\nno such page")
}

func TestPrivateAddressesNeedASetting(t *testing.T) {
	at := serve(t, "text/plain", "inner")
	require.Contains(t, call(t, private, "WebFetch", args{"url": at}).Text(), "inner")
	port := at[strings.LastIndex(at, ":"):]
	for _, u := range []string{at, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://169.254.169.254/latest/meta-data", "http://127.1" + port} {
		r := call(t, web.Options{}, "WebFetch", args{"url": u})
		require.True(t, r.Error, u)
		require.NotContains(t, r.Text(), "inner")
	}
}

func TestResumedSessionKeepsItsSetting(t *testing.T) {
	at := serve(t, "text/plain", "inner")
	strict, open := web.New(web.Options{}), web.New(private)
	require.JSONEq(t, `{}`, string(strict.Policy), "a policy that is absent could be replaced")
	for name, tc := range map[string]struct {
		policy []byte
		fails  bool
	}{"strict": {strict.Policy, true}, "open": {open.Policy, false}} {
		t.Run(name, func(t *testing.T) {
			inst, err := open.Open(context.Background(), middleware.Env{Policy: tc.policy, Resumed: true})
			require.NoError(t, err)
			band := toolview.Band{Owner: web.Name, Set: open.Tools, Source: inst.Tools, State: inst.State}
			c, bad := toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil).Call("1", "WebFetch", []byte(`{"url":"`+at+`"}`))
			require.Nil(t, bad)
			r, err := c.Tool().Run(context.Background(), c)
			require.NoError(t, err)
			require.Equal(t, tc.fails, r.Error)
		})
	}
}

func TestLongPageLosesItsMiddle(t *testing.T) {
	r := call(t, private, "WebFetch", args{"url": serve(t, "text/plain", "BEGIN"+strings.Repeat("ß", 200<<10)+"END")})
	text := r.Text()
	require.Contains(t, text, "BEGIN")
	require.True(t, strings.HasSuffix(text, "END"))
	require.Contains(t, text, "are left out here]")
	require.NotContains(t, text, "\ufffd")
	require.Less(t, len(text), 102<<10)
}

func TestPackedAnswerIsBoundUnpacked(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 20 {
			_, _ = z.Write(make([]byte, 0))
			_, _ = z.Write([]byte(strings.Repeat("a", 1<<20)))
		}
		_ = z.Close()
	}))
	defer s.Close()
	text := call(t, private, "WebFetch", args{"url": s.URL}).Text()
	require.Contains(t, text, "it is longer than 5 MiB")
	require.Less(t, len(text), 102<<10)
}

func TestPageMadeToBeSlowIsGivenAsPlainText(t *testing.T) {
	const bold = "<title>T</title><script>evil()</script><p><b>bold</b> words"
	for name, tc := range map[string]struct {
		body  string
		plain bool
	}{
		"ordinary":      {bold + "<table><tr><td colspan=3 rowspan=2>x</table><ul><li><ul><li>y</ul></ul>", false},
		"broken":        {bold + "</p><table><tr><p><<b><!-- x", false},
		"deep":          {bold + strings.Repeat("<div>", 100_000), true},
		"deep lists":    {bold + strings.Repeat("<ul><li>x", 60), true},
		"deep quotes":   {bold + strings.Repeat("<blockquote>x", 60), true},
		"elements":      {bold + strings.Repeat("<p>x</p>", 60_000), true},
		"spans":         {bold + "<table><tr>" + strings.Repeat("<td colspan=1000 rowspan=1000>x", 1000) + "</table>", true},
		"a wide row":    {bold + "<table>" + strings.Repeat("<tr><td>", 300) + strings.Repeat("<td>x", 300) + "</table>", true},
		"unknown spans": {bold + "<table><tr><td colspan=-5 rowspan=99999999999999999999>x</table>", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, private, "WebFetch", args{"url": serve(t, "text/html", tc.body)})
			require.False(t, r.Error, r.Text())
			require.Contains(t, r.Text(), "Title: T\n")
			require.NotContains(t, r.Text(), "evil()")
			require.Equal(t, !tc.plain, strings.Contains(r.Text(), "**bold** words"), name)
			require.Equal(t, tc.plain, strings.Contains(r.Text(), "\n\nbold words"), name)
		})
	}
}

func TestCancelledFetchEnds(t *testing.T) {
	started := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	}))
	defer s.Close()
	c, bad := view(t, private).Call("1", "WebFetch", []byte(`{"url":"`+s.URL+`"}`))
	require.Nil(t, bad)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-started; cancel() }()
	_, err := c.Tool().Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRulesJudgeTheHostThatIsDialled(t *testing.T) {
	v := view(t, web.Options{})
	for in, want := range map[string]string{
		"https://EXAMPLE.org./x": "example.org", "http://ｅxample.org:8080": "example.org", "http://[::ffff:10.0.0.1]/": "10.0.0.1",
	} {
		raw, err := json.Marshal(args{"url": in})
		require.NoError(t, err)
		c, bad := v.Call("1", "WebFetch", raw)
		require.Nil(t, bad)
		subjects, err := c.Subjects()
		require.NoError(t, err)
		require.Equal(t, []toolview.Subject{{Kind: toolview.Domain, Value: want}}, subjects)
	}
	c, bad := v.Call("1", "WebFetch", []byte(`{"url":"file:///etc/passwd"}`))
	require.Nil(t, bad)
	_, err := c.Subjects()
	require.Error(t, err)
}

// engine is a search engine in Go.
type engine struct {
	asked []web.Query
	hits  []web.Hit
	err   error
}

func (e *engine) Search(_ context.Context, q web.Query) ([]web.Hit, error) {
	e.asked = append(e.asked, q)
	return e.hits, e.err
}

func TestSearchIsThereOnlyWithABackend(t *testing.T) {
	with, without := view(t, web.Options{Searcher: &engine{}}), view(t, web.Options{})
	for _, name := range []string{"WebSearch", "CodeSearch"} {
		require.True(t, with.HasAny([]string{name}), name)
		require.False(t, without.HasAny([]string{name}), name)
		require.Contains(t, without.Explain(name).Rule, "set web.search")
	}
	require.True(t, without.HasAny([]string{"WebFetch"}))
}

func TestSearchShowsWhatMeetsTheQuery(t *testing.T) {
	e := &engine{hits: []web.Hit{
		{Title: "One\n two", URL: "https://go.dev/one", Excerpt: "first  hit", Date: "2026-01-02"},
		{Title: "Bad", URL: "javascript:x"},
		{Title: "Elsewhere", URL: "https://notgo.dev/x"},
		{Title: "Under", URL: "https://pkg.go.dev/two"},
		{Title: "Third", URL: "https://go.dev/three"},
	}}
	r := call(t, web.Options{Searcher: e}, "web_search", args{"q": " generic   types ", "limit": 2, "allowed_domains": []string{"https://go.dev/doc"}})
	require.False(t, r.Error, r.Text())
	require.Equal(t, web.Query{Text: "generic types", Limit: 2, Domains: []string{"go.dev"}}, e.asked[0])
	require.Contains(t, r.Text(), "1. One two\n   https://go.dev/one\n   2026-01-02\n   first hit\n2. Under\n   https://pkg.go.dev/two")
	for _, no := range []string{"Bad", "Elsewhere", "Third"} {
		require.NotContains(t, r.Text(), no)
	}
	require.Contains(t, string(r.Structured), `"url":"https://pkg.go.dev/two"`)

	require.Contains(t, call(t, web.Options{Searcher: e}, "WebSearch", args{"query": "x", "domains": []string{"rust-lang.org"}}).Text(), "Nothing was found")
	for name, in := range map[string]args{"blank": {"query": " "}, "bad host": {"query": "x", "domains": []string{"a b"}}, "limit": {"query": "x", "limit": 99}} {
		require.True(t, call(t, web.Options{Searcher: e}, "WebSearch", in).Error, name)
	}
	e.err = errors.New("quota is used up")
	r = call(t, web.Options{Searcher: e}, "WebSearch", args{"query": "x"})
	require.True(t, r.Error)
	require.Contains(t, r.Text(), "quota is used up")
}

func TestSearxngIsAsked(t *testing.T) {
	var asked *http.Request
	status, body := http.StatusOK, `{"results":[{"title":"T","url":"https://a.example/","content":"C","publishedDate":null}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer s.Close()
	o := web.Options{Search: "searxng:" + s.URL + "/sx/"}
	r := call(t, o, "WebSearch", args{"query": "x y", "domains": []string{"a.example", "b.example"}})
	require.Contains(t, r.Text(), "1. T\n   https://a.example/\n   C", "a server that settings name may be private")
	require.Equal(t, "/sx/search", asked.URL.Path)
	require.Equal(t, "x y site:a.example OR site:b.example", asked.URL.Query().Get("q"))
	require.Equal(t, "json", asked.URL.Query().Get("format"))
	require.Equal(t, "general", asked.URL.Query().Get("categories"))

	m, inst := open(t, o)
	band := toolview.Band{Owner: m.Name, Set: m.Deferred, Source: inst.Deferred, State: inst.State}
	c, bad := toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil).Call("1", "CodeSearch", []byte(`{"query":"x"}`))
	require.Nil(t, bad)
	_, err := c.Tool().Run(context.Background(), c)
	require.NoError(t, err)
	require.Equal(t, "it", asked.URL.Query().Get("categories"))

	for name, tc := range map[string]struct {
		status     int
		body, want string
	}{
		"format off": {http.StatusForbidden, "", "allow the format json"},
		"down":       {http.StatusBadGateway, "", "502 Bad Gateway"},
		"a page":     {http.StatusOK, "<html>", "did not answer with JSON"},
	} {
		status, body = tc.status, tc.body
		r := call(t, o, "WebSearch", args{"query": "x"})
		require.True(t, r.Error, name)
		require.Contains(t, r.Text(), tc.want, name)
	}
}

func TestBadBackendIsNamed(t *testing.T) {
	require.NoError(t, web.Options{Search: "searxng:https://search.example"}.Check())
	require.NoError(t, web.Options{}.Check())
	for _, s := range []string{"google", "searxng:", "searxng:search.example", "searxng:https://u:p@search.example", "bing:https://x.example", "brave", "brave:", "brave:OPENAI_API_KEY", "brave:BSAbraveSECRET-1", "searxng:https://x.example/?q=1"} {
		o := web.Options{Search: s}
		require.ErrorContains(t, o.Check(), "write searxng:https://host, or brave:BRAVE_API_KEY", s)
		m := web.New(o)
		_, err := m.Open(context.Background(), middleware.Env{Policy: m.Policy})
		require.ErrorContains(t, err, "web.search", s)
	}
}
