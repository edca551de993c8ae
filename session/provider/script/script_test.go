package script_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func request(agent string) *middleware.Request {
	return &middleware.Request{
		System:   []prompt.Block{{Text: "You work.", EndsCache: true}, {Text: "Today."}},
		View:     toolview.NewDeriver(nil, nil, nil).View(&toolview.Policy{Agent: agent}, nil),
		Messages: []*message.Message{message.Of(message.User, "go")},
		Tail:     []prompt.Contribution{{Owner: "o", Text: "mind the gap"}},
	}
}

func file(t *testing.T, text string) (*script.Script, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return script.File(path)
}

func TestScriptPlaysItsStepsAndEachAgentsOwn(t *testing.T) {
	s, err := file(t, `
steps:
  - calls: [{tool: Read, args: {path: x}}, {tool: LS, id: mine}]
  - text: all done
agents:
  explore:
    - text: found
`)
	require.NoError(t, err)
	streamed := ""
	sink := func(e message.Event) { streamed += e.Text }
	m, err := s.Model(t.Context(), request(""), sink)
	require.NoError(t, err)
	require.Len(t, m.Uses(), 2)
	require.JSONEq(t, `{"path":"x"}`, string(m.Uses()[0].Args))
	require.Equal(t, "mine", m.Uses()[1].ID)
	child, err := s.Model(t.Context(), request("explore"), sink)
	require.NoError(t, err)
	require.Equal(t, "found", child.Text())
	m, err = s.Model(t.Context(), request(""), sink)
	require.NoError(t, err)
	require.Equal(t, "all done", m.Text())
	require.Equal(t, "foundall done", streamed)
	_, err = s.Model(t.Context(), request(""), sink)
	require.ErrorContains(t, err, "2 steps")
	require.Equal(t, 0, s.Sent()[0].Ends)
}

func TestExpectationThatIsMissedFailsTheRequest(t *testing.T) {
	for name, e := range map[string]script.Expect{
		"a tool":           {Tools: []string{"Read"}},
		"system":           {System: []string{"You play"}},
		"absent in system": {NoSystem: []string{"You work"}},
		"last":             {Last: []string{"stop"}},
		"absent in last":   {NoLast: []string{"go"}},
		"tail":             {Tail: []string{"stand clear"}},
		"absent in tail":   {NoTail: []string{"gap"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script.New(script.Step{Text: "x", Expect: e}).Model(t.Context(), request(""), func(message.Event) {})
			require.ErrorContains(t, err, "step 1")
		})
	}
	met := script.Expect{NoTools: []string{"Read"}, System: []string{"You work", "Today"}, Last: []string{"go"}, Tail: []string{"gap"}}
	_, err := script.New(script.Step{Text: "x", Expect: met}).Model(t.Context(), request(""), func(message.Event) {})
	require.NoError(t, err)
}

func TestScriptThatIsNoScriptNamesItsFileAndLine(t *testing.T) {
	for _, text := range []string{"steps: [{txt: hello}]", "steps: 3", "nonsense"} {
		_, err := file(t, text)
		require.ErrorContains(t, err, "s.yaml", text)
		require.ErrorContains(t, err, "line 1", text)
	}
	_, err := script.File(filepath.Join(t.TempDir(), "missing.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
