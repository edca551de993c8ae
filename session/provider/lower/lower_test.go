package lower_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/lower"
	"github.com/metaharness/peri/toolview"
)

func TestLegalNamesStayAndOthersBecomeLegalAndKeepApart(t *testing.T) {
	for _, n := range []string{"Read", "mcp__a__b-c_1", strings.Repeat("x", 64)} {
		require.Equal(t, n, lower.Name(n), "the name of a tool of a view is sent as it is")
		require.Equal(t, n, lower.ID(n))
	}
	seen := map[string]bool{}
	for _, n := range []string{"", "a.b", "a/b", "a b", "é", strings.Repeat("y", 65), strings.Repeat("y", 66), "a_b\x00"} {
		for _, got := range []string{lower.Name(n), lower.ID(n)} {
			require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, got)
			require.False(t, seen[got], "%q is taken for another", n)
			seen[got] = true
		}
	}
}

func TestArgsAreAnObjectAndSurviveAStore(t *testing.T) {
	for in, want := range map[string]string{
		``: `{}`, ` {} `: `{}`, `{ "a" : [ 1, 2.50 ] }`: `{"a":[1,2.50]}`, `[1]`: `{"arguments":[1]}`, `"x"`: `{"arguments":"x"}`,
		`{"a":`: `{"arguments":"{\"a\":"}`, `{"a":"<&>\u003c\\u003c"}`: `{"a":"<&><\\u003c"}`, `null`: `{"arguments":null}`,
		`{"a":"\u00e9\ud83d\ude00"}`: `{"a":"\u00e9\ud83d\ude00"}`,
	} {
		require.Equal(t, want, string(lower.Args(json.RawMessage(in))), in)
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"a":"\u003c"}`, `[1, 2]`, `{"a":`, "\xff", `{"\\\"":"\\u003c\u2028"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := lower.Args(json.RawMessage(s))
		require.True(t, json.Valid(once), "%q became %q", s, once)
		require.Equal(t, byte('{'), once[0])
		if !json.Valid([]byte(s)) || len(strings.TrimSpace(s)) == 0 {
			return
		}
		kept, err := json.Marshal(json.RawMessage(s))
		require.NoError(t, err)
		require.Equal(t, string(once), string(lower.Args(kept)))
	})
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\t\r\x01", "é世\u2028", "\xff\xc3", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		require.NoError(t, json.Unmarshal(lower.Quote(nil, s), &back))
		require.Equal(t, strings.ToValidUTF8(fmt.Sprint(s), "\uFFFD") == s, back == s)
		kept, err := json.Marshal(s)
		require.NoError(t, err)
		var stored string
		require.NoError(t, json.Unmarshal(kept, &stored))
		require.Equal(t, string(lower.Quote(nil, s)), string(lower.Quote(nil, stored)), "a store changes nothing")
	})
}

func TestSchemasAreShownAsEveryAPITakesThem(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain is left, in its order": {`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`, ""},
		"without properties":          {`{"type":"object"}`, `{"properties":{},"type":"object"}`},
		"a union": {
			`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}],"additionalProperties":false}`,
			`{"properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["b"],"type":"object"}`,
		},
		"all of": {
			`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"properties":{"b":{"type":"string"}},"required":["b"]}],"required":["a"]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}`,
		},
		"references, nested and recursive": {
			`{"type":"object","properties":{"n":{"$ref":"#/$defs/n","description":"first"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"leaf":{"$ref":"#/$defs/l"}}},"l":{"enum":["$ref",null]}}}`,
			`{"properties":{"n":{"description":"first","properties":{"leaf":{"enum":["$ref",null]},"next":{}},"type":"object"}},"type":"object"}`,
		},
		"a reference that leads nowhere": {
			`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"},"b":{"$ref":"#/$defs/none"},"$defs":{"type":"string"}}}`,
			`{"properties":{"$defs":{"type":"string"},"a":{},"b":{}},"type":"object"}`,
		},
		"no schema": {`true`, `{"type":"object","properties":{}}`},
	} {
		got, note := lower.Schema(json.RawMessage(c.in))
		if c.want == "" {
			require.Equal(t, c.in, string(got), name)
			require.Empty(t, note)
			continue
		}
		require.Equal(t, c.want, string(got), name)
		again, _ := lower.Schema(json.RawMessage(c.in))
		require.Equal(t, string(got), string(again))
	}
	_, note := lower.Schema(json.RawMessage(`{"type":"object","properties":{},"oneOf":[{"required":["a"]},{"required":["b"]}]}`))
	require.Contains(t, note, `{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, "what is lost is said")
}

func TestReferencesThatUnfoldWithoutEndAreCutOff(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 30 {
		fmt.Fprintf(&b, `"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	b.WriteString(`"d30":{"type":"string"}}}`)
	got, _ := lower.Schema(json.RawMessage(b.String()))
	require.Less(t, len(got), 1<<20)
	require.NotContains(t, string(got), "$ref")
}

// counting is a form that counts what it writes.
type counting struct{ heads, messages int }

func (c *counting) Mark() string { return "!" }

func (c *counting) Head(*middleware.Request) []byte { c.heads++; return []byte("[") }

func (c *counting) Message(b []byte, _, m *message.Message) ([]byte, int) {
	c.messages++
	b = lower.Quote(lower.Next(b), m.Text())
	if m.Role == message.Assistant {
		return b, -1
	}
	return b, len(b)
}

func TestAStepCostsWhatIsNewInIt(t *testing.T) {
	v := toolview.NewDeriver(nil, nil, nil).View(&toolview.Policy{}, nil)
	r := &middleware.Request{View: v, System: []prompt.Block{{Text: "s"}}}
	var memo lower.Memo
	f := &counting{}
	for i := range 50 {
		r.Messages = append(r.Messages, message.Of(message.User, fmt.Sprint("u", i)))
		got := string(memo.Write(r, f, 0))
		require.Equal(t, i+1+i, f.messages, "each message was written once")
		if i == 2 {
			require.Equal(t, `["u0","a","u1"!,"a","u2"!`, got, "marks end what the last request ended with, and this one")
		}
		r.Messages = append(r.Messages, message.Of(message.Assistant, "a"))
	}
	require.Equal(t, 1, f.heads)

	// History that was rewritten is written anew, and nothing of the old stays.
	r.Messages = []*message.Message{message.Of(message.User, "summary")}
	require.Equal(t, `["summary"!`, string(memo.Write(r, f, 0)))
	// Another prompt is another head.
	r.System = []prompt.Block{{Text: "other"}}
	memo.Write(r, f, 0)
	require.Equal(t, 2, f.heads)
}
