package schema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProblemSaysWhereWhatAndWhatToSendInstead(t *testing.T) {
	s := inferred[sample](t)
	for _, c := range []struct{ name, args, want string }{
		{"missing", `{}`, `path: found nothing; send string (required): A <path>.`},
		{"nearest argument", `{"path":"","mod":"files"}`, `mod: found an unknown argument; send mode instead`},
		{"another convention", `{"path":"","timeOut":1}`, `timeOut: found an unknown argument; send timeout instead`},
		{"near an alias", `{"path":"","filePaths":""}`, `filePaths: found an unknown argument; send path instead`},
		{
			"far from all", `{"path":"","zzzzzz":1}`,
			`zzzzzz: found an unknown argument; send only path, mode, timeout, edits, tags, env, ratio, args, any, nodes, limit`,
		},
		{"wrong type", `{"path":1}`, `path: found 1; send string`},
		{"a number in quotes", `{"path":"","timeout":"5"}`, `timeout: found the string "5"; send integer, at least 1, at most 600000, not in quotes`},
		{"an array in quotes", `{"path":"","edits":"[]"}`, `edits: found the string "[]"; send array of object, at most 3 items, not in quotes`},
		{"null", `{"path":"","mode":null}`, `mode: found null; send one of "content", "files", "count", or leave it out if it is optional`},
		{"enum", `{"path":"","mode":"all"}`, `mode: found the string "all"; send one of "content", "files", "count"`},
		{"enum in a slice", `{"path":"","tags":["a","c"]}`, `tags[1]: found the string "c"; send one of "a", "b"`},
		{"limit", `{"path":"","timeout":600001}`, `timeout: found 600001; send integer, at least 1, at most 600000`},
		{"nested missing", `{"path":"","edits":[{"old":"x"},{}]}`, `edits[1].old: found nothing; send string, at least 1 characters (required): Text to replace.`},
		{"nested unknown", `{"path":"","edits":[{"old":"x","nev":""}]}`, `edits[0].nev: found an unknown argument; send new instead`},
		{"nested value", `{"path":"","edits":[{"old":"x","all":"yes"}]}`, `edits[0].all: found the string "yes"; send boolean, not in quotes`},
		{"an odd key", `{"path":"","env":{"a.b":{}}}`, `env["a.b"]: found an object; send string`},
		{"too short", `{"path":"","edits":[{"old":""}]}`, `edits[0].old: found a string of 0 characters; send string, at least 1 characters`},
		{"too many", `{"path":"","edits":[{"old":"1"},{"old":"1"},{"old":"1"},{"old":"1"}]}`, `edits: found an array of 4; send array of object, at most 3 items`},
		{"an array instead of an object", `[1]`, `(arguments): found an array; send object`},
		{"broken text", `{"path":"a" "b":1}`, `(arguments): found something else where a comma or the closing bracket belongs, at byte 12 ("b":1}); send one JSON object, each key once`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, problems(t, s, `{"path":"a"}`))
			require.Equal(t, []string{c.want}, problems(t, s, c.args))
		})
	}
}

func TestAllProblemsAreToldAtOnceButNotWithoutEnd(t *testing.T) {
	s := inferred[sample](t)
	err := s.Check([]byte(`{"mod":"files","timeout":0}`))
	require.EqualError(t, err, `schema: the arguments do not fit:
- mod: found an unknown argument; send mode instead
- timeout: found 0; send integer, at least 1, at most 600000
- path: found nothing; send string (required): A <path>.`)

	long := strings.Repeat("é", 5000)
	err = s.Check([]byte(`{"tags":["` + long + strings.Repeat(`","`+long, 40) + `"],"` + long + `":1}`))
	require.Less(t, len(err.Error()), 3000)
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Problems, maxProblems)
}

func TestWhatTheLibraryRefusesIsExplained(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"a":{"multipleOf":5}}}`)
	require.Empty(t, problems(t, s, `{"a":10}`))
	require.Contains(t, problems(t, s, `{"a":11}`)[0], "multipleOf")
}

func TestAlternativesAndReferencesAreExplainedLikeTheRest(t *testing.T) {
	s := compiled(t, `{"type":"object","required":["q"],"properties":{
		"q":{"$ref":"#/$defs/query"},
		"limit":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"default":null},
		"by":{"anyOf":[{"type":"string","enum":["x"]},{"type":"string","maxLength":0}]},
		"step":{"anyOf":[
			{"type":"object","properties":{"do":{"const":"run"},"command":{"type":"string"}},"required":["do","command"],"additionalProperties":false},
			{"type":"object","properties":{"do":{"const":"wait"},"ms":{"type":"integer"},"why":{"type":"string"}},"required":["do","ms","why"],"additionalProperties":false}]}},
		"$defs":{"query":{"type":"object","description":"What to find.","properties":{"text":{"type":"string"},"then":{"$ref":"#/$defs/query"}},
			"required":["text"],"additionalProperties":false},"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}`)
	require.True(t, s.exact, "nothing is left to the library")
	for _, c := range []struct{ name, args, want string }{
		{"reference", `{"q":"x"}`, `q: found the string "x"; send object, not in quotes`},
		{
			"inside a reference", `{"q":{"text":"a","then":{"txt":"b"}}}`,
			"q.then.txt: found an unknown argument; send text instead\nq.then.text: found nothing; send string (required)",
		},
		{"the alternative of its kind", `{"q":{"text":""},"limit":0}`, `limit: found 0; send integer, at least 1`},
		{"no alternative", `{"q":{"text":""},"limit":"5"}`, `limit: found the string "5"; send integer, at least 1 or null, not in quotes`},
		{"several alternatives", `{"q":{"text":""},"by":"y"}`, `by: found the string "y"; send one of "x" or string, at most 0 characters`},
		{
			"the nearest object", `{"q":{"text":""},"step":{"do":"run","comand":"ls"}}`,
			"step.comand: found an unknown argument; send command instead\nstep.command: found nothing; send string (required)",
		},
		{"missing reference", `{}`, `q: found nothing; send object (required): What to find.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, problems(t, s, `{"q":{"text":"a","then":{"text":"b"}},"limit":null,"by":"","step":{"do":"wait","ms":1,"why":""}}`))
			require.Equal(t, c.want, strings.Join(problems(t, s, c.args), "\n"))
		})
	}
	endless := compiled(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`)
	require.Empty(t, problems(t, endless, `{"a":[[],[[]]]}`))
	require.Equal(t, []string{"a[1][0]: found 1; send array of array of any value"}, problems(t, endless, `{"a":[[],[1]]}`))
}
