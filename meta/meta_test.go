package meta_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
)

func testKeys(t testing.TB) meta.Keys {
	t.Helper()
	keys, err := meta.NewKeys([]meta.Key{
		{Name: "WebMiddleware", Kind: meta.Middleware},
		{Name: "CronMiddleware", Kind: meta.Middleware},
		{Name: "SubAgentMiddleware", Kind: meta.Middleware, Upstream: []string{"AgentDefineMiddleware"}},
		{Name: "WorkspaceMiddleware", Kind: meta.Middleware, Upstream: []string{"FilesystemMiddleware", "TerminalMiddleware"}},
		{Name: "ToolSearchMiddleware", Kind: meta.Middleware, Aliases: []string{"ToolSearch"}},
		{Name: meta.BuiltInSubagents, Kind: meta.Policy},
		{Name: "ArtifactMiddleware", Kind: meta.Foreign},
		{Name: "01_intro", Kind: meta.Segment, Cached: true},
		{Name: "07_runtime", Kind: meta.Segment, Vars: []string{"cwd", "date"}},
		{Name: "10_hitl", Kind: meta.Segment, Safety: true},
	})
	require.NoError(t, err)
	return keys
}

func layer(name string, pairs ...any) meta.Layer {
	l := meta.Layer{Name: name}
	for i := 0; i < len(pairs); i += 2 {
		l.Entries = append(l.Entries, meta.Entry{
			Key: pairs[i].(string), Value: pairs[i+1].(bool),
			Origin: meta.Origin{Layer: name, File: name + ".yaml", Line: i/2 + 2, Column: 3},
		})
	}
	return l
}

func freeze(t testing.TB, docs meta.Documents, layers ...meta.Layer) (*meta.State, []meta.Diagnostic) {
	t.Helper()
	r, diags, err := meta.Resolve(testKeys(t), layers...)
	require.NoError(t, err)
	s, more := meta.Freeze(r, docs)
	return s, append(diags, more...)
}

func TestHighestLayerThatHasAKeyWins(t *testing.T) {
	for name, c := range map[string]struct {
		layers []meta.Layer
		want   bool
		why    string
	}{
		"nothing says anything":         {nil, true, "default"},
		"global closes":                 {[]meta.Layer{layer("global", "WebMiddleware", false)}, false, "global.yaml:2:3"},
		"project opens again":           {[]meta.Layer{layer("global", "WebMiddleware", false), layer("project", "WebMiddleware", true)}, true, "project.yaml:2:3"},
		"a higher layer that is silent": {[]meta.Layer{layer("global", "WebMiddleware", false), layer("project", "CronMiddleware", true)}, false, "global.yaml:2:3"},
		"option beats project":          {[]meta.Layer{layer("global", "WebMiddleware", true), layer("project", "WebMiddleware", true), layer("option", "WebMiddleware", false)}, false, "option.yaml:2:3"},
		"nothing beats managed":         {[]meta.Layer{layer("option", "WebMiddleware", true), layer("managed", "WebMiddleware", false)}, false, "managed.yaml:2:3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, diags := freeze(t, nil, c.layers...)
			require.Empty(t, diags)
			require.Equal(t, c.want, s.Enabled("WebMiddleware"))
			require.Equal(t, c.why, s.Why("WebMiddleware").Origin.String())
			_, set := s.Explicit("WebMiddleware")
			require.Equal(t, c.why != "default", set)
			require.True(t, s.Enabled("SubAgentMiddleware"), "what nobody mentions stays open")
		})
	}
}

func TestBuiltInSubagentsIsTrueUnlessTheMapSaysFalse(t *testing.T) {
	s, _ := freeze(t, nil)
	require.True(t, s.BuiltInSubagents())
	s, _ = freeze(t, nil, layer("project", meta.BuiltInSubagents, false))
	require.False(t, s.BuiltInSubagents())
	require.True(t, s.Enabled("SubAgentMiddleware"))
}

func TestUnknownKeyIsIgnoredAndAnsweredWithTheNearestName(t *testing.T) {
	for _, c := range []struct{ key, code, suggestion string }{
		{"SubAgentMidleware", "unknown_key", "did you mean SubAgentMiddleware?"},
		{"webmiddleware", "unknown_key", "did you mean WebMiddleware?"},
		{"Subagent", "unknown_key", "did you mean SubAgentMiddleware?"},
		{"ToolSerch", "unknown_key", "did you mean ToolSearch or ToolSearchMiddleware?"},
		{"01-intro", "unknown_key", "did you mean 01_intro?"},
		{"Zzz", "unknown_key", ""},
		{"FilesystemMiddleware", "upstream_key", "write WorkspaceMiddleware: false"},
		{"AgentDefineMiddleware", "upstream_key", "write SubAgentMiddleware: false"},
		{"ArtifactMiddleware", "upstream_key", "remove it"},
	} {
		t.Run(c.key, func(t *testing.T) {
			s, diags := freeze(t, nil, layer("project", c.key, false))
			require.Len(t, diags, 1)
			require.Equal(t, meta.SeverityWarning, diags[0].Severity)
			require.Equal(t, c.code, diags[0].Code)
			require.Equal(t, c.suggestion, diags[0].Suggestion)
			require.Equal(t, "project.yaml:2:3", diags[0].Origin.String())
			require.Empty(t, s.Entries())
			require.True(t, s.Enabled("WorkspaceMiddleware"))
		})
	}
}

func TestAliasMeansItsName(t *testing.T) {
	s, diags := freeze(t, nil, layer("global", "ToolSearch", false))
	require.Empty(t, diags)
	require.False(t, s.Enabled("ToolSearchMiddleware"))

	s, _ = freeze(t, nil, layer("global", "ToolSearch", false), layer("project", "ToolSearchMiddleware", true))
	require.True(t, s.Enabled("ToolSearchMiddleware"), "in another layer it is the same key")
}

func TestAliasBesideItsNameNamesBothPlaces(t *testing.T) {
	bad := layer("project", "ToolSearchMiddleware", true, "ToolSearch", false)
	_, _, err := meta.Resolve(testKeys(t), layer("global", "WebMiddleware", true, "WebMiddleware", true), bad)
	require.EqualError(t, err, "global.yaml:3:3: WebMiddleware: WebMiddleware is set twice in one layer, first at "+
		"global.yaml:2:3; keep one of the two, as WebMiddleware\n"+
		"project.yaml:3:3: ToolSearch: ToolSearchMiddleware is set twice in one layer, first at project.yaml:2:3; "+
		"keep one of the two, as ToolSearchMiddleware")
	var typed *meta.Error
	require.True(t, errors.As(err, &typed))
	require.Equal(t, 3, typed.Origin.Line)
}

func TestKeysReportEveryDefect(t *testing.T) {
	_, err := meta.NewKeys([]meta.Key{
		{Name: "A", Kind: meta.Middleware, Aliases: []string{"X"}},
		{Name: "B", Kind: meta.Middleware, Aliases: []string{"X"}, Upstream: []string{"A"}},
		{Name: "../escape", Kind: meta.Segment},
		{Name: "C"},
	})
	require.ErrorContains(t, err, `key "X" is declared 2 times, by A, B`)
	require.ErrorContains(t, err, `key "A" is declared 2 times, by A, B`)
	require.ErrorContains(t, err, `key "../escape": a name has letters`)
	require.ErrorContains(t, err, `key "C": unknown kind(0)`)
}

func TestOrderInsideALayerNeverMatters(t *testing.T) {
	l := layer("project", "WebMiddleware", false, "CronMiddleware", false, "Cronn", true, "Webb", true, meta.BuiltInSubagents, false)
	want, wantDiags := freeze(t, nil, l)
	require.Len(t, wantDiags, 2)
	for range 50 {
		rand.Shuffle(len(l.Entries), func(i, j int) { l.Entries[i], l.Entries[j] = l.Entries[j], l.Entries[i] })
		got, diags := freeze(t, nil, l)
		require.Equal(t, want, got)
		require.Equal(t, wantDiags, diags)
	}
}

func TestDigestFollowsWhatIsDecidedAndNotWhereItStands(t *testing.T) {
	a, _ := freeze(t, nil, layer("project", "WebMiddleware", false))
	moved, _ := freeze(t, nil, layer("global", "CronMiddleware", true), layer("option", "WebMiddleware", false))
	same, _ := freeze(t, nil, layer("global", "WebMiddleware", false))
	require.Equal(t, a.Digest(), same.Digest())
	require.NotEqual(t, a.Digest(), moved.Digest())
	require.Len(t, a.Digest(), 64)
	empty, _ := freeze(t, nil)
	require.Equal(t, empty.Digest(), (*meta.State)(nil).Digest())
	require.Equal(t, empty.Digest(), new(meta.State).Digest())
}

func TestStateSurvivesJSONBitForBit(t *testing.T) {
	s, _ := freeze(t, folders(t, map[string]string{"07_runtime.md": "<at> {{cwd}} & \u2028 \"q\"\n"}, nil),
		layer("global", "WebMiddleware", false, "07_runtime", true, "01_intro", false))
	b, err := json.Marshal(s)
	require.NoError(t, err)
	back, err := meta.ParseState(b)
	require.NoError(t, err)
	require.Equal(t, s, back)
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(b), string(again))
	o, ok := back.Override("07_runtime")
	require.True(t, ok)
	require.Equal(t, "<at> {{cwd}} & \u2028 \"q\"", o.Text)
}

func TestFrozenStateCannotBeFilledAgain(t *testing.T) {
	s, _ := freeze(t, nil, layer("global", "WebMiddleware", false))
	b, err := json.Marshal(map[string]any{"state": s})
	require.NoError(t, err)
	var in struct{ State *meta.State }
	require.NoError(t, json.Unmarshal(b, &in))
	require.Equal(t, s.Digest(), in.State.Digest())
	require.ErrorContains(t, json.Unmarshal(b, &in), "already frozen")
	require.Error(t, json.Unmarshal([]byte(`{"state":{"version":2}}`), &struct{ State *meta.State }{}))
}

func TestStateThatIsNotOursIsRefused(t *testing.T) {
	s, _ := freeze(t, nil, layer("global", "WebMiddleware", false, "CronMiddleware", true))
	good, err := json.Marshal(s)
	require.NoError(t, err)
	_, err = meta.ParseState(good)
	require.NoError(t, err)
	for name, c := range map[string]struct{ old, new, want string }{
		"a later version": {`"version":1`, `"version":2`, "unknown version 2"},
		"no version":      {`"version":1,`, ``, "unknown version 0"},
		"a changed value": {`"value":false`, `"value":true`, "digest"},
		"an unknown kind": {`"kind":"middleware"`, `"kind":"tool"`, `unknown kind "tool"`},
		"a new field":     {`"version":1`, `"version":1,"extra":1`, "extra"},
		"another order":   {`"key":"CronMiddleware"`, `"key":"ZMiddleware"`, "out of order"},
		"more behind it":  {`"overrides":[]}`, `"overrides":[]} {}`, "after"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := replaceOnce(t, string(good), c.old, c.new)
			_, err := meta.ParseState([]byte(bad))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDiagnosticJSONIsFlat(t *testing.T) {
	_, diags := freeze(t, nil, layer("project", "Webb", false))
	b, err := json.Marshal(diags[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"severity":"warning","code":"unknown_key","key":"Webb","file":"project.yaml","line":2,"column":3,
		"message":"unknown key \"Webb\" is ignored","suggestion":"did you mean WebMiddleware?"}`, string(b))
	var back meta.Diagnostic
	require.NoError(t, json.Unmarshal(b, &back))
	back.Origin.Layer = "project"
	require.Equal(t, diags[0], back)
	require.Equal(t, `project.yaml:2:3: warning: unknown key "Webb" is ignored (did you mean WebMiddleware?)`, back.String())
}

func TestManyReadersShareOneState(t *testing.T) {
	s, _ := freeze(t, folders(t, map[string]string{"07_runtime.md": "here"}, nil),
		layer("global", "WebMiddleware", false, "07_runtime", true))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 200 {
				_, ok := s.Override("07_runtime")
				_, err := s.MarshalJSON()
				if s.Enabled("WebMiddleware") || !ok || err != nil || len(s.Digest()) != 64 || len(s.Entries()) != 2 {
					t.Error("a reader saw another state")
				}
				s.Entries()[0].Value = true
			}
		})
	}
	wg.Wait()
	require.False(t, s.Enabled("WebMiddleware"))
}

func BenchmarkFreeze(b *testing.B) {
	r, _, err := meta.Resolve(testKeys(b), layer("global", "WebMiddleware", false, "CronMiddleware", false, "ToolSearch", true))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		meta.Freeze(r, nil)
	}
}

func ExampleFreeze() {
	keys, _ := meta.NewKeys([]meta.Key{{Name: "WebMiddleware", Kind: meta.Middleware}})
	global := meta.Layer{Name: "global", Entries: []meta.Entry{{Key: "WebMiddleware", Value: false}}}
	option := meta.Layer{Name: "option", Entries: []meta.Entry{{Key: "WebMiddleware", Value: true}}}
	resolved, _, _ := meta.Resolve(keys, global, option)
	state, _ := meta.Freeze(resolved, nil)
	fmt.Println(state.Enabled("WebMiddleware"), state.Why("WebMiddleware").Origin)
	// Output: true option
}
