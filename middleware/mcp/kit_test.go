//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// TestMain lets the test binary be the servers too: real processes that speak the protocol, or fail to.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_SERVER"); mode != "" {
		fake(mode)
		return
	}
	os.Exit(m.Run())
}

// server is a process of this binary in one of the modes of fake.
func server(t *testing.T, name, mode string) mcp.Server {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return mcp.Server{Name: name, Command: exe, Env: map[string]string{"FAKE_SERVER": mode, "FAKE_DIR": t.TempDir()}}
}

// dir is the folder that a server of this binary writes about itself to.
func dir(s mcp.Server) string { return s.Env["FAKE_DIR"] }

// pids are the processes that a server of this binary has been.
func pids(t *testing.T, s mcp.Server) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir(s), "pid-*"))
	require.NoError(t, err)
	for i := range found {
		found[i] = strings.TrimPrefix(filepath.Base(found[i]), "pid-")
	}
	return found
}

// desk is one session's instance, with what it said.
type desk struct {
	t    *testing.T
	m    middleware.Middleware
	inst *middleware.Instance
	root string
	ask  func(toolview.Question) (toolview.Answer, error)

	mu      sync.Mutex
	notices []string
	deriver *toolview.Deriver
	policy  toolview.Policy
}

func open(t *testing.T, o mcp.Options) *desk {
	t.Helper()
	d, err := try(t, o, func(toolview.Question) (toolview.Answer, error) { return toolview.Answer{Declined: true}, nil })
	require.NoError(t, err)
	return d
}

func try(t *testing.T, o mcp.Options, ask func(toolview.Question) (toolview.Answer, error)) (*desk, error) {
	t.Helper()
	m, err := mcp.New(o)
	require.NoError(t, err)
	require.NoError(t, middleware.Validate(m))
	d := &desk{t: t, m: m, ask: ask, root: t.TempDir()}
	d.inst, err = m.Open(t.Context(), d.env(d.root))
	if err != nil {
		return nil, err
	}
	t.Cleanup(d.close)
	d.deriver = toolview.NewDeriver([]toolview.Band{
		{Owner: m.Name, Source: d.inst.Tools, State: d.inst.State, Prefix: m.Dynamic},
		{Owner: m.Name, Source: d.inst.Deferred, State: d.inst.State, Deferred: true, Prefix: m.Dynamic},
	}, nil, nil)
	return d, nil
}

func (d *desk) env(root string) middleware.Env {
	return middleware.Env{
		Session: "s1", Owner: mcp.Name, Project: middleware.Project{Root: root}, Policy: d.m.Policy, CanAsk: d.ask != nil,
		Notice: func(text string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.notices = append(d.notices, text)
		},
	}
}

func (d *desk) close() {
	if d.inst.Close != nil {
		require.NoError(d.t, d.inst.Close(context.Background()))
		require.NoError(d.t, d.inst.Close(context.Background()))
	}
}

// said is all notices so far.
func (d *desk) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.notices, "\n")
}

// view is what a step would see now.
func (d *desk) view() *toolview.View { return d.deriver.View(&d.policy, nil) }

// tools are the names of all tools, in the view's order.
func (d *desk) tools() []string {
	out := []string{}
	for e := range d.view().All() {
		out = append(out, e.Tool.Name)
	}
	return out
}

// call runs a tool as a turn would.
func (d *desk) call(name string, args any) *message.Result {
	d.t.Helper()
	return d.callIn(d.t.Context(), name, args)
}

func (d *desk) callIn(ctx context.Context, name string, args any) *message.Result {
	d.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(d.t, err)
	c, bad := d.view().Inner("1", toolview.Inner{Name: name, Args: raw})
	if bad != nil {
		return bad
	}
	ctx = toolview.WithAsker(ctx, func(_ context.Context, q toolview.Question) (toolview.Answer, error) { return d.ask(q) })
	r, err := c.Tool().Run(ctx, c)
	require.NoError(d.t, err)
	return r
}

// route runs a slash command.
func (d *desk) route(name, args string) middleware.RouteReply {
	d.t.Helper()
	for _, r := range append(d.inst.Routes[:len(d.inst.Routes):len(d.inst.Routes)], d.inst.LiveRoutes()...) {
		if r.Name == name {
			reply, err := middleware.RunRoute(d.t.Context(), mcp.Name, r, args)
			require.NoError(d.t, err)
			return reply
		}
	}
	d.t.Fatalf("no route %s", name)
	return middleware.RouteReply{}
}

// detail is the fact of a server.
func (d *desk) detail(name string) string {
	for _, f := range d.inst.Facts() {
		if f.Name == name {
			return f.Detail + " " + f.Doc
		}
	}
	return ""
}

// soon waits until something holds that other processes bring about.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
