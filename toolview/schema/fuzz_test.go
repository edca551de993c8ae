package schema

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzWalkerNeverAcceptsWhatLibraryRefuses(f *testing.F) {
	for _, c := range keywords() {
		f.Add(around(c.value), []byte(`{"v":`+c.good+`}`))
		f.Add(around(c.value), []byte(`{"v":`+c.bad+`,"w":null}`))
		f.Add(`{"type":"object","additionalProperties":`+c.value+`,"required":["x","v"]}`, []byte(`{"x":`+c.bad+`,"v":`+c.good+`}`))
		f.Add(`{"type":"object","properties":{"v":{"type":["array","null"],"items":`+c.value+`}},"additionalProperties":false}`,
			[]byte(`{"v":[`+c.good+`,`+c.good+`]}`))
	}
	tree := `{"type":"object","$ref":"#/$defs/t","$defs":{"t":{"anyOf":[{"required":["v"]},{"properties":{"k":{"items":{"$ref":"#/$defs/t"}}},"required":["k"]}]}}}`
	f.Add(tree, []byte(`{"k":[{"v":1},{"k":[]}]}`))
	f.Add(tree, []byte(`{"k":[{"v":1},{"k":[1,{}]}]}`))
	for _, args := range []string{
		``, `null`, `[]`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}", `{"a":1e400}`, `{"a":-0.0}`,
		`{"a":1e-400}`, `{"a":0.1000000000000000055511151231257827}`, `{"a":9007199254740993}`, `{"\u0061":1}`, `{} {}`, ` {"a" : [ ] } `,
	} {
		f.Add(`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9007199254740992}},"required":["a"]}`, []byte(args))
		f.Add(`{"type":"object","properties":{"a":{"exclusiveMinimum":0.1,"enum":[0.1,1,"\ufffd"]}}}`, []byte(args))
		f.Add(`{"Type":"object","PROPERTIES":{"a":{"Minimum":2}},"minproperties":1}`, []byte(args))
		f.Add(`{"type":"object","properties":{"a":{"minLength":-1,"maxLength":-2,"minItems":1.0}}}`, []byte(args))
	}
	f.Fuzz(func(t *testing.T, raw string, args []byte) {
		s, err := Compile(json.RawMessage(raw))
		if err != nil || s.Check(args) != nil {
			return
		}
		if absent(args) {
			args = []byte(`{}`)
		}
		var value any
		require.NoError(t, json.Unmarshal(args, &value), "the walker read what is not JSON")
		require.NoError(t, s.library.Validate(value))
	})
}

func FuzzCheckedArgumentsDecode(f *testing.F) {
	for _, args := range []string{
		``, `{}`, `{"path":"a"}`, `{"file_path":"a","timeout":1e2}`, `{"path":"a","limit":2.0,"ratio":1e-3}`,
		`{"path":"a","edits":[{"old_string":"x","all":true}],"nodes":{"k":{"old":"y"}}}`, `{"path":"a","file_path":"b"}`,
		`{"\u0070ath":"a","args":{"x":[1e5,null]},"any":"\ud83d\ude00","env":{"":""},"tags":["a"]}`, `{"Path":"a"}`, `{"path":"a","limit":-0}`,
	} {
		f.Add([]byte(args))
	}
	s := inferred[sample](f)
	f.Fuzz(func(t *testing.T, args []byte) {
		before := bytes.Clone(args)
		refused := s.Check(args)
		out, err := s.Canonical(args)
		require.Equal(t, before, bytes.Clone(args), "what was given stays as it was")
		if refused != nil {
			require.NotEmpty(t, refused.Error())
			return
		}
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(out, &value))
		require.NoError(t, s.library.Validate(value))
		dec := json.NewDecoder(bytes.NewReader(out))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(new(sample)))
	})
}
