package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type edit struct {
	Old string `json:"old" doc:"Text to replace." min:"1" alias:"old_string"`
	New string `json:"new,omitempty" alias:"new_string"`
	All bool   `json:"all,omitempty" alias:"replace_all"`
}

type window struct {
	Limit uint8 `json:"limit,omitempty" max:"200"`
}

type sample struct {
	Path  string            `json:"path" doc:"A <path>." alias:"file_path, filepath"`
	Mode  string            `json:"mode,omitempty" enum:"content, files,count"`
	Wait  int               `json:"timeout,omitempty" min:"1" max:"600000"`
	Edits []edit            `json:"edits,omitempty" max:"3"`
	Tags  []string          `json:"tags,omitempty" enum:"a,b"`
	Env   map[string]string `json:"env,omitempty"`
	Ratio *float64          `json:"ratio"`
	Args  json.RawMessage   `json:"args,omitzero"`
	Any   any               `json:"any,omitempty"`
	Nodes map[string]edit   `json:"nodes,omitempty"`
	window
	Hidden string `json:"-"`
}

func inferred[In any](t testing.TB) *Schema {
	t.Helper()
	s, err := Infer[In]()
	require.NoError(t, err)
	return s
}

func TestAStructsSchemaIsTheSameBytesInTheOrderOfItsFields(t *testing.T) {
	const editText = `{"type":"object","properties":{"old":{"type":"string","description":"Text to replace.","minLength":1},` +
		`"new":{"type":"string"},"all":{"type":"boolean"}},"required":["old"],"additionalProperties":false}`
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"A <path>."},` +
		`"mode":{"type":"string","enum":["content","files","count"]},` +
		`"timeout":{"type":"integer","minimum":1,"maximum":600000},` +
		`"edits":{"type":"array","maxItems":3,"items":` + editText + `},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"ratio":{"type":"number"},"args":{},"any":{},` +
		`"nodes":{"type":"object","additionalProperties":` + editText + `},` +
		`"limit":{"type":"integer","maximum":200}},` +
		`"required":["path"],"additionalProperties":false}`
	for range 20 {
		s := inferred[sample](t)
		require.Equal(t, want, string(s.JSON()))
		require.True(t, s.exact, "nothing is left to the library")
	}
	require.Equal(t, []string{"path", "mode", "timeout", "edits", "tags", "env", "ratio", "args", "any", "nodes", "limit"},
		inferred[sample](t).Names())
	require.Equal(t, `{"type":"object","properties":{},"additionalProperties":false}`, string(inferred[struct{}](t).JSON()))
	require.Equal(t, `{"type":"object","properties":{"At":{"type":"string","format":"date-time"},"Pair":{"type":"array","minItems":2,"maxItems":2,`+
		`"items":{"type":"integer"}},"N":{"type":"number"}},"required":["At","Pair","N"],"additionalProperties":false}`,
		string(inferred[struct {
			At   time.Time
			Pair [2]int
			N    json.Number
		}](t).JSON()))
}

func TestAliasesAreAcceptedAndRewrittenToTheNameTheyStandFor(t *testing.T) {
	s := inferred[sample](t)
	for _, c := range []struct{ name, args, want string }{
		{"nothing to do", `{"path":"a","edits":[{"old":"x"}]}`, ""},
		{"nothing to do with spaces", ` { "path" : "a" } `, ""},
		{"top", `{"file_path":"a"}`, `{"path":"a"}`},
		{"second spelling", `{"filepath" : "a"}`, `{"path": "a"}`},
		{"written with an escape", `{"\u0066ile_path":"a"}`, `{"path":"a"}`},
		{
			"in a slice", `{"path":"a","edits":[{"old":"1"},{"old_string":"x","new_string":"y","all":true}]}`,
			`{"path":"a","edits":[{"old":"1"},{"old":"x","new":"y","all":true}]}`,
		},
		{"in a map, whose own keys stay", `{"path":"a","nodes":{"old_string":{"old_string":"x"}}}`, `{"path":"a","nodes":{"old_string":{"old":"x"}}}`},
		{"not inside a value of any shape", `{"path":"a","args":{"file_path":1},"any":[{"old_string":1.0}]}`, ""},
		{"not inside a map of strings", `{"path":"a","env":{"file_path":"b"}}`, ""},
		{"integers Go does not read", `{"path":"a","timeout":1e2,"limit":1.0}`, `{"path":"a","timeout":100,"limit":1}`},
		{"fractions stay", `{"path":"a","ratio":1.0}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []byte(c.args)
			require.NoError(t, s.Check(args))
			out, err := s.Canonical(args)
			require.NoError(t, err)
			if c.want == "" {
				require.Same(t, &args[0], &out[0])
				require.Equal(t, c.args, string(out))
			} else {
				require.Equal(t, c.want, string(out))
			}
			require.Equal(t, c.args, string(args), "what was given stays as it was")
			var in sample
			require.NoError(t, json.Unmarshal(out, &in))
			require.Equal(t, "a", in.Path)
		})
	}
}

func TestAnAliasBesideItsArgumentIsRefused(t *testing.T) {
	s := inferred[sample](t)
	for _, c := range []struct{ name, args, path string }{
		{"after", `{"path":"a","file_path":"b"}`, "file_path"},
		{"before", `{"file_path":"b","path":"a"}`, "path"},
		{"two aliases", `{"file_path":"b","filepath":"a"}`, "filepath"},
		{"nested", `{"path":"a","edits":[{"old":"x"},{"old_string":"x","old":"y"}]}`, "edits[1].old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := problems(t, s, c.args)
			require.Len(t, got, 1)
			require.Contains(t, got[0], c.path+": found the same argument a second time")
			out, err := s.Canonical([]byte(c.args))
			require.Error(t, err)
			require.Nil(t, out)
		})
	}
	_, err := s.Canonical([]byte(`{"file_path":"b"`))
	require.ErrorContains(t, err, "end of the text")
}

func TestNumbersFitTheGoFieldTheyAreKeptIn(t *testing.T) {
	type numbers struct {
		I8  int8    `json:"i8,omitempty"`
		U8  uint8   `json:"u8,omitempty"`
		I64 int64   `json:"i64,omitempty"`
		U64 uint64  `json:"u64,omitempty"`
		F32 float32 `json:"f32,omitempty"`
	}
	s := inferred[numbers](t)
	for _, c := range []struct{ key, good, bad string }{
		{"i8", "-128", "128"},
		{"u8", "255", "-1"},
		{"u8", "2.55e2", "2.56e2"},
		{"i64", "9223372036854775807", "9223372036854775808"},
		{"u64", "18446744073709551615", "1e30"},
		{"i64", "-0.0", "1e300"},
		{"f32", "1e38", "1e39"},
	} {
		t.Run(c.key+" "+c.bad, func(t *testing.T) {
			good := []byte(fmt.Sprintf(`{"%s":%s}`, c.key, c.good))
			require.NoError(t, s.Check(good))
			out, err := s.Canonical(good)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(out, new(numbers)))
			require.NotEmpty(t, problems(t, s, fmt.Sprintf(`{"%s":%s}`, c.key, c.bad)))
		})
	}
}

type recursive struct {
	Kids []recursive `json:"kids"`
}

type ownReader struct{}

func (*ownReader) UnmarshalJSON([]byte) error { return nil }

type embedsPointer struct{ *window }

func TestAStructThatHasNoSchemaIsAnErrorThatNamesTheField(t *testing.T) {
	infer := func(_ *Schema, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		says string
	}{
		{"not a struct", infer(Infer[string]()), "want a struct"},
		{"channel", infer(Infer[struct{ C chan int }]()), ".C: chan int cannot be an argument"},
		{"function", infer(Infer[struct{ F []func() }]()), ".F[]: func() cannot"},
		{"complex", infer(Infer[struct{ C complex128 }]()), "complex128"},
		{"interface with methods", infer(Infer[struct{ C context.Context }]()), "context.Context"},
		{"bytes", infer(Infer[struct{ B []byte }]()), "want a string"},
		{"map of numbers", infer(Infer[struct{ M map[int]string }]()), "keys of a map"},
		{"recursion", infer(Infer[recursive]()), "contains itself"},
		{"own reader", infer(Infer[struct{ O ownReader }]()), "UnmarshalJSON"},
		{"embedded pointer", infer(Infer[embedsPointer]()), "only structs may be embedded"},
		{"string option", infer(Infer[struct {
			A int `json:"a,string"`
		}]()), `option "string"`},
		{"two of one name", infer(Infer[struct {
			window
			B int `json:"limit"`
		}]()), `.B: the name "limit" is already of field Limit`},
		{"alias that is a name", infer(Infer[struct {
			A int `json:"a"`
			B int `json:"b" alias:"a"`
		}]()), `"a" is already of field A`},
		{"empty alias", infer(Infer[struct {
			A int `json:"a" alias:"b,"`
		}]()), `"" cannot name`},
		{"name in quotes", infer(Infer[struct {
			A int `json:"a b"`
		}]()), `"a b" cannot name`},
		{"enum of booleans", infer(Infer[struct {
			A bool `enum:"true"`
		}]()), "tag enum fits"},
		{"enum that is no integer", infer(Infer[struct {
			A int `enum:"1,x"`
		}]()), `tag enum: "x"`},
		{"enum of structs", infer(Infer[struct {
			A []window `enum:"a"`
		}]()), "tag enum does not fit a struct"},
		{"min that is no number", infer(Infer[struct {
			A int `min:"one"`
		}]()), `tag min:"one"`},
		{"min that is no count", infer(Infer[struct {
			A string `min:"-1"`
		}]()), `tag min:"-1"`},
		{"min above max", infer(Infer[struct {
			A int `min:"2" max:"1"`
		}]()), "nothing fits"},
		{"max of a boolean", infer(Infer[struct {
			A bool `max:"1"`
		}]()), `tag max:"1" does not fit`},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorContains(t, c.err, c.says) })
	}
}
