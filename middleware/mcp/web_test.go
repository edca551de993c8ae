//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/mcp"
)

// site is a server over HTTP, made with the SDK's own handler.
type site struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
	srv     *sdk.Server
	wants   string // the Authorization that it wants; "" = none
	tokens  atomic.Int32
}

func newSite(t *testing.T, wants string) *site {
	t.Helper()
	s := &site{wants: wants}
	s.restart()
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// restart forgets every session, as a server that ended would.
func (s *site) restart() {
	s.srv = sdk.NewServer(&sdk.Implementation{Name: "site", Version: "1"}, nil)
	s.add("echo")
	h := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.srv }, nil))
	s.handler.Store(&h)
}

func (s *site) add(name string) {
	s.srv.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " " + string(r.Params.Arguments)}}}, nil
	})
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, s.URL+"/mcp", s.URL)
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"response_types_supported":["code"],"code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["client_secret_post"]}`, s.URL, s.URL+"/authorize", s.URL+"/token")
	case r.URL.Path == "/token":
		_ = r.ParseForm()
		if r.Form.Get("client_id") != "me" || r.Form.Get("client_secret") != "hush" || r.Form.Get("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		s.tokens.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"granted","token_type":"Bearer","expires_in":3600}`)
	case s.wants != "" && r.Header.Get("Authorization") != s.wants:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata=%q`, s.URL+"/.well-known/oauth-protected-resource/mcp"))
		w.WriteHeader(http.StatusUnauthorized)
	default:
		(*s.handler.Load()).ServeHTTP(w, r)
	}
}

func (s *site) server(headers map[string]string) mcp.Server {
	return mcp.Server{Name: "web", URL: s.URL + "/mcp", Headers: headers}
}

func overHTTP(t *testing.T, s mcp.Server) *desk {
	t.Helper()
	return open(t, mcp.Options{Servers: []mcp.Server{s}, Budget: 20 * time.Second, Grace: 200 * time.Millisecond})
}

func TestAServerOverHTTPIsCalledAndFollowedWhenItsToolsChange(t *testing.T) {
	w := newSite(t, "")
	d := overHTTP(t, w.server(nil))
	require.Equal(t, []string{"mcp__web__echo"}, d.tools(), d.said())
	require.Contains(t, d.detail("web"), "ready")
	require.Equal(t, `echo {"z":1,"n":9007199254740993}`, d.call("mcp__web__echo", json.RawMessage(`{"z":1,"n":9007199254740993}`)).Text())
	w.add("later")
	soon(t, "the new tool is there", func() bool { return len(d.tools()) == 2 })
	require.Equal(t, "later {}", d.call("mcp__web__later", map[string]any{}).Text())
}

func TestAServerOverHTTPThatWasRestartedIsReachedAgain(t *testing.T) {
	w := newSite(t, "")
	d := overHTTP(t, w.server(nil))
	require.Equal(t, "echo {}", d.call("mcp__web__echo", map[string]any{}).Text(), d.said())
	w.restart()
	w.CloseClientConnections()
	soon(t, "it can be called again", func() bool { return d.call("mcp__web__echo", map[string]any{}).Text() == "echo {}" })
	require.Equal(t, []string{"mcp__web__echo"}, d.tools())
}

func TestAServerThatWantsATokenSaysSoOnceAndTakesItFromTheHeaders(t *testing.T) {
	w := newSite(t, "Bearer abc")
	d := overHTTP(t, w.server(nil))
	require.Empty(t, d.tools())
	require.Contains(t, d.detail("web"), "failed")
	require.Contains(t, d.said(), "401")
	require.Contains(t, d.said(), "give it a token in headers, or set oauth")

	t.Setenv("WEB_TOKEN", "abc")
	d = overHTTP(t, w.server(map[string]string{"Authorization": "Bearer ${WEB_TOKEN}"}))
	require.Equal(t, []string{"mcp__web__echo"}, d.tools(), d.said())
	require.NotContains(t, string(d.m.Policy), "WEB_TOKEN")
}

func TestAProgramSignsInWithItsOwnCredentials(t *testing.T) {
	w := newSite(t, "Bearer granted")
	s := w.server(nil)
	s.OAuth = &mcp.OAuth{ClientID: "me", Secret: "WEB_SECRET"}
	d := overHTTP(t, s)
	require.Contains(t, d.said(), "WEB_SECRET, which oauth.secret names, is not set")

	t.Setenv("WEB_SECRET", "hush")
	d = overHTTP(t, s)
	require.Equal(t, []string{"mcp__web__echo"}, d.tools(), d.said())
	require.Equal(t, "echo {}", d.call("mcp__web__echo", map[string]any{}).Text())
	require.Equal(t, int32(1), w.tokens.Load(), "one token for all requests")

	t.Setenv("WEB_SECRET", "wrong")
	d = overHTTP(t, s)
	require.Empty(t, d.tools())
	require.Contains(t, d.detail("web"), "failed")
	require.NotContains(t, d.said(), "wrong")
}
