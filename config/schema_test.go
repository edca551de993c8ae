package config_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
)

func resolveSchema(t *testing.T, keys meta.Keys) *jsonschema.Resolved {
	t.Helper()
	b, err := config.Schema(keys)
	require.NoError(t, err)
	again, err := config.Schema(keys)
	require.NoError(t, err)
	require.Equal(t, string(b), string(again))
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(b, &s))
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	return r
}

func TestSchemaSaysWhatLoadSays(t *testing.T) {
	r := resolveSchema(t, testKeys)
	for text, good := range map[string]bool{
		`{}`: true,
		`{"meta": {"WebMiddleware": false, "Permission": true}}`:                          true,
		`{"meta": {"WebMiddleware": "false"}}`:                                            false,
		`{"meta": {"WebMiddleware": null}}`:                                               false,
		`{"meta_harness": {"WebMiddleware": 0}}`:                                          false,
		`{"tools": {"allow": []}, "agents": {"x": {"tools": "Read", "maxTurns": 3}}}`:     true,
		`{"tools": {"allow": null}}`:                                                      false,
		`{"tools": {"without_search": "hid"}}`:                                            false,
		`{"subagents": {"depth": 1.5}}`:                                                   false,
		`{"subagents": {"depth": 0}, "compact": {"budget": 1}}`:                           true,
		`{"compact": {"budget": 2}}`:                                                      false,
		`{"mcp": {"servers": {"a": {"command": "x", "args": ["y"], "env": {"A": "b"}}}}}`: true,
		`{"mcp": {"servers": {"a": {"command": ["x"]}}}}`:                                 false,
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}`:         true,
		`{"hooks": {"Stop": [{"hooks": [{"type": "shell"}]}]}}`:                           false,
		`{"model": ""}`: false,
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		err := r.Validate(v)
		s := newSite(t)
		s.file(s.at("settings.json"), text)
		_, _, loadErr := s.load()
		require.Equal(t, good, err == nil, "schema: %s: %v", text, err)
		require.Equal(t, good, loadErr == nil, "load: %s: %v", text, loadErr)
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(`{"meta": {"Nobody": true}}`), &v))
	require.Error(t, r.Validate(v), "an editor marks a key that Load warns of")
	require.NoError(t, resolveSchema(t, meta.Keys{}).Validate(v), "without keys any name is possible")
}
