package session_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func TestAPromptHooksCallIsResolvedJudgedAndRunLikeAModels(t *testing.T) {
	verdict := middleware.Verdict{Decision: middleware.Pass}
	judge := gate("Gate", func(*toolview.Call) middleware.Verdict { return verdict })
	var got []string
	asks := with("Asks", middleware.Instance{Hooks: middleware.Hooks{Input: func(_ context.Context, in *middleware.Input) error {
		for _, name := range []string{"Say", "Late", "Gone"} {
			r := in.Call(toolview.Inner{Name: name, Args: json.RawMessage(`{"text":"x"}`)})
			got = append(got, r.Text())
		}
		in.Parts = append(in.Parts, message.Part{Kind: message.Text, Text: got[len(got)-3]})
		return nil
	}}})
	o := options(t, script.New(script.Say("a"), script.Say("b"), script.Say("c"), script.Say("d")), judge, asks,
		withTools("Tools", echo("Say", 0)), withDeferred("More", echo("Late", 0)), finder())
	people := &lasting{}
	o.Approver = people
	s := open(t, o)
	turn := func() []string {
		got = nil
		for _, err := range s.Prompt(t.Context(), session.Text("go ")) {
			require.NoError(t, err)
		}
		return got
	}
	require.Equal(t, []string{"Say:x", "Late:x", "There is no tool `Gone`."}, turn())
	require.Equal(t, "go Say:x", s.Messages()[0].Text(), "it is in the prompt, and no call in the transcript")
	require.Len(t, s.Messages(), 2)

	verdict = middleware.Verdict{Decision: middleware.Deny, Reason: "never"}
	require.Equal(t, "Not run: never.", turn()[0])
	verdict = middleware.Verdict{Decision: middleware.Ask, Reason: "may it?"}
	require.Equal(t, "Say:x", turn()[0])
	require.Len(t, people.requests, 2, "a person was asked about each that there is")
	require.NoError(t, s.Deny("Say"))
	require.Equal(t, "There is no tool `Say`.", turn()[0])
}
