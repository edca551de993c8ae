//go:build external && unix

package lsp_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/lsp"
)

func TestGoplsAnswersEveryAction(t *testing.T) {
	_, err := exec.LookPath("gopls")
	require.NoError(t, err, "gopls is needed: go install golang.org/x/tools/gopls@v0.23.0, and put it on PATH")
	b := open(t, "", lsp.Options{Servers: []lsp.Server{{Name: "go", Command: "gopls"}}, Timeout: time.Minute})
	b.write("go.mod", "module example.test/x\n\ngo 1.26\n")
	b.write("a.go", "package x\n\n// Double is twice n.\nfunc Double(n int) int { return 2 * n }\n")
	b.write("b.go", "package x\n\nvar 数 = Double(3); var four = Double(4)\n")
	ask := func(action, path string, line, column int, query string) string {
		t.Helper()
		in := map[string]any{"action": action, "path": path, "query": query}
		if line > 0 {
			in["line"] = line
		}
		if column > 0 {
			in["column"] = column
		}
		r := b.ask(in)
		require.False(t, r.Error, r.Text())
		return r.Text()
	}
	const declared = "a.go:4:6: func Double(n int) int { return 2 * n }"
	require.Equal(t, declared, ask("definition", "b.go", 3, 9, ""))
	require.Equal(t, declared, ask("definition", "b.go", 3, 0, "Double(4)"))
	require.Equal(t, 3, len(strings.Split(ask("references", "a.go", 4, 6, ""), "\n")))
	require.Contains(t, ask("hover", "b.go", 3, 9, ""), "Double is twice n")
	require.Contains(t, ask("symbols", "a.go", 0, 0, ""), "a.go:4:6: function Double")
	require.Contains(t, ask("symbols", "", 0, 0, "Doub"), "a.go:4:6: function Double")
	require.Equal(t, "The file has no errors and no warnings.", ask("diagnostics", "b.go", 0, 0, ""))
	b.write("b.go", "package x\n\nvar 数 = Doubled(3)\n")
	require.Contains(t, ask("diagnostics", "b.go", 0, 0, ""), "b.go:3:9: error: undefined: Doubled")
	b.write("a.go", "package x\n\nfunc Doubled(n int) int { return 2 * n }\n")
	require.NotContains(t, ask("diagnostics", "b.go", 0, 0, ""), "undefined", "another file's change is seen")
}
