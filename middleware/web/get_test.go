package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview/address"
)

func serve(t *testing.T, h http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return u
}

// only lets one server through.
func only(u *url.URL) func(netip.AddrPort) error {
	return func(to netip.AddrPort) error {
		if to.String() != u.Host {
			return address.Refuse("%s is not of the public net", to)
		}
		return nil
	}
}

func TestEveryHopIsChecked(t *testing.T) {
	reached := false
	inner := serve(t, func(w http.ResponseWriter, _ *http.Request) { reached = true; fmt.Fprint(w, "secret") })
	target := ""
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			fmt.Fprint(w, "end")
			return
		}
		http.Redirect(w, r, target, http.StatusFound)
	})
	for name, tc := range map[string]struct{ to, want string }{
		"private address": {inner.String(), "it redirects to where it may not"},
		"other scheme":    {"file:///etc/passwd", "only http:// and https://"},
		"with a password": {"http://u:p@" + outer.Host + "/end", "user name or a password"},
		"odd spelling":    {"http://2130706433/", "looks like an address"},
		"for ever":        {"/again", "redirects more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGetter(only(outer))
			defer g.client.CloseIdleConnections()
			target = "/end"
			r, err := g.fetch(context.Background(), outer, accepted)
			require.NoError(t, err)
			require.Equal(t, "end", string(r.body))

			target = tc.to
			_, err = g.fetch(context.Background(), outer, accepted)
			require.Error(t, err)
			require.Contains(t, g.why(err), tc.want)
			require.False(t, reached)
		})
	}
}

func TestDialIsJudgedAfterTheNameWasResolved(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	// The name says nothing of where it leads, so only the dial can tell.
	named := *u
	named.Host = "localhost:" + u.Port()
	free := newGetter(nil)
	defer free.client.CloseIdleConnections()
	r, err := free.fetch(context.Background(), &named, accepted)
	require.NoError(t, err)
	require.Equal(t, "here", string(r.body))

	g := newGetter(address.Public)
	_, err = g.fetch(context.Background(), &named, accepted)
	require.Error(t, err)
	require.Contains(t, g.why(err), "is not an address of the public net, and web.allow_private is false")
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxied := false
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied = true })
	t.Setenv("HTTP_PROXY", proxy.String())
	t.Setenv("http_proxy", proxy.String())
	g := newGetter(address.Public)
	require.Nil(t, g.client.Transport.(*http.Transport).Proxy)
	u, err := address.Parse("http://10.0.0.1/")
	require.NoError(t, err)
	_, err = g.fetch(context.Background(), u, accepted)
	require.Error(t, err)
	require.False(t, proxied)
}

func TestRedirectToAnotherHostIsLeftToTheCaller(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.example/x#y", http.StatusMovedPermanently)
	})
	g := newGetter(nil)
	defer g.client.CloseIdleConnections()
	r, err := g.fetch(context.Background(), u, accepted)
	require.NoError(t, err)
	require.Equal(t, "https://other.example/x", r.elsewhere.String())
	require.Empty(t, r.body)
}

func TestSlowServerIsGivenUp(t *testing.T) {
	gone := make(chan struct{}, 2)
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	g := newGetter(nil)
	g.time = 50 * time.Millisecond
	_, err := g.fetch(context.Background(), u, accepted)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "it took longer than 50ms", g.why(err))
	<-gone

	g.time = maxTime
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = g.fetch(ctx, u, accepted)
	require.ErrorIs(t, err, context.Canceled)
}

func TestReadingEndsAtTheLimit(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "peri", r.Header.Get("User-Agent"))
		require.Equal(t, http.MethodGet, r.Method)
		_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 1000)))
	})
	g := newGetter(nil)
	defer g.client.CloseIdleConnections()
	for limit, more := range map[int64]bool{999: true, 1000: false} {
		g.read = limit
		r, err := g.fetch(context.Background(), u, accepted)
		require.NoError(t, err)
		require.Len(t, r.body, int(limit))
		require.Equal(t, more, r.more)
	}
}
