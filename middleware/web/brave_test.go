package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/web"
)

const braveKey = "BSA-very-secret-0123"

// braveServer speaks Brave's web search API and refuses whatever that refuses.
type braveServer struct {
	*httptest.Server
	asked   []*http.Request
	refuse  int
	instead string
}

func serveBrave(t *testing.T) *braveServer {
	t.Helper()
	b := &braveServer{}
	refuse := func(w http.ResponseWriter, status int, code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"ErrorResponse","error":{"id":"1","status":%d,"detail":"no %s","code":%q},"time":1}`, status, braveKey, code)
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked = append(b.asked, r)
		q := r.URL.Query()
		switch {
		case b.refuse == http.StatusFound:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case b.refuse != 0:
			refuse(w, b.refuse, "RATE_LIMITED")
		case b.instead != "":
			fmt.Fprint(w, b.instead)
		case r.Method != http.MethodGet || r.URL.Path != "/res/v1/web/search":
			refuse(w, http.StatusNotFound, "NOT_FOUND")
		case r.Header.Get("X-Subscription-Token") != braveKey:
			refuse(w, http.StatusUnprocessableEntity, "SUBSCRIPTION_TOKEN_INVALID")
		case r.Header.Get("Accept") != "application/json", q.Get("q") == "", len(q.Get("q")) > 400, len(strings.Fields(q.Get("q"))) > 50:
			refuse(w, http.StatusUnprocessableEntity, "VALIDATION")
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"type":"search","query":{"original":"x"},"web":{"type":"search","results":[
				{"type":"search_result","title":"Go &amp; you","url":"https://go.dev/doc","description":"It&#x27;s here","page_age":"2026-01-02T03:04:05","age":"1 month ago","language":"en"},
				{"title":"Two","url":"https://two.example/","description":""}]}}`)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *braveServer) options() web.Options {
	return web.Options{Search: "brave:MY_BRAVE_KEY", BraveURL: b.URL}
}

func TestBraveIsAsked(t *testing.T) {
	t.Setenv("MY_BRAVE_KEY", braveKey+"\n")
	b := serveBrave(t)
	r := call(t, b.options(), "WebSearch", args{"query": "x  y", "limit": 3, "domains": []string{"go.dev", "two.example"}})
	require.Contains(t, r.Text(), "1. Go & you\n   https://go.dev/doc\n   2026-01-02T03:04:05\n   It's here\n2. Two\n   https://two.example/")
	q := b.asked[0].URL.Query()
	require.Equal(t, "x y site:go.dev OR site:two.example", q.Get("q"))
	require.Equal(t, "3", q.Get("count"))
	require.Equal(t, "false", q.Get("text_decorations"))
	require.Empty(t, q.Get("goggles"))

	r = call(t, b.options(), "CodeSearch", args{"query": "x"})
	require.False(t, r.Error, r.Text())
	require.Contains(t, b.asked[1].URL.Query().Get("goggles"), "$boost=3,site=github.com")
}

func TestBravesLimitsOnAQueryAreKept(t *testing.T) {
	t.Setenv("MY_BRAVE_KEY", braveKey)
	b := serveBrave(t)
	for _, q := range []string{strings.Repeat("word ", 199), strings.Repeat("long-word-with-hyphens ", 40), strings.Repeat("ß", 499)} {
		r := call(t, b.options(), "WebSearch", args{"query": q, "domains": []string{"go.dev"}})
		require.False(t, r.Error, r.Text())
		sent := b.asked[len(b.asked)-1].URL.Query().Get("q")
		require.True(t, strings.HasSuffix(sent, " site:go.dev"), sent)
		require.NotContains(t, sent, "\ufffd")
		require.Greater(t, len(sent), 100)
	}
}

func TestBravesKeyIsInNoText(t *testing.T) {
	t.Setenv("MY_BRAVE_KEY", braveKey)
	b := serveBrave(t)
	var said []string
	fails := func(want string) {
		r := call(t, b.options(), "WebSearch", args{"query": "x"})
		require.True(t, r.Error)
		require.Contains(t, r.Text(), want)
		said = append(said, r.Text(), string(r.Structured))
	}
	b.refuse = http.StatusTooManyRequests
	fails("429 Too Many Requests (RATE_LIMITED): the quota of its key is used up for now")
	b.refuse = http.StatusUnauthorized
	fails("its key is refused")
	before := len(b.asked)
	b.refuse = http.StatusFound
	fails("redirects")
	require.Len(t, b.asked, before+1, "the key is sent nowhere else")
	b.refuse, b.instead = 0, "<html>"
	fails("did not answer with JSON")
	b.instead = ""
	t.Setenv("MY_BRAVE_KEY", braveKey+"-old")
	fails("422 Unprocessable Entity (SUBSCRIPTION_TOKEN_INVALID): its key is refused")
	b.Close()
	fails("refused")
	t.Setenv("MY_BRAVE_KEY", braveKey+"\x01")
	fails("Brave")
	m, _ := open(t, b.options())
	for _, text := range append(said, string(m.Policy)) {
		require.NotContains(t, text, braveKey)
	}
	require.Contains(t, string(m.Policy), "MY_BRAVE_KEY")
}

func TestBraveWithoutAKeyIsNotThere(t *testing.T) {
	b := serveBrave(t)
	t.Setenv("MY_BRAVE_KEY", braveKey)
	require.True(t, view(t, b.options()).HasAny([]string{"WebSearch"}))
	t.Setenv("MY_BRAVE_KEY", " ")
	v := view(t, b.options())
	for _, name := range []string{"WebSearch", "CodeSearch"} {
		require.False(t, v.HasAny([]string{name}))
		require.Contains(t, v.Explain(name).Rule, "MY_BRAVE_KEY")
	}
	require.True(t, v.HasAny([]string{"WebFetch"}))
}

func TestNoSettingSendsAKeyElsewhere(t *testing.T) {
	require.NoError(t, web.Options{Search: "brave:BRAVE_API_KEY"}.Check())
	for _, s := range []string{"brave:OPENAI_API_KEY", "brave:BRAVE_API_KEY@https://evil.example", "brave:BSA-brave-0123", "BSA-brave-0123"} {
		o := web.Options{Search: s}
		err := o.Check()
		require.Error(t, err, s)
		require.NotContains(t, err.Error(), strings.TrimPrefix(s, "brave:"), "it may be the key itself")
		m := web.New(o)
		_, err = m.Open(context.Background(), middleware.Env{Policy: m.Policy})
		require.Error(t, err)
	}
}
