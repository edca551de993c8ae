//go:build external && linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/lsp"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/session"
)

// there fails where what the example is about is not installed.
func there(t *testing.T) *world {
	t.Helper()
	_, err := exec.LookPath("gopls")
	require.NoError(t, err)
	w, err := newWorld(os.Getenv("PERI_MCP_SERVERS"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.stop()) })
	_, missing := w.settings()
	require.Empty(t, missing)
	return w
}

// processes are the programs that this one started, directly or not, and that run.
func processes(t *testing.T) []string {
	t.Helper()
	parent := map[string]string{}
	name := map[string]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		id, rest, _ := strings.Cut(string(raw), " ")
		end := strings.LastIndexByte(rest, ')')
		name[id], parent[id] = rest[1:end], strings.Fields(rest[end+1:])[1]
	}
	self := fmt.Sprint(os.Getpid())
	var out []string
	for id := range parent {
		for up := parent[id]; up != "" && up != "0"; up = parent[up] {
			if up == self {
				out = append(out, name[id])
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestClosingEachTakesExactlyItsFactsAndItsProcesses(t *testing.T) {
	w := there(t)
	look := extra("LSP", `{"action": "symbols", "path": "shop.go"}`)
	open := func(closed ...string) (session.Surface, []string) {
		s, end, err := w.open(t.Context(), closed...)
		require.NoError(t, err)
		for _, err := range s.Prompt(t.Context(), session.Text(look)) {
			require.NoError(t, err)
		}
		surface, running := s.Surface(), processes(t)
		require.NoError(t, end())
		require.Empty(t, processes(t), "nothing is left running")
		return surface, running
	}
	all, running := open()
	servers := func(list []string, name string) int {
		n := 0
		for _, p := range list {
			if strings.HasPrefix(p, name) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, servers(running, "node"))
	require.NotZero(t, servers(running, "gopls"))
	for _, name := range outside() {
		require.NotEmpty(t, all.Of(name), "%s: presence first", name)
		left, still := open(name)
		require.Empty(t, left.Of(name), name)
		require.Empty(t, left.Minus(all), "%s: closing adds nothing", name)
		for _, f := range all.Minus(left) {
			require.True(t, f.Owner == name || f.Owner == "SkillPreloadMiddleware" && name == "SkillsMiddleware" || strings.Contains(f.Detail, "plugin"),
				"%s took %s %s of %s along", name, f.Surface, f.Name, f.Owner)
		}
		want := map[string]int{"node": 2, "gopls": servers(running, "gopls")}
		switch name {
		case mcp.Name:
			want["node"] = 0
		case lsp.Name:
			want["gopls"] = 0
		}
		for program, n := range want {
			require.Equal(t, n, servers(still, program), "%s closed: %s", name, program)
		}
	}
}

func TestEveryOneOfThemIsUsed(t *testing.T) {
	w := there(t)
	var out bytes.Buffer
	require.NoError(t, w.use(context.Background(), &out))
	for _, want := range []string{"[FILE] shop.go", "shop.go:5:6", "search mcp__memory__read_graph", "plugin/agents critic"} {
		require.Contains(t, out.String(), want)
	}
}
