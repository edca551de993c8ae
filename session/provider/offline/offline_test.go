package offline_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/toolview"
)

// converse plays a prompt: every call is answered by its tool's name and arguments.
func converse(t *testing.T, prompts string) (calls [][]string, answer string) {
	t.Helper()
	view := toolview.NewDeriver(nil, nil, nil).View(&toolview.Policy{}, nil)
	h := []*message.Message{message.Of(message.User, prompts)}
	for range 10 {
		m, err := offline.Model(t.Context(), &middleware.Request{
			View: view, Messages: h, System: []prompt.Block{{Text: "x", Segments: []string{"a", "b"}}},
		}, func(message.Event) {})
		require.NoError(t, err)
		h = append(h, m)
		uses := m.Uses()
		if len(uses) == 0 {
			return calls, m.Text()
		}
		out := &message.Message{Role: message.Tool}
		var step []string
		for _, u := range uses {
			require.True(t, json.Valid(u.Args), "%s", u.Args)
			step = append(step, u.Name+" "+string(u.Args))
			r := message.Say(`said "` + u.Name + `"`)
			r.UseID = u.ID
			out.Parts = append(out.Parts, message.Part{Kind: message.ToolResult, Result: r})
		}
		calls, h = append(calls, step), append(h, out)
	}
	t.Fatal("the conversation does not end")
	return nil, ""
}

func TestLinesAreCallsAndBlankLinesSeparateSteps(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		want   [][]string
	}{
		"one call":                       {"call A {\"x\":1}", [][]string{{`A {"x":1}`}}},
		"no arguments":                   {"call A", [][]string{{"A {}"}}},
		"two in one step":                {"call A {}\ncall B {}", [][]string{{"A {}", "B {}"}}},
		"two steps":                      {"call A {}\n\ncall B {}", [][]string{{"A {}"}, {"B {}"}}},
		"text between":                   {"first\ncall A {}\nthen\ncall B {}\n\n\nand\n\ncall C {}", [][]string{{"A {}", "B {}"}, {"C {}"}}},
		"carriage returns":               {"call A {}\r\n\r\ncall B {}", [][]string{{"A {}"}, {"B {}"}}},
		"results, escaped":               {"call A {}\n\ncall B {\"x\":\"$1\"}", [][]string{{"A {}"}, {`B {"x":"said \"A\""}`}}},
		"a result that is not there yet": {"call A {\"x\":\"$2\"}", [][]string{{`A {"x":"$2"}`}}},
		"no call":                        {"hello", nil},
	} {
		t.Run(name, func(t *testing.T) {
			calls, _ := converse(t, c.prompt)
			require.Equal(t, c.want, calls)
		})
	}
}

func TestAnswerIsAnAccountOfWhatTheModelWasGiven(t *testing.T) {
	_, answer := converse(t, "hello")
	require.Contains(t, answer, "0 tools")
	require.Contains(t, answer, "2 segments")
	require.Contains(t, answer, "messages: 1")
	_, answer = converse(t, "call A {}")
	require.Contains(t, answer, `$1: said "A"`)
}

func TestCancelledRequestIsRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := offline.Model(ctx, &middleware.Request{}, func(message.Event) {})
	require.ErrorIs(t, err, context.Canceled)
}
