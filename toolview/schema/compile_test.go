package schema

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABrokenSchemaIsAnErrorThatSaysWhy(t *testing.T) {
	for _, c := range []struct{ name, raw, says string }{
		{"no text", ``, "end of the text"},
		{"null", `null`, "want a JSON object"},
		{"a list", `[]`, "want a JSON object"},
		{"true", `true`, "want a JSON object"},
		{"cut off", `{"type":"object"`, "byte 16"},
		{"two values", `{"type":"object"} {}`, "after the end"},
		{"a key twice", `{"type":"object","type":"object"}`, `the key "type" twice`},
		{"no type", `{"properties":{}}`, "found none"},
		{"another type", `{"type":"string"}`, `found "string"`},
		{"several types", `{"type":["object","null"]}`, "a list of types"},
		{"unknown type", `{"type":"object","properties":{"a":{"type":"file"}}}`, `unknown type "file"`},
		{"unknown type in an unused place", `{"type":"object","$defs":{"a":{"type":["string","int"]}}}`, `unknown type "int"`},
		{"no types at all", `{"type":"object","properties":{"a":{"type":[]}}}`, "empty list of types"},
		{"wrong shape", `{"type":"object","properties":[]}`, "not a JSON Schema"},
		{"wrong limit", `{"type":"object","minProperties":"1"}`, "not a JSON Schema"},
		{"null property", `{"type":"object","properties":{"a":null}}`, "not a JSON Schema"},
		{"broken pattern", `{"type":"object","properties":{"a":{"pattern":"("}}}`, "pattern"},
		{"zero multiple", `{"type":"object","properties":{"a":{"multipleOf":0}}}`, "multipleOf"},
		{"draft 4", `{"type":"object","$schema":"http://json-schema.org/draft-04/schema#"}`, "draft-04"},
		{"mixed drafts", `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"prefixItems":[{}]}}}`, "2020-12"},
		{"older keyword in a newer draft", `{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"items":[{}]}}}`, "prefixItems"},
		{"dangling reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`, "no schema at this place"},
		{"anchor", `{"type":"object","properties":{"a":{"$ref":"#b","$anchor":"b"}}}`, "not followed"},
		{"dynamic reference", `{"type":"object","properties":{"a":{"$dynamicRef":"#a"}}}`, "dynamicRef"},
		{"reference beside an inner id", `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$id":"http://x/"}}}`, `"$id"`},
		{"endless reference", `{"type":"object","$ref":"#"}`, "without end"},
		{"endless reference by two steps", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"anyOf":[{"$ref":"#/properties/a"}]}}}`, "without end"},
		{"endless reference in odd letters", `{"type":"object","$Ref":"#"}`, "without end"},
		{"explosion", explosion(30), "too many alternatives"},
		{"nested too deep", `{"type":"object","not":` + strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}`, "nesting deeper"},
		{"too long", `{"type":"object","title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(c.raw))
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "schema: ")
			require.Nil(t, s)
		})
	}
}

// explosion doubles the work with each definition.
func explosion(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		name, next := "d"+strings.Repeat("i", i), "d"+strings.Repeat("i", i+1)
		if i == 0 {
			name = "d0"
			next = "di"
		}
		b.WriteString(`"` + name + `":{"allOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]},`)
	}
	b.WriteString(`"d` + strings.Repeat("i", n) + `":{}}}`)
	return b.String()
}

func TestSchemasOfTheFieldAreUnderstood(t *testing.T) {
	for _, c := range []struct{ name, raw, good, bad string }{
		{"draft 7 without its fragment", `{"type":"object","$schema":"http://json-schema.org/draft-07/schema","required":["a"]}`, `{"a":1}`, `{}`},
		{"draft 7 with https", `{"type":"object","$schema":"https://json-schema.org/draft-07/schema#","required":["a"]}`, `{"a":1}`, `{}`},
		{"draft 6", `{"type":"object","$schema":"http://json-schema.org/draft-06/schema#","required":["a"]}`, `{"a":1}`, `{}`},
		{"2019-09", `{"type":"object","$schema":"https://json-schema.org/draft/2019-09/schema","required":["a"]}`, `{"a":1}`, `{}`},
		{"2020-12", `{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","required":["a"]}`, `{"a":1}`, `{}`},
		{"an id that is no address", `{"type":"object","$id":"tool","required":["a"]}`, `{"a":1}`, `{}`},
		{"draft 7 ignores what stands beside a reference", `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#",
			"properties":{"a":{"$ref":"#/definitions/n","minimum":5}},"definitions":{"n":{"type":"integer"}}}`, `{"a":1}`, `{"a":""}`},
		{"a reference through escapes", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20z"}},"$defs":{"x/y z":{"type":"integer"}}}`, `{"a":1}`, `{"a":""}`},
		{
			"a tree", `{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`,
			`{"kids":[{"kids":[{"v":1}]}]}`, `{"kids":[{"kids":[{"v":""}]}]}`,
		},
		{
			"a filter", `{"type":"object","properties":{"f":{"$ref":"#/$defs/f"}},"$defs":{"f":{"anyOf":[{"type":"string"},
			{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/f"}}},"required":["and"]},
			{"type":"object","properties":{"not":{"$ref":"#/$defs/f"}},"required":["not"]}]}}}`,
			`{"f":{"and":["a",{"not":{"and":["b"]}}]}}`, `{"f":{"and":["a",{"not":{"and":[1]}}]}}`,
		},
		{"an unknown keyword", `{"type":"object","x-order":[1],"required":["a"]}`, `{"a":1}`, `{}`},
		{"keywords in odd letters", `{"type":"object","Required":["a"]}`, `{"a":1}`, `{}`},
		{"object as a list of one", `{"type":["object"],"required":["a"]}`, `{"a":1}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := compiled(t, c.raw)
			require.Empty(t, problems(t, s, c.good))
			require.NotEmpty(t, problems(t, s, c.bad))
		})
	}
}

func TestARemoteReferenceIsNeverFetched(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"type":"string"}`))
	}))
	defer server.Close()
	answer, err := http.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.EqualValues(t, 1, asked.Load(), "the server does answer")

	for _, ref := range []string{server.URL, server.URL + "/a#/b", "file:///etc/passwd", "other.json", "//host/x", server.URL + "#"} {
		_, err := Compile(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"` + ref + `"}}}`))
		require.ErrorContains(t, err, "is not followed", ref)
	}
	_, err = Compile(json.RawMessage(`{"type":"object","$id":"` + server.URL + `","properties":{"a":{"$ref":"b.json"}}}`))
	require.ErrorContains(t, err, "is not followed")
	require.EqualValues(t, 1, asked.Load())
}

func TestASchemaThatBranchesAtEachLevelStaysCheapToCheck(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	require.Empty(t, problems(t, s, `{"a":{"a":{"a":{}}}}`))
	// Tried branch by branch it would not end.
	got := problems(t, s, strings.Repeat(`{"a":`, 60)+`{}`+strings.Repeat(`}`, 60))
	require.Contains(t, got[0], "nesting deeper")

	straight := compiled(t, `{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	require.Empty(t, problems(t, straight, strings.Repeat(`{"a":`, 60)+`{}`+strings.Repeat(`}`, 60)))
}

func TestALargeSchemaCompilesWithItsDigits(t *testing.T) {
	var props, defs strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&props, `,"p%d":{"$ref":"#/$defs/d%d"}`, i, i)
		fmt.Fprintf(&defs, `,"d%d":{"maximum":%d}`, i, 9007199254740992+i)
	}
	s := compiled(t, `{"type":"object","properties":{`+props.String()[1:]+`},"$defs":{`+defs.String()[1:]+`}}`)
	require.Empty(t, problems(t, s, `{"p1":9007199254740993}`))
	require.NotEmpty(t, problems(t, s, `{"p0":9007199254740993}`), "digits survive a reference")
}

func TestASchemaServesManyAtOnce(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"multipleOf":2,"maximum":100}}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				assert.NoError(t, s.Check([]byte(`{"a":10}`)))
				assert.Error(t, s.Check([]byte(`{"a":11}`)))
				assert.Error(t, s.Check([]byte(`{"a":102}`)))
				assert.Equal(t, []string{"a"}, s.Names())
			}
		})
	}
	group.Wait()
}

func TestCompiledTextKeepsItsOrderAndLosesItsSpace(t *testing.T) {
	s := compiled(t, " {\n \"title\" : \"<T>\", \"type\":\"object\",\"properties\" : { \"b\":{}, \"a\": true } } ")
	require.Equal(t, `{"title":"<T>","type":"object","properties":{"b":{},"a":true}}`, string(s.JSON()))
	out, err := s.Canonical([]byte(`{"b":1.0}`))
	require.NoError(t, err)
	require.Equal(t, `{"b":1.0}`, string(out))
}
