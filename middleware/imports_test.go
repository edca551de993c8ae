package middleware_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/metaharness/peri"

// below names groups of packages that a rule may import.
var below = map[string][]string{
	"message":    {"prompt/message"},
	"meta":       {"meta"},
	"toolview":   {"toolview", "toolview/...", "meta", "prompt/message"},
	"middleware": {"middleware", "prompt", "toolview", "toolview/...", "meta", "prompt/message"},
	"session":    {"session", "middleware", "prompt", "toolview", "toolview/...", "meta", "prompt/message"},
}

// rule says what the packages that match from may import of this module, and which outside libraries. The first rule
// that matches a package holds; a package that none matches is not on the map.
type rule struct {
	from    string
	ours    []string
	outside []string // prefixes of import paths; "*" = whatever no vendor rule keeps elsewhere
	why     string
}

var rules = []rule{
	{"meta", nil, nil, "the frozen state is a leaf that anything may read"},
	{"prompt/message", nil, nil, "what crosses to models and stores is plain data"},
	{"prompt", slices.Concat(below["meta"], below["message"]), nil, "prompt assembly knows segments, and nobody who owns them"},
	{"toolview/schema", nil, []string{"github.com/google/jsonschema-go/"}, "arguments are checked without knowing tools"},
	{"toolview/address", nil, []string{"golang.org/x/net/"}, "addresses are judged the same by all who dial, and a middleware imports no other"},
	{"toolview/program", nil, []string{"go.starlark.net/"}, "programs run without knowing tools"},
	{"toolview", slices.Concat([]string{"toolview/schema"}, below["meta"], below["message"]), nil, "a view resolves names and knows no middleware"},
	{"config", slices.Concat(below["meta"], []string{"toolview"}), []string{"*"}, "settings know keys and selectors, and no middleware"},
	{"toolsearch", []string{"toolview"}, []string{"github.com/kljensen/snowball/"}, "the index is derived from a view and from nothing else, and stems by a library"},
	{"middleware", []string{"meta", "prompt", "prompt/message", "toolview"}, nil, "the contract knows no capability and no session"},
	{"middleware/builtin", []string{"config", "middleware", "middleware/...", "toolsearch", "subagent", "subagent/...", "prompt", "toolview", "meta", "prompt/message"}, []string{"*"}, "the suite alone knows every middleware and the settings"},
	{"middleware/closuretest", slices.Concat(below["session"], []string{"session/provider/script", "session/store/memory"}), []string{"*"}, "the kit tests any suite, so it knows no built-in one"},
	{"middleware/toolsearch", slices.Concat(below["middleware"], []string{"toolsearch"}), []string{"*"}, "a middleware imports no other, no session and no settings"},
	{"middleware/...", below["middleware"], []string{"*"}, "a middleware imports no other, no session and no settings"},
	{"subagent...", below["middleware"], []string{"*"}, "a middleware imports no other, no session and no settings"},
	{"session", below["session"][1:], []string{"golang.org/x/sync/"}, "the loop knows contracts, and no capability, provider or store"},
	{"session/provider/models", slices.Concat(below["middleware"], []string{"session/provider/..."}), []string{"*"}, "the table of providers names them"},
	{"session/provider/providertest...", slices.Concat(below["middleware"], []string{"session/provider/exchange", "session/provider/providertest/wire"}), []string{"*"}, "the kit tests any adapter, so it knows none"},
	{"session/provider/...", slices.Concat(below["middleware"], []string{"session/provider/exchange", "session/provider/lower"}), []string{"*"}, "an adapter knows requests, and no session and no other adapter"},
	{"session/store/...", below["session"], []string{"*"}, "a store keeps journals, and knows no other store"},
	{"session/report", below["session"], nil, "a report is a projection of a session"},
	{"session/lock", below["session"], nil, "a lock is a projection of a session"},
	{"session/acp", slices.Concat(below["session"], []string{"session/report"}), []string{"*"}, "a projection of surface and events"},
	{"session/tui", slices.Concat(below["session"], []string{"session/report"}), []string{"*"}, "a projection of surface and events"},
	{"cmd/...", []string{"..."}, []string{"*"}, "the program may use anything"},
	{"examples/...", []string{"..."}, []string{"*"}, "an example may use anything"},
}

// vendors keep heavy or foreign libraries where they belong; who links the rest must not pay for them.
var vendors = []struct {
	prefix string
	only   []string
	why    string
}{
	{"github.com/anthropics/", []string{"session/provider/..."}, "model SDKs are the adapters'"},
	{"github.com/openai/", []string{"session/provider/..."}, "model SDKs are the adapters'"},
	{"google.golang.org/genai", []string{"session/provider/..."}, "model SDKs are the adapters'"},
	{"github.com/aws/", []string{"session/provider/..."}, "model SDKs are the adapters'"},
	{"github.com/coder/acp-go-sdk", []string{"session/acp"}, "one projection speaks ACP"},
	{"charm.land/", []string{"session/tui"}, "one projection draws"},
	{"github.com/modelcontextprotocol/", []string{"middleware/mcp", "middleware/mcp/..."}, "MCP is one capability"},
	{"github.com/google/jsonschema-go/", []string{"toolview/schema"}, "one package judges arguments"},
	{"go.starlark.net/", []string{"toolview/program"}, "one package runs programs, and bounds them"},
	{"github.com/knadh/koanf/", []string{"config"}, "one package reads settings"},
	{"github.com/spf13/", []string{"cmd/..."}, "the program alone has flags"},
	{"github.com/stretchr/", []string{"middleware/closuretest", "session/store/storetest", "session/provider/providertest", "session/provider/providertest/..."}, "tests and contract kits only"},
	{"pgregory.net/", nil, "tests only"},
	{"go.opentelemetry.io/otel/sdk", []string{"cmd/..."}, "a library takes the API alone"},
	{"go.opentelemetry.io/otel/exporters", []string{"cmd/..."}, "a library takes the API alone"},
}

// matches reports whether a path is a pattern's: itself, or below it where it ends in "...".
func matches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(path, prefix)
	}
	return path == pattern
}

// capability is the folder of the middleware that a package belongs to, "" for none.
func capability(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[0] != "middleware" {
		return ""
	}
	return strings.Join(parts[:2], "/")
}

func anyMatches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// forbidden says why a package may not import another; "" = it may.
func forbidden(from, to string) string {
	own, ours := strings.CutPrefix(to, module+"/")
	if !ours && !strings.Contains(strings.Split(to, "/")[0], ".") {
		return "" // the standard library
	}
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.from, from) })
	if i < 0 {
		return "the package is not on the map: give it a rule in imports_test.go"
	}
	r := rules[i]
	if ours {
		switch {
		case matches("cmd/...", own) || matches("examples/...", own):
			return "nothing imports a program"
		case capability(from) != "" && strings.HasPrefix(own, capability(from)+"/"):
			// A capability's folder may hold packages of its own.
		case !anyMatches(r.ours, own):
			return r.why
		}
		return ""
	}
	for _, v := range vendors {
		if strings.HasPrefix(to, v.prefix) && !anyMatches(v.only, from) {
			return v.why
		}
	}
	if !slices.ContainsFunc(r.outside, func(p string) bool { return p == "*" || strings.HasPrefix(to, p) }) {
		return r.why
	}
	return ""
}

func TestForbiddenImportsAreToldFromAllowedOnes(t *testing.T) {
	ours := func(p string) string { return module + "/" + p }
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"meta", "sort", true},
		{"meta", "golang.org/x/sync/errgroup", false},
		{"meta", ours("prompt/message"), false},
		{"prompt/message", ours("meta"), false},
		{"prompt", ours("meta"), true},
		{"prompt", ours("toolview"), false},
		{"toolview", ours("toolview/schema"), true},
		{"toolview", "github.com/google/jsonschema-go/jsonschema", false},
		{"toolview/schema", "github.com/google/jsonschema-go/jsonschema", true},
		{"toolview", ours("prompt"), false},
		{"toolview", ours("middleware"), false},
		{"config", ours("middleware"), false},
		{"config", "github.com/knadh/koanf/v2", true},
		{"toolsearch", ours("middleware"), false},
		{"middleware", ours("session"), false},
		{"middleware", ours("middleware/todo"), false},
		{"middleware/todo", ours("middleware"), true},
		{"middleware/todo", ours("middleware/clock"), false},
		{"middleware/workspace", ours("middleware/workspace/shell"), true},
		{"middleware/work", ours("middleware/workspace/shell"), false},
		{"middleware/permission", ours("middleware/workspace/shell"), false},
		{"middleware/todo", ours("session"), false},
		{"middleware/todo", ours("config"), false},
		{"middleware/todo", ours("toolsearch"), false},
		{"middleware/toolsearch", ours("toolsearch"), true},
		{"middleware/web", "github.com/anthropics/anthropic-sdk-go/v2", false},
		{"middleware/mcp", "github.com/modelcontextprotocol/go-sdk/mcp", true},
		{"middleware/web", "github.com/modelcontextprotocol/go-sdk/mcp", false},
		{"middleware/builtin", ours("config"), true},
		{"middleware/builtin", ours("session"), false},
		{"middleware/closuretest", ours("middleware/builtin"), false},
		{"middleware/closuretest", ours("session/provider/script"), true},
		{"subagent", ours("middleware/todo"), false},
		{"subagent/workflow", ours("middleware"), true},
		{"subagent/workflow", ours("subagent"), false},
		{"session", ours("middleware"), true},
		{"session", ours("middleware/permission"), false},
		{"session", ours("config"), false},
		{"session", ours("session/store/memory"), false},
		{"session", "github.com/openai/openai-go/v3", false},
		{"session/provider/openai", "github.com/openai/openai-go/v3", true},
		{"session/provider/openai", ours("session"), false},
		{"session/acp", "github.com/coder/acp-go-sdk", true},
		{"session/tui", "github.com/coder/acp-go-sdk", false},
		{"session/store/sqlite", ours("session"), true},
		{"session/store/sqlite", ours("middleware/todo"), false},
		{"cmd/peri", ours("session"), true},
		{"cmd/peri", ours("examples/quickstart"), false},
		{"session/store/sqlite", ours("cmd/peri"), false},
		{"session", "github.com/stretchr/testify/require", false},
		{"newcomer", ours("meta"), false},
	} {
		require.Equal(t, c.ok, forbidden(c.from, c.to) == "", "%s → %s", c.from, c.to)
	}
}

// source is a package of this module as the go command lists it.
type source struct {
	ImportPath, Dir         string
	Imports, Deps           []string
	GoFiles, IgnoredGoFiles []string
}

func (s *source) path() string { return strings.TrimPrefix(s.ImportPath, module+"/") }

// listed asks the go command about packages. Tests' imports are not among them.
func listed(t *testing.T, patterns ...string) []source {
	t.Helper()
	// What the go command reads is unknown to the cache of test results; what this test reads is not.
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		}
		return nil
	}))
	args := append([]string{"list", "-e", "-json=ImportPath,Dir,Imports,Deps,GoFiles,IgnoredGoFiles"}, patterns...)
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	var all []source
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var s source
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, s)
	}
}

func TestPackagesImportOnlyWhatTheMapAllows(t *testing.T) {
	all := listed(t, module+"/...")
	require.Greater(t, len(all), 10)
	seen := map[string]bool{}
	for i := range all {
		from := all[i].path()
		seen[from] = true
		for _, to := range all[i].Imports {
			if why := forbidden(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
	for _, core := range []string{"meta", "prompt", "prompt/message", "toolview", "middleware", "session", "middleware/builtin"} {
		require.True(t, seen[core], core)
	}
}

func TestNobodyPaysForAModelSDKWithoutImportingAnAdapter(t *testing.T) {
	for _, s := range listed(t, module+"/session", module+"/middleware/builtin", module+"/examples/quickstart") {
		require.Contains(t, s.Deps, module+"/meta", s.ImportPath)
		for _, dep := range s.Deps {
			for _, v := range vendors {
				sdk := slices.Contains(v.only, "session/provider/...")
				require.False(t, sdk && strings.HasPrefix(dep, v.prefix), "%s links %s", s.ImportPath, dep)
			}
		}
	}
}
