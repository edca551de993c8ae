package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// problems returns what Check found, one line each, for comparing.
func problems(t *testing.T, s *Schema, args string) []string {
	t.Helper()
	err := s.Check([]byte(args))
	if err == nil {
		return nil
	}
	var refused *Error
	require.True(t, errors.As(err, &refused), "%T", err)
	require.NotEmpty(t, refused.Problems)
	var out []string
	for _, p := range refused.Problems {
		out = append(out, p.String())
	}
	return out
}

func compiled(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	require.NoError(t, err)
	return s
}

// keywords is one case for each keyword; its schema is of the argument v.
func keywords() []struct{ name, value, good, bad string } {
	return []struct{ name, value, good, bad string }{
		{"string", `{"type":"string"}`, `"x"`, `1`},
		{"boolean", `{"type":"boolean"}`, `false`, `"true"`},
		{"null", `{"type":"null"}`, `null`, `0`},
		{"number takes fractions", `{"type":"number"}`, `-1.5e3`, `"1"`},
		{"integer refuses fractions", `{"type":"integer"}`, `3`, `3.5`},
		{"integer written 1.0", `{"type":"integer"}`, `1.0`, `1.01`},
		{"integer written 1e2", `{"type":"integer"}`, `1e2`, `1e-2`},
		{"integer written 100e-2", `{"type":"integer"}`, `100e-2`, `101e-2`},
		{"integer beyond a float's digits", `{"type":"integer"}`, `9007199254740993`, `9007199254740993.5`},
		{"list of types", `{"type":["string","null"]}`, `null`, `1`},
		{"list of types with integer", `{"type":["integer","boolean"]}`, `1`, `1.5`},
		{"enum of strings", `{"enum":["a","b"]}`, `"\u0061"`, `"c"`},
		{"enum of mixed values", `{"enum":[1,"a",null,true]}`, `true`, `false`},
		{"enum of numbers", `{"enum":[1,2.5]}`, `1.0`, `2`},
		{"enum of big numbers", `{"enum":[9007199254740993]}`, `9007199254740993`, `9007199254740992`},
		{"enum of objects", `{"enum":[{"k":[1]}]}`, `{"k":[1]}`, `{"k":[2]}`},
		{"enum without objects", `{"enum":["a"]}`, `"a"`, `{}`},
		{"const", `{"const":"a"}`, `"a"`, `"b"`},
		{"const null", `{"const":null}`, `null`, `0`},
		{"const false", `{"const":false}`, `false`, `true`},
		{"const beside enum", `{"const":"a","enum":["a","b"]}`, `"a"`, `"b"`},
		{"minimum", `{"minimum":1}`, `1`, `0.999`},
		{"maximum", `{"maximum":600000}`, `6e5`, `600001`},
		{"maximum beyond a float's digits", `{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`},
		{"minimum beyond a float's digits", `{"minimum":9007199254740993}`, `9007199254740994`, `9007199254740992`},
		{"decimal limits compare as written", `{"minimum":0.1}`, `0.1`, `0.09`},
		{"exclusiveMinimum", `{"exclusiveMinimum":0}`, `1e-9`, `0`},
		{"exclusiveMinimum as a float sees it", `{"exclusiveMinimum":9007199254740992}`, `9007199254740994`, `9007199254740993`},
		{"exclusiveMaximum", `{"exclusiveMaximum":1}`, `0.5`, `1.0`},
		{"limits are for numbers only", `{"minimum":1}`, `"a"`, `0`},
		{"minLength counts characters", `{"minLength":2}`, `"éé"`, `"é"`},
		{"maxLength counts characters", `{"maxLength":2}`, `"\ud83d\ude00é"`, `"abc"`},
		{"pattern", `{"pattern":"^a+$"}`, `"aa"`, `"ab"`},
		{"items", `{"items":{"type":"string"}}`, `["a"]`, `["a",1]`},
		{"minItems", `{"minItems":1}`, `[0]`, `[]`},
		{"maxItems", `{"maxItems":1}`, `[0]`, `[0,0]`},
		{"uniqueItems", `{"uniqueItems":true}`, `[1,2]`, `[1,1.0]`},
		{"required", `{"required":["k"]}`, `{"k":null}`, `{"l":1}`},
		{"required but undescribed", `{"required":["k"],"additionalProperties":{"type":"string"}}`, `{"k":""}`, `{"k":1}`},
		{"additionalProperties false", `{"properties":{"k":{}},"additionalProperties":false}`, `{"k":1}`, `{"l":1}`},
		{"additionalProperties schema", `{"additionalProperties":{"type":"integer"}}`, `{"a":1}`, `{"a":""}`},
		{"minProperties", `{"minProperties":1}`, `{"a":1}`, `{}`},
		{"maxProperties", `{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":1}`},
		{"false schema", `{"properties":{"no":false}}`, `{"yes":1}`, `{"no":1}`},
		{"nested", `{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{"b":""}]}`, `{"a":[{"b":1}]}`},
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, `1`},
		{"anyOf of one kind", `{"anyOf":[{"minimum":5},{"const":1}]}`, `1.0`, `2`},
		{"anyOf with anything", `{"anyOf":[true,{"type":"null"}],"type":["string","null"]}`, `"a"`, `1`},
		{"anyOf of nothing", `{"anyOf":[false,{"type":"null"}]}`, `null`, `1`},
		{"anyOf beside a type", `{"type":"integer","anyOf":[{"minimum":5},{"maximum":1}]}`, `5`, `5.5`},
		{
			"anyOf of objects", `{"anyOf":[{"properties":{"k":{"const":"a"}},"required":["k"]},{"properties":{"k":{"const":"b"},"n":{"type":"integer"}},"required":["k","n"]}]}`,
			`{"k":"b","n":1}`, `{"k":"b","n":""}`,
		},
		{
			"anyOf inside anyOf", `{"anyOf":[{"type":"null"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}}]}`,
			`["a",[1]]`, `["a",["b"]]`,
		},
		{"anyOf of what only the library knows", `{"anyOf":[{"type":"null"},{"multipleOf":5}]}`, `5`, `6`},
		{"allOf of references", `{"allOf":[{"$ref":"#/$defs/name"},{"minLength":2}]}`, `"ab"`, `"a"`},
		{"oneOf of none", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `null`, `1`},
		{"oneOf", `{"oneOf":[{"minimum":1},{"maximum":1}]}`, `2`, `1`},
		{"allOf", `{"allOf":[{"minimum":1},{"maximum":1}]}`, `1`, `2`},
		{"not", `{"not":{"type":"string"}}`, `1`, `"a"`},
		{"if then else", `{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}`, `"a"`, `0`},
		{"multipleOf", `{"multipleOf":5}`, `10`, `11`},
		{"prefixItems", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		{"draft 7 items", `{"items":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{"contains", `{"contains":{"const":1}}`, `[0,1]`, `[0]`},
		{"patternProperties", `{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":""}`, `{"ya":""}`},
		{"propertyNames", `{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{"dependencies", `{"dependencies":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		{"$ref", `{"$ref":"#/$defs/name"}`, `"a"`, `1`},
	}
}

func around(value string) string {
	return `{"type":"object","$defs":{"name":{"type":"string"}},"properties":{"v":` + value + `}}`
}

func TestKeywordsAcceptWhatFitsAndRefuseWhatDoesNot(t *testing.T) {
	for _, c := range keywords() {
		t.Run(c.name, func(t *testing.T) {
			s := compiled(t, around(c.value))
			require.Empty(t, problems(t, s, `{"v":`+c.good+`}`))
			require.NotEmpty(t, problems(t, s, ` { "v" : `+c.bad+` } `))
		})
	}
}

func TestTextThatTwoReadersCouldReadDifferentlyIsRefused(t *testing.T) {
	open := compiled(t, `{"type":"object","properties":{"a":{},"o":{"type":"object","properties":{"x":{}}}}}`)
	for _, c := range []struct{ name, good, bad, says string }{
		{"duplicate key", `{"a":1,"b":1}`, `{"a":1,"a":1}`, "second time"},
		{"duplicate spelled with an escape", `{"a":1,"\u0062":1}`, `{"a":1,"\u0061":1}`, "second time"},
		{"duplicate among undescribed keys", `{"z":1,"y":1}`, `{"z":1,"z":1}`, "second time"},
		{"duplicate in a value of any shape", `{"a":{"k":1,"l":1}}`, `{"a":[{"k":1,"k":1}]}`, `"k" twice`},
		{"duplicate among many keys", manyKeys(20, ""), manyKeys(20, `,"k3":0`), "second time"},
		{"not UTF-8", "{\"a\":\"é\"}", "{\"a\":\"\xff\"}", "UTF-8"},
		{"key not UTF-8", "{\"é\":1}", "{\"\xff\":1}", "UTF-8"},
		{"lone surrogate", `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, "surrogate"},
		{"low surrogate first", `{"a":"\uD83D\uDE00"}`, `{"a":"\ude00\ud83d"}`, "surrogate"},
		{"trailing data", "{}\n ", `{} {}`, "after the end"},
		{"trailing bracket", `{}`, `{}}`, "after the end"},
		{"cut off", `{"a":1}`, `{"a":1`, "end of the text"},
		{"cut off in a string", `{"a":"b"}`, `{"a":"b`, "closing quote"},
		{"no value", `{"a":0}`, `{"a":}`, "not JSON"},
		{"comma too many", `{"a":[1]}`, `{"a":[1,]}`, "not JSON"},
		{"leading zero", `{"a":0}`, `{"a":01}`, "comma"},
		{"infinite number", `{"a":1e308}`, `{"a":1e309}`, "too large"},
		{"control character", `{"a":"\t"}`, "{\"a\":\"\t\"}", "control character"},
		{"single quotes", `{"a":1}`, `{'a':1}`, "quoted key"},
		{"another word", `{"a":null}`, `{"a":nil}`, "not JSON"},
		{"not an object", `{}`, `[]`, "an array"},
		{"a string holding JSON", `{}`, `"{}"`, "not in quotes"},
		{"nesting", `{"a":` + nested(98) + `}`, `{"a":` + nested(5000) + `}`, "nesting deeper than 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, problems(t, open, c.good))
			got := problems(t, open, c.bad)
			require.Contains(t, strings.Join(got, "\n"), c.says)
		})
	}
}

func manyKeys(n int, more string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":1`)
	}
	return "{" + b.String()[1:] + more + "}"
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestNoArgumentsCountAsAnEmptyObject(t *testing.T) {
	optional := compiled(t, `{"type":"object","properties":{"a":{}}}`)
	required := compiled(t, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)
	judged := compiled(t, `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`)
	for _, args := range []string{"", " \n", "null", " null ", "{}"} {
		require.Empty(t, problems(t, optional, args), "%q", args)
		require.Equal(t, []string{"a: found nothing; send string (required)"}, problems(t, required, args), "%q", args)
		require.NotEmpty(t, problems(t, judged, args), "%q", args)
		out, err := optional.Canonical([]byte(args))
		require.NoError(t, err)
		require.JSONEq(t, `{}`, string(out))
	}
	require.Empty(t, problems(t, judged, `{"a":1}`))
}

func TestTheZeroSchemaRefuses(t *testing.T) {
	require.NotEmpty(t, problems(t, &Schema{}, `{}`))
}

func TestNamesAreTheArgumentsInTheOrderOfTheText(t *testing.T) {
	s := compiled(t, `{"required":["gone"],"properties":{"z":{},"a":{"properties":{"inner":{}}},"m":true},"type":"object"}`)
	names := s.Names()
	require.Equal(t, []string{"z", "a", "m"}, names)
	names[0] = "changed"
	require.Equal(t, []string{"z", "a", "m"}, s.Names())
}

func TestExamplesAreShownAndNotEnforced(t *testing.T) {
	type in struct {
		Agent string `json:"agent,omitempty" doc:"who" alias:"agent_name"`
	}
	plain, err := Infer[in]()
	require.NoError(t, err)
	require.NotContains(t, string(plain.JSON()), "explore")
	shown, err := plain.WithExamples("agent", []string{"explore", "plan"})
	require.NoError(t, err)
	require.Contains(t, string(shown.JSON()), `"examples":["explore","plan"]`)
	require.NoError(t, shown.Check([]byte(`{"agent":"later"}`)))
	require.NoError(t, shown.Check([]byte(`{"agent_name":"explore"}`)), "other spellings stay")
	_, err = plain.WithExamples("nobody", []string{"x"})
	require.Error(t, err)
}
