package wire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/providertest/wire"
)

const messages = `{"model":"m","max_tokens":1,"stream":true,` +
	`"tools":[{"name":"T","description":"d","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}},{"name":"D","description":"d","input_schema":{"type":"object","properties":{}},"defer_loading":true}],` +
	`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],` +
	`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
	`{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"T","input":{}},{"type":"tool_use","id":"b","name":"T","input":{}}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"D"}]},{"type":"tool_result","tool_use_id":"b"},{"type":"image","source":{"type":"url","url":"https://x"},"cache_control":{"type":"ephemeral"}}]}]}`

const items = `{"model":"m","stream":true,"store":false,` +
	`"tools":[{"type":"function","name":"T","description":"d","parameters":{"type":"object","properties":{}},"strict":false},{"type":"tool_search","execution":"client","description":"d","parameters":{"type":"object","properties":{}}}],` +
	`"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"s","prompt_cache_breakpoint":{"mode":"explicit"}}]},` +
	`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"assistant","content":"so"},` +
	`{"type":"function_call","call_id":"a","name":"T","arguments":"{}"},{"type":"tool_search_call","call_id":"b","execution":"client","status":"completed","arguments":{}},` +
	`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"}]},` +
	`{"type":"tool_search_output","call_id":"b","execution":"client","status":"completed","tools":[]}],"prompt_cache_key":"k"}`

const chats = `{"model":"m","stream":true,"stream_options":{"include_usage":true},` +
	`"tools":[{"type":"function","function":{"name":"T","description":"d","parameters":{"type":"object","properties":{}}}}],` +
	`"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"https://x"}}]},` +
	`{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"T","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"a","content":"x"},{"role":"user","content":"go"}]}`

// TestEveryRuleOfTheWireCanBeBroken changes one thing of a request that is taken, and expects it to be refused for it.
func TestEveryRuleOfTheWireCanBeBroken(t *testing.T) {
	for api, c := range map[wire.API]struct {
		path, good string
		bad        [][3]string // what, by what, why it is refused
	}{
		wire.Messages: {"/v1/messages", messages, [][3]string{
			{`"model":"m"`, `"model":"m","top_k":1`, "top_k"},
			{`"max_tokens":1`, `"max_tokens":0`, "required"},
			{`"text":"hi"`, `"text":" "`, "non-whitespace"},
			{`"text":"hi"`, `"text":"hi","ends_cache":true`, "ends_cache"},
			{`"name":"T","description"`, `"name":"T.x","description"`, "not legal"},
			{`"name":"D","description"`, `"name":"T","description"`, "twice"},
			{`"properties":{}},"cache`, `"properties":{},"anyOf":[]},"cache`, "top level"},
			{`"properties":{}},"cache`, `"properties":{"a":{"$ref":"#"}}},"cache`, "$ref"},
			{`"type":"object","properties":{}},"cache`, `"type":"object"},"cache`, "missing properties"},
			{`"role":"assistant"`, `"role":"model"`, "role"},
			{`{"role":"user","content":[{"type":"text","text":"hi"}]},`, ``, "user role"},
			{`{"type":"tool_result","tool_use_id":"b"},`, ``, "no result"},
			{`"tool_use_id":"b"`, `"tool_use_id":"a"`, "has one already"},
			{`"tool_use_id":"b"`, `"tool_use_id":"c"`, "no call before it"},
			{`"id":"b"`, `"id":"a"`, "used twice"},
			{`"id":"b"`, `"id":"b b"`, "the id"},
			{`"name":"T","input":{}},`, `"name":"T","input":"{}"},`, "input"},
			{`"content":[{"type":"tool_result"`, `"content":[{"type":"text","text":"first"},{"type":"tool_result"`, "before other content"},
			{`"tool_name":"D"`, `"tool_name":"T"`, "no deferred tool"},
			{`"defer_loading":true`, `"defer_loading":true,"cache_control":{"type":"ephemeral"}`, "cannot end"},
			{`"text":"hi"`, `"text":"hi","cache_control":{"type":"ephemeral"}},{"type":"text","text":"x","cache_control":{"type":"ephemeral"}`, "maximum of 4"},
			{`{"type":"text","text":"so"}`, `{"type":"thinking","thinking":"x","signature":"made up"}`, "Invalid signature"},
			{`{"type":"text","text":"so"}`, `{"type":"image","source":{"type":"url","url":"https://x"}}`, "block of type"},
			{`"source":{"type":"url","url":"https://x"}`, `"source":{"type":"base64","data":"eA=="}`, "source"},
			{`"url":"https://x"},"cache_control":{"type":"ephemeral"}}]}]}`, `"url":"https://x"}}]},{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`, "prefill"},
			{`"stream":true`, `"stream":true}{`, "follows"},
		}},
		wire.Responses: {"/v1/responses", items, [][3]string{
			{`"store":false`, `"store":true`, "store"},
			{`"strict":false`, `"strict":true`, "strict"},
			{`,"strict":false`, ``, "strict"},
			{`"input":[`, `"instructions":"x","input":[`, "instructions"},
			{`"k"`, `"` + strings.Repeat("k", 65) + `"`, "longer than 64"},
			{`"arguments":"{}"`, `"arguments":"{"`, "arguments"},
			{`"arguments":{}}`, `"arguments":"{}"}`, "arguments"},
			{`"call_id":"a","output"`, `"call_id":"z","output"`, "no call before it"},
			{`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"}]},`, ``, "no result"},
			{`"execution":"client","description"`, `"execution":"server","description"`, "tool_search"},
			{`"tools":[]`, `"tools":[{"type":"function","name":"D","description":"d","parameters":{"type":"object","properties":{}},"strict":false}]`, "function"},
			{`{"type":"function_call",`, `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"made up"},{"type":"function_call",`, "could not be verified"},
			{`"content":"so"`, `"content":""`, "non-whitespace"},
			{`"content":"so"`, `"content":[{"type":"input_text","text":"so"}]`, "content"},
			{`"text":"hi"`, `"text":""`, "empty text"},
			{`"role":"user"`, `"role":"tool"`, "role"},
			{`"mode":"explicit"`, `"mode":"implicit"`, "breakpoint"},
			{`{"type":"input_text","text":"hi"}`, `{"type":"input_image","image_url":"https://x"}`, "detail"},
			{`{"type":"input_text","text":"hi"}`, `{"type":"input_file","file_data":"x"}`, "filename"},
		}},
		wire.Chat: {"/v1/chat/completions", chats, [][3]string{
			{`"model":"m"`, `"model":"m","prompt_cache_key":"k"`, "prompt_cache_key"},
			{`"include_usage":true`, `"include_usage":false`, "include_usage"},
			{`"role":"tool","tool_call_id":"a"`, `"role":"tool","tool_call_id":"b"`, "no call before it"},
			{`{"role":"tool","tool_call_id":"a","content":"x"},`, ``, "no result"},
			{`"content":"x"`, `"content":[{"type":"image_url","image_url":{"url":"https://x"}}]`, "part of type"},
			{`{"role":"user","content":"go"}`, `{"role":"system","content":"late"}`, "not the first"},
			{`{"role":"user","content":"go"}`, `{"role":"assistant","content":""}`, "without content"},
			{`"arguments":"{}"`, `"arguments":""`, "tool_calls"},
			{`{"role":"user","content":"go"}`, `{"role":"user","content":"go"},{"role":"user","content":"on"}`, "alternate"},
		}},
	} {
		s := wire.New(t, api)
		s.Lax, s.Alternate = true, true
		base := strings.TrimSuffix(s.URL, "/v1")
		status, said := post(t, base+c.path, c.good)
		require.Equal(t, http.StatusTeapot, status, "%s takes what is right: %s", api, said)
		for _, b := range c.bad {
			require.Contains(t, c.good, b[0], "the test changes something")
			status, said := post(t, base+c.path, strings.Replace(c.good, b[0], b[1], 1))
			require.Equal(t, http.StatusBadRequest, status, "%s: %s", api, b[1])
			require.Contains(t, said, b[2], "%s: %s", api, b[1])
		}
		status, _ = post(t, base+"/v1/elsewhere", c.good)
		require.Equal(t, http.StatusBadRequest, status)
	}
}

func post(t *testing.T, url, body string) (int, string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+wire.Key)
	r.Header.Set("Anthropic-Version", "2026-10-21")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}
