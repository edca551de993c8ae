package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
)

func TestMessageSurvivesJSONWithoutARegistry(t *testing.T) {
	in := message.Message{
		Role: message.Assistant, Model: "m", Stop: "tool_use", Usage: &message.Usage{Input: 9, Output: 2, CacheRead: 5, CacheWrite: 4},
		Parts: []message.Part{
			{Kind: message.Reasoning, Text: "hm", Signature: "sig"},
			{Kind: message.Text, Text: "look"},
			{Kind: message.Image, MIME: "image/png", Data: []byte{0, 255}},
			{Kind: message.Document, URI: "file:///x"},
			{Kind: message.ToolUse, Use: &message.Use{ID: "1", Name: "Exec", Args: json.RawMessage(`{"name":"Late","n":1e2}`), Tool: "Late"}},
			{Kind: message.ToolResult, Result: &message.Result{UseID: "1", Parts: []message.Part{{Kind: message.Text, Text: "ok"}}, Structured: json.RawMessage(`[1]`), Error: true}},
		},
	}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	var back message.Message
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, in, back)
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(b), string(again), "the same bytes, the model's arguments included")
}

func TestUsesAndResultsAreInOrderAndEmptyOnesAreNone(t *testing.T) {
	a, b := &message.Use{ID: "a"}, &message.Use{ID: "b"}
	m := &message.Message{Parts: []message.Part{
		{Kind: message.ToolUse, Use: a},
		{Kind: message.Text, Use: a},
		{Kind: message.ToolUse},
		{Kind: message.ToolUse, Use: b},
		{Kind: message.ToolResult},
		{Kind: message.ToolResult, Result: &message.Result{UseID: "a"}},
	}}
	require.Equal(t, []*message.Use{a, b}, m.Uses())
	require.Len(t, m.Results(), 1)
	none := message.Of(message.User, "hi")
	require.Nil(t, none.Uses())
	require.Nil(t, none.Results())
	require.Empty(t, (&message.Message{Parts: []message.Part{{Kind: message.ToolUse}}}).Uses())
}

func TestTextIsOfTextPartsAlone(t *testing.T) {
	for want, parts := range map[string][]message.Part{
		"":   nil,
		"a":  {{Kind: message.Text, Text: "a"}},
		"ab": {{Kind: message.Text, Text: "a"}, {Kind: message.Reasoning, Text: "secret"}, {Kind: message.Text, Text: "b"}},
	} {
		require.Equal(t, want, (&message.Message{Parts: parts}).Text())
		require.Equal(t, want, (&message.Result{Parts: parts}).Text())
	}
	require.Empty(t, (&message.Message{Parts: []message.Part{{Kind: message.Reasoning, Text: "secret"}}}).Text())
}

func TestFailIsAnErrorAndSayIsNot(t *testing.T) {
	require.Equal(t, []any{"x", false, "y", true}, []any{message.Say("x").Text(), message.Say("x").Error, message.Fail("y").Text(), message.Fail("y").Error})
}

func TestEventIsAFlatValueThatSurvivesJSON(t *testing.T) {
	in := message.Event{
		Kind: message.CallEnd, Session: "s", Agent: "scout", Parent: "u0", Step: 2, Text: "t", Owner: "M", Reason: "done",
		Use: &message.Use{ID: "1", Name: "Read"}, Result: message.Say("ok"), Message: message.Of(message.User, "hi"), Usage: &message.Usage{Input: 1},
	}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	var back message.Event
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, in, back)
}
