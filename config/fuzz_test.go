package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
)

var yamlSeeds = []string{
	"", "---\n", "# c\n", "model: a/b\n", "meta: {A: false, B: true}\n", "tools:\n  deny: &x [a, 'b']\nskills:\n  deny: *x\n",
	"a: 1\n---\nb: 2\n", "a: [1\n", "a: &x [*x]\n", "<<: {a: 1}\n", "a: !!bool yes\n", "a: .nan\n", "a: 0x1F\n", "a: 1_000\n", "a: 0o17\n",
	"\xEF\xBB\xBFa: b\r\nc: d\r", "? a\n: b\n", "a: |\n  x\n  y\n", "a: \"\\uD83D\"\n", "%YAML 1.1\n---\na: on\n", "a: ~\n", "\t",
	"hooks:\n  Stop:\n    - hooks: [{command: x}]\n", "mcp: {servers: {a: {enabled: true}}}\n", "a: !!str 5\n", "a: !!int '5'\n", "a: 2001-01-01\n",
}

// checkTree says what holds of every tree that is accepted: places inside the document, and scalars of their kind.
func checkTree(t *testing.T, v *value, lines int) {
	require.Positive(t, v.at.Line)
	require.LessOrEqual(t, v.at.Line, lines)
	require.Positive(t, v.at.Column)
	switch v.kind {
	case boolean:
		require.IsType(t, true, v.scalar)
	case text:
		require.IsType(t, "", v.scalar)
	case number:
		require.IsType(t, 0.0, v.scalar)
	}
	for _, item := range v.items {
		checkTree(t, item, lines)
	}
	for _, m := range v.members {
		require.Positive(t, m.at.Line)
		checkTree(t, m.value, lines)
	}
}

func fuzzFile(t *testing.T, name string, raw []byte) {
	at := meta.Origin{Layer: Global, File: name}
	v, bad := parse(raw, at)
	if bad != nil {
		require.Nil(t, v)
		require.NotEmpty(t, bad.Message)
		require.Positive(t, bad.Origin.Line, bad.Message)
		require.Positive(t, bad.Origin.Column, bad.Message)
		return
	}
	if v == nil {
		return
	}
	checkTree(t, v, 1+len(raw))
	_, err := json.Marshal(v.plain())
	require.NoError(t, err)
	var found problems
	y := &layer{LayerFile: LayerFile{Name: Project, File: name}, tree: v}
	y.check(&found)
	for _, err := range found.errs {
		require.Positive(t, err.(*Error).Origin.Line)
	}
	if merged := merge(&tree, trees([]*layer{y})); len(found.errs) == 0 {
		if validate(merged, &found); len(found.errs) == 0 {
			settings(merged)
			s := sieve{mode: "default"}
			stripped := merge(&tree, []*value{s.strip(&tree, y.tree, "")})
			dropBaseless(stripped)
			settings(stripped)
			require.Empty(t, settings(stripped).Permissions.Allow)
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range yamlSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { fuzzFile(t, "settings.yaml", raw) })
}

func FuzzJSONC(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"meta": {"A": false}}`, "// c\n{\"a\": [1, 2,],}", `{"a": "\ud83d\ude00\/"}`, `{"a": 1e999}`, "{\"a\": /* x */ 1}",
		`{"a": 1, "a": 2}`, "{}{}", "[", `{"a\u0000": 1}`, "\xEF\xBB\xBF{}", `{"meta_harness": {}, "config": {"meta_harness": {}}}`, strings.Repeat("[", 200), "/*", `{"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { fuzzFile(t, "settings.jsonc", raw) })
}

func FuzzOption(f *testing.F) {
	for _, seed := range []string{"meta.A=false", `mcp.servers."a.b".enabled=true`, "a.=1", "=", `"`, "a=[1", "a=b\nc: d", "a=&x [*x]", "a=#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, set string) {
		var found problems
		y := &layer{LayerFile: LayerFile{Name: Option}, tree: optionTree(nil, []string{set}, &found)}
		y.check(&found)
		require.NotNil(t, y.tree)
	})
}
