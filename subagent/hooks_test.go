package subagent

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

func hooked(t *testing.T, o LoadOptions, fields ...string) (*Definition, []meta.Diagnostic) {
	t.Helper()
	o.Root = write(t, map[string]string{".peri/agents/rev.md": file(fields...)})
	c, diags := Load(o)
	d, _ := c.Lookup("rev")
	return d, diags
}

func TestHooksAreReadInTheirOrderWithTheirPlaces(t *testing.T) {
	d, diags := hooked(t, LoadOptions{Trusted: true}, `hooks:
  PreToolUse:
    - matcher: Bash|Write
      hooks: [{type: command, command: one, timeout: 2.5}, {command: two, once: true, statusMessage: Looking}]
    - hooks:
        - {type: http, url: "http://localhost/x", headers: {A: b}, async: true}
  Stop: [{hooks: [{type: prompt, prompt: Done?}]}]
  PostToolUse: []`)
	require.Empty(t, diags)
	require.JSONEq(t, `[
		{"event":"PreToolUse","matcher":"Bash|Write","type":"command","command":"one","timeout":2.5,"origin":{"Layer":"project","File":".peri/agents/rev.md","Line":7,"Column":15}},
		{"event":"PreToolUse","matcher":"Bash|Write","type":"command","command":"two","once":true,"origin":{"Layer":"project","File":".peri/agents/rev.md","Line":7,"Column":60}},
		{"event":"PreToolUse","type":"http","url":"http://localhost/x","headers":{"A":"b"},"async":true,"origin":{"Layer":"project","File":".peri/agents/rev.md","Line":9,"Column":11}},
		{"event":"Stop","type":"prompt","origin":{"Layer":"project","File":".peri/agents/rev.md","Line":10,"Column":19}}
	]`, string(d.Extra(toolview.ExtraHooks)))
	require.JSONEq(t, string(d.Extra(toolview.ExtraHooks)), string(d.Spawn().Extras[0].Value))
}

func TestBrokenHooksLeaveTheAgentOut(t *testing.T) {
	for name, c := range map[string]struct{ hooks, says string }{
		"no map":                 {"hooks: Bash", "found"},
		"nothing":                {"hooks:", "found nothing"},
		"an unknown event":       {"hooks: {PreTooluse: []}", "is no event"},
		"prompts of users":       {"hooks: {UserPromptSubmit: []}", "guard nothing"},
		"an event without list":  {"hooks: {PreToolUse: }", "found nothing"},
		"a matcher that is none": {"hooks: {PreToolUse: [x]}", `found "x"`},
		"no hooks":               {"hooks: {PreToolUse: [{matcher: Bash}]}", "without hooks"},
		"hooks as a map":         {"hooks: {PreToolUse: [{hooks: {command: x}}]}", "found a map"},
		"a misspelt matcher":     {"hooks: {PreToolUse: [{match: Bash, hooks: []}]}", "match is no field"},
		"no command":             {"hooks: {PreToolUse: [{hooks: [{type: command}]}]}", "without command"},
		"no url":                 {"hooks: {PreToolUse: [{hooks: [{type: http}]}]}", "without url"},
		"an unknown type":        {"hooks: {PreToolUse: [{hooks: [{type: shell, command: x}]}]}", `"shell" is none`},
		"a condition":            {"hooks: {PreToolUse: [{hooks: [{command: x, if: y}]}]}", "if is no field"},
		"no time":                {"hooks: {PreToolUse: [{hooks: [{command: x, timeout: 0}]}]}", "timeout"},
		"endless":                {"hooks: {PreToolUse: [{hooks: [{command: x, timeout: .nan}]}]}", "timeout"},
		"async as a text":        {"hooks: {PreToolUse: [{hooks: [{command: x, async: soon}]}]}", "async"},
		"a command twice":        {"hooks: {PreToolUse: [{hooks: [{command: x, command: y}]}]}", "twice"},
		"headers as a text":      {"hooks: {PreToolUse: [{hooks: [{type: http, url: x, headers: y}]}]}", "headers"},
		"a near miss":            {"hook: {PreToolUse: []}", "no field"},
	} {
		t.Run(name, func(t *testing.T) {
			d, diags := hooked(t, LoadOptions{Trusted: true}, c.hooks)
			require.Nil(t, d)
			require.NotEmpty(t, diags)
			require.Equal(t, meta.SeverityError, diags[0].Severity)
			require.Equal(t, 4, diags[0].Origin.Line)
			require.Contains(t, diags[0].Message, c.says)
			require.NotEmpty(t, diags[0].Suggestion)
		})
	}
}

func TestWhoRunsHooksMayRefuseThem(t *testing.T) {
	one := "hooks: {PreToolUse: [{hooks: [{command: x}]}]}"
	var seen json.RawMessage
	fine := func(raw json.RawMessage) error { seen = raw; return nil }
	bad := func(json.RawMessage) error {
		return errors.Join(&meta.Error{Origin: meta.Origin{Line: 4, Column: 31}, Message: "cannot run"})
	}
	d, _ := hooked(t, LoadOptions{Trusted: true, CheckHooks: fine}, one)
	require.Equal(t, string(d.Extra(toolview.ExtraHooks)), string(seen))
	d, diags := hooked(t, LoadOptions{Trusted: true, CheckHooks: bad}, one)
	require.Nil(t, d)
	require.Contains(t, diags[0].Message, "cannot run; the agent is left out")
	require.Equal(t, 31, diags[0].Origin.Column)
}

func TestAnUntrustedProjectBringsNoHooks(t *testing.T) {
	guard, observer := "hooks: {PreToolUse: [{hooks: [{command: x}]}]}", "hooks: {Stop: [{hooks: [{command: x}]}]}"
	for _, text := range []string{guard, observer} {
		d, _ := hooked(t, LoadOptions{Trusted: true}, text)
		require.NotEmpty(t, d.Extra(toolview.ExtraHooks), "presence first")
	}
	d, diags := hooked(t, LoadOptions{}, guard)
	require.Nil(t, d, "never without its guard")
	require.Equal(t, meta.SeverityError, diags[0].Severity)
	d, diags = hooked(t, LoadOptions{}, observer)
	require.Empty(t, d.Extra(toolview.ExtraHooks))
	require.Equal(t, meta.SeverityWarning, diags[0].Severity)
	require.Contains(t, diags[0].Message, "not trusted: ignored")
}
