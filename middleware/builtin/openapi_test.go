package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

const tides = `openapi: 3.0.3
info: {title: Tides, version: "1"}
paths:
  /height:
    get: {operationId: height, responses: {"200": {description: ok}}}
  /alarm:
    delete: {operationId: silence, responses: {"200": {description: ok}}}
`

func TestASourceOfSettingsIsCalledWithItsKeyAndListed(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("X-Key")
		fmt.Fprint(w, "2 m")
	}))
	t.Cleanup(server.Close)
	t.Setenv("TIDE_KEY", "wet-secret")
	s := newSite(t, "")
	s.write("tides.yaml", tides)
	s.writeHome("openapi: {sources: {tides: {document: tides.yaml, base: '" + server.URL + "', auth: {type: apiKey, name: X-Key, value: '${TIDE_KEY}'}, tools: {deny: [silence]}}}}\n")
	sess := s.open(script.New(), "")
	require.True(t, sess.View().Explain("api__tides__height").Visible)
	require.False(t, sess.View().Explain("api__tides__silence").Visible, "its own list denies it")
	var detail string
	for _, f := range sess.Surface().Of("OpenAPIMiddleware") {
		detail += f.Name + " " + f.Detail + "\n"
		require.NotContains(t, f.Detail, "wet-secret")
	}
	require.Contains(t, detail, "tides")
	require.Contains(t, detail, "1 of 2 operations at "+server.URL[len("http://"):])
	c, bad := sess.View().Inner("1", toolview.Inner{Name: "api__tides__height", Args: json.RawMessage("{}")})
	require.Nil(t, bad)
	r, err := c.Tool().Run(t.Context(), c)
	require.NoError(t, err)
	require.Contains(t, r.Text(), "2 m")
	require.Equal(t, "/height wet-secret", <-asked)
}

func TestAnAuthThatCannotBeReadIsAnErrorAtTheEntryWithoutItsValue(t *testing.T) {
	for auth, want := range map[string]string{
		"{type: digest, token: hush}":   "type is not known: write bearer, basic or apiKey",
		"{type: bearer, tokn: hush}":    "tokn is not of type bearer",
		"{type: basic, username: hush}": "type basic needs username and password",
		"''":                            "is empty",
	} {
		s := newSite(t, "")
		s.writeHome("openapi:\n  sources:\n    a: {document: a.yaml, auth: " + auth + "}\n")
		_, _, err := builtin.Load(config.Options{Root: s.root, Home: s.home, Managed: "-"})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "settings.yaml:3:5: openapi.sources.a.auth")
		require.NotContains(t, err.Error(), "hush")
	}
}
