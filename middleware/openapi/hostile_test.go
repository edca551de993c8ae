package openapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/openapi"
	"github.com/metaharness/peri/toolview"
)

const head = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:\n"

func one(document, base string) openapi.Options {
	return openapi.Options{Sources: []openapi.Source{{Name: "t", Document: document, Base: base}}}
}

func TestOperationThatCannotBeReadIsLeftOutAlone(t *testing.T) {
	b := open(t, one("t.yaml", "http://127.0.0.1:1"), map[string]string{"t.yaml": head +
		"  /good:\n    get: {operationId: good}\n" +
		"  /lost:\n    get: {operationId: lost, parameters: [{name: a, in: query, schema: {$ref: '#/components/schemas/No'}}]}\n" +
		"  /far:\n    get: {operationId: far, parameters: [{name: a, in: query, schema: {$ref: 'other.yaml#/A'}}]}\n" +
		"  /odd:\n    get: {operationId: odd, parameters: [{name: a, in: query, schema: {type: wrong}}]}\n"})
	require.Equal(t, []string{"api__t__good"}, b.names())
	told := strings.Join(b.told(), "\n")
	require.Contains(t, told, "t.yaml:7: GET /lost is left out")
	require.Contains(t, told, "t.yaml:9: GET /far is left out")
	require.Contains(t, told, "t.yaml:11: odd is left out")
}

func TestDocumentThatDoesNotParseIsToldWithFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"openapi: 3.0.3\npaths: [\n": "t.yaml:",
		"{\n \"openapi\": 3,,\n}":    "t.yaml:2",
		"openapi: 2.9.0\n":           "t.yaml:1: is of OpenAPI 2.9.0",
		"a: b\n":                     "it is no OpenAPI document",
		"":                           "t.yaml",
	} {
		b := open(t, one("t.yaml", "http://127.0.0.1:1"), map[string]string{"t.yaml": text})
		require.NotEmpty(t, b.told(), text)
		require.Contains(t, b.told()[0], want)
		require.Contains(t, b.inst.Unsupported, "no source has an operation to offer")
	}
	require.Contains(t, open(t, openapi.Options{}, nil).inst.Unsupported, "write openapi.sources")
	require.Contains(t, open(t, one("no.yaml", ""), nil).inst.Unsupported, "no.yaml: there is no such file")
}

func TestNamesAreSafeAndToldApart(t *testing.T) {
	long := strings.Repeat("x", 80)
	b := open(t, one("t.yaml", "http://127.0.0.1:1"), map[string]string{"t.yaml": head +
		"  /a:\n    get: {operationId: read.file}\n  /b:\n    get: {operationId: read/file}\n  /c:\n    get: {operationId: " + long + "}\n  /d/{id}:\n    get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}]}\n"})
	names := b.names()
	require.Len(t, names, 4)
	for _, n := range names {
		require.Regexp(t, `^api__t__[a-zA-Z0-9_-]{1,56}$`, n)
	}
	require.Contains(t, names, "api__t__get_d_id")
	require.Contains(t, strings.Join(b.told(), "\n"), "read.file shares its name with another")
}

func TestSecretsGoToTheServerAndNowhereElse(t *testing.T) {
	t.Setenv("API_KEY", "s3cret-key")
	for name, auth := range map[string]openapi.Auth{
		"bearer": {Kind: "bearer", Token: "${API_KEY}"}, "header": {Kind: "apiKey", Header: "X-Key", Token: "s3cret-key"},
		"query": {Kind: "apiKey", Query: "key", Token: "${API_KEY}"}, "basic": {Kind: "basic", Username: "u", Password: "${API_KEY}"},
	} {
		t.Run(name, func(t *testing.T) {
			url, last := server(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.RequestURI, r.Header) // an echo
			})
			o := one("t.yaml", url)
			o.Sources[0].Auth = auth
			b := open(t, o, map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\n"})
			r := b.call("api__t__a", nil)
			require.False(t, r.Error)
			got := last()
			require.NotEqual(t, "/a", got.uri+got.header.Get("Authorization")+got.header.Get("X-Key"), "it was sent")
			require.Contains(t, r.Text(), "[hidden]")
			require.NotContains(t, r.Text()+string(b.m.Policy)+fmt.Sprint(b.inst.Facts(), b.told()), "s3cret")
		})
	}
	o := one("t.yaml", "http://127.0.0.1:1")
	o.Sources[0].Auth = openapi.Auth{Kind: "bearer", Token: "${NO_SUCH_KEY}"}
	require.Contains(t, open(t, o, map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\n"}).inst.Unsupported, "NO_SUCH_KEY")
}

func TestCredentialsDoNotFollowARedirectToAnotherHost(t *testing.T) {
	other, reached := server(t, nil)
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/x", http.StatusFound) })
	o := one("t.yaml", url)
	o.Sources[0].Auth = openapi.Auth{Kind: "bearer", Token: "s3cret-key"}
	r := open(t, o, map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\n"}).call("api__t__a", nil)
	require.Contains(t, r.Text(), "It redirects to "+strings.TrimPrefix(other, "http://"))
	require.Empty(t, reached().uri)
}

func TestPrivateAddressThatOnlyADocumentNamesNeedsASetting(t *testing.T) {
	url, last := server(t, nil)
	doc := map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\nservers: [{url: '" + url + "'}]\n"}
	r := open(t, one("t.yaml", ""), doc).call("api__t__a", nil)
	require.Contains(t, r.Text(), "web.allow_private is false")
	require.Empty(t, last().uri)
	o := one("t.yaml", "")
	o.AllowPrivate = true
	require.False(t, open(t, o, doc).call("api__t__a", nil).Error)
}

func TestNoValueLeadsOutOfTheBase(t *testing.T) {
	url, last := server(t, nil)
	b := open(t, one("t.yaml", url+"/base"), map[string]string{"t.yaml": head + "  /f/{p}:\n    get: {operationId: f, parameters: [{name: p, in: path, required: true, schema: {type: string}}]}\n"})
	for _, p := range []string{"..", ".", ""} {
		require.True(t, b.call("api__t__f", map[string]any{"p": p}).Error, p)
		require.Empty(t, last().uri)
	}
	require.False(t, b.call("api__t__f", map[string]any{"p": "../../x?y#z"}).Error)
	require.Equal(t, "/base/f/..%2F..%2Fx%3Fy%23z", last().uri)
}

func TestLongAnswerIsShownByHeadAndTailAndKeptWhole(t *testing.T) {
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begin ", strings.Repeat("ä", 1<<20), " end")
	})
	b := open(t, one("t.yaml", url), map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\n"})
	r := b.call("api__t__a", nil)
	require.Less(t, len(r.Text()), 40_000)
	for _, want := range []string{"begin ", " end", "bytes left out; the whole is in "} {
		require.Contains(t, r.Text(), want)
	}
	require.Contains(t, string(r.Structured), `"truncated":true`)
}

func TestLateDocumentDelaysNobodyAndArrivesAsARefresh(t *testing.T) {
	release := make(chan struct{})
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		<-release
		fmt.Fprint(w, head+"  /a:\n    get: {operationId: a}\n")
	})
	o := one(url+"/t.yaml", "")
	o.Wait = 20 * time.Millisecond
	b := open(t, o, nil)
	require.Empty(t, b.inst.Unsupported)
	require.Empty(t, b.names())
	require.Contains(t, b.told()[0], "still being read")
	close(release)
	require.Eventually(t, func() bool { return len(b.view().Order()) > 0 || b.view().HasDeferred() }, 5*time.Second, time.Millisecond)
	require.Equal(t, []string{"api__t__a"}, b.names())
	require.NoError(t, b.inst.Close(context.Background()))
}

func TestSourcesOwnListsAndSwitchHold(t *testing.T) {
	files := map[string]string{"t.yaml": head + "  /a:\n    get: {operationId: a}\n    post: {operationId: b}\n"}
	o := one("t.yaml", "http://127.0.0.1:1")
	require.Equal(t, []string{"api__t__a", "api__t__b"}, open(t, o, files).names())
	o.Sources[0].Deny = []toolview.Selector{{Text: "b"}}
	require.Equal(t, []string{"api__t__a"}, open(t, o, files).names())
	o.Sources[0].Allow = [][]toolview.Selector{{}}
	require.Empty(t, open(t, o, files).names(), "an empty list offers nothing")
	o.Sources[0].Disabled = true
	require.Contains(t, open(t, o, files).inst.Unsupported, "switched off")
}
