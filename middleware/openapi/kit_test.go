package openapi_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/openapi"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// bench is one opened middleware with what it told.
type bench struct {
	t    *testing.T
	m    middleware.Middleware
	inst *middleware.Instance

	mu      sync.Mutex
	notices []string
}

// open opens the middleware in a folder that holds files.
func open(t *testing.T, o openapi.Options, files map[string]string) *bench {
	t.Helper()
	if o.Wait == 0 {
		o.Wait = time.Minute // a busy machine reads a large document for long
	}
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	m, err := openapi.New(o)
	require.NoError(t, err)
	return reopen(t, m, m.Policy, root)
}

func reopen(t *testing.T, m middleware.Middleware, policy json.RawMessage, root string) *bench {
	t.Helper()
	b := &bench{t: t, m: m}
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(t.Context(), middleware.Env{Policy: policy, Project: middleware.Project{Root: root}, Notice: func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notices = append(b.notices, text)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close(context.WithoutCancel(t.Context()))) })
	b.inst = inst
	return b
}

func (b *bench) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.notices))
}

func (b *bench) view() *toolview.View {
	return toolview.NewDeriver([]toolview.Band{{
		Owner: b.m.Name, Source: b.inst.Deferred, State: b.inst.State, Deferred: true, Prefix: b.m.Dynamic, Unsupported: b.inst.Unsupported,
	}}, nil, nil).View(&toolview.Policy{}, nil)
}

func (b *bench) names() []string {
	var out []string
	for e := range b.view().All() {
		out = append(out, e.Tool.Name)
	}
	return out
}

func (b *bench) tool(name string) *toolview.Tool {
	b.t.Helper()
	e, ok := b.view().Lookup(name)
	require.True(b.t, ok, "%s is not among %v", name, b.names())
	return e.Tool
}

func (b *bench) call(name string, args map[string]any) *message.Result {
	b.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(b.t, err)
	c, bad := b.view().Call("1", name, raw)
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(b.t.Context(), c)
	require.NoError(b.t, err)
	return r
}

// seen is a request as a server had it.
type seen struct {
	method, uri, body string
	header            http.Header
}

// server answers every request by h and keeps it.
func server(t *testing.T, h http.HandlerFunc) (url string, last func() seen) {
	t.Helper()
	var mu sync.Mutex
	var got seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = seen{r.Method, r.RequestURI, string(b), maps.Clone(r.Header)}
		mu.Unlock()
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() seen {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}
