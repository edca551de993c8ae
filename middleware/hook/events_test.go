package hook_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

func says(event, text string) string {
	return `echo '{"hookSpecificOutput":{"hookEventName":"` + event + `","additionalContext":"` + text + `"}}'`
}

func TestEveryEventIsToldInItsPlace(t *testing.T) {
	b := newBench(t)
	for _, e := range []string{
		hook.SessionStart, hook.UserPromptSubmit, hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.PostToolBatch,
		hook.Stop, hook.SessionEnd, hook.SubagentStart, hook.SubagentStop,
	} {
		b.on(e, "", "cat > "+e+"; echo "+e+" >> order; true")
	}
	b.openAs("main", map[string][]script.Step{
		"": {
			script.Do("Shell", `{"command":"a"}`), script.Do("Shell", `{"command":"fail"}`),
			script.Do("Delegate", `{"agent":"worker","prompt":"work"}`), script.Say("done"),
		},
		"worker": {script.Say("worked")},
	})
	b.turn("do it")
	require.NoError(t, b.s.Close(context.Background()))
	require.Equal(t, strings.Fields(`SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolBatch PreToolUse PostToolUseFailure
		PostToolBatch PreToolUse SubagentStart SubagentStop PostToolUse PostToolBatch Stop SessionEnd`), strings.Fields(b.file("order")))

	common := []string{"session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"}
	for event, more := range map[string]map[string]any{
		hook.SessionStart:       {"source": "startup"},
		hook.UserPromptSubmit:   {"prompt": "do it"},
		hook.PreToolUse:         {"tool_name": "Delegate"},
		hook.PostToolUse:        {"tool_name": "Delegate"},
		hook.PostToolUseFailure: {"tool_name": "Shell", "error": "it broke"},
		hook.PostToolBatch:      {},
		hook.Stop:               {"stop_hook_active": false, "last_assistant_message": "done"},
		hook.SessionEnd:         {"reason": "other"},
		hook.SubagentStart:      {"agent_type": "worker", "agent_id": "main.1"},
		hook.SubagentStop:       {"agent_type": "worker", "last_assistant_message": "worked"},
	} {
		p := b.payload(event)
		for _, k := range common {
			require.Contains(t, p, k, event)
		}
		require.Equal(t, event, p["hook_event_name"])
		require.Equal(t, "main", p["session_id"])
		require.Equal(t, b.dir, p["cwd"])
		for k, v := range more {
			require.Equal(t, v, p[k], "%s.%s", event, k)
		}
	}
	require.Len(t, b.payload(hook.PostToolBatch)["tool_calls"], 1)
}

func TestWhatHooksSayReachesTheModel(t *testing.T) {
	b := newBench(t)
	b.on(hook.SessionStart, "startup", "echo from the start")
	b.on(hook.UserPromptSubmit, "", says("UserPromptSubmit", "about the prompt"))
	b.on(hook.PreToolUse, "", says("PreToolUse", "before the call"))
	b.on(hook.PostToolUse, "", says("PostToolUse", "behind the call"))
	b.on(hook.PostToolUse, "", "echo redo it >&2; exit 2")
	var tails []string
	b.more = []middleware.Middleware{{Name: "Ear", Doc: "hears", Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
		return &middleware.Instance{Hooks: middleware.Hooks{WrapModel: func(next middleware.ModelFunc) middleware.ModelFunc {
			return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
				for _, c := range r.Tail {
					tails = append(tails, c.Text)
				}
				return next(ctx, r, sink)
			}
		}}}, nil
	}}}
	got := b.play("x")
	require.Contains(t, b.s.Messages()[0].Text(), "from the start")
	require.Contains(t, b.s.Messages()[0].Text(), "about the prompt")
	require.Contains(t, got[0], "behind the call")
	require.Contains(t, got[0], "redo it")
	require.Contains(t, strings.Join(tails, "\n"), "before the call")
}

func TestAPromptHookRefusesThePromptAndFailsClosed(t *testing.T) {
	for name, command := range map[string]string{
		"exit 2": "echo not that >&2; exit 2", "block": `echo '{"decision":"block","reason":"not that"}'`,
		"crash": "echo not that >&2; exit 9", "halt": `echo '{"continue":false,"stopReason":"not that"}'`,
	} {
		b := newBench(t)
		b.on(hook.UserPromptSubmit, "", command)
		b.open(map[string][]script.Step{"": {script.Say("hello")}})
		var failed error
		for _, err := range b.s.Prompt(t.Context(), session.Text("go")) {
			if err != nil {
				failed = err
			}
		}
		require.ErrorContains(t, failed, "not that", name)
	}
	b := newBench(t)
	b.on(hook.UserPromptSubmit, "", "true")
	b.open(map[string][]script.Step{"": {script.Say("hello")}})
	b.turn("go")
}

func TestAStopHookMakesTheTurnGoOnAndIsToldThatItDid(t *testing.T) {
	b := newBench(t)
	b.on(hook.Stop, "", `cat > stop; grep -q '"stop_hook_active":true' stop || { echo "run the tests" >&2; exit 2; }`)
	b.play()
	h := b.s.Messages()
	require.Equal(t, "run the tests", h[2].Text())
	require.Equal(t, "done again", h[3].Text())
	require.Len(t, h, 4)
}

func TestAHookThatStopsTheTurnLetsNothingRunUntilTheNextPrompt(t *testing.T) {
	b := newBench(t)
	b.on(hook.PostToolUse, "", `grep -q '"command":"bad"' && echo '{"continue":false,"stopReason":"enough"}'; true`)
	got := b.play("good", "bad", "after")
	require.Equal(t, []string{"good", "bad"}, b.ran)
	require.Contains(t, got[2], "enough")
	require.Empty(t, b.turn("again"))
}

func TestAnObserverThatFailsIsReportedAndStopsNothing(t *testing.T) {
	b := newBench(t)
	for _, e := range []string{hook.SessionStart, hook.PostToolUse, hook.PostToolBatch, hook.Stop} {
		b.on(e, "", "echo broken "+e+" >&2; exit 3")
	}
	b.play("x")
	require.Equal(t, []string{"x"}, b.ran)
	notes := strings.Join(b.notes, "\n")
	for _, e := range []string{hook.SessionStart, hook.PostToolUse, hook.PostToolBatch} {
		require.Contains(t, notes, "broken "+e)
	}
}

func TestAnAsyncHookIsNotWaitedForAndEndsWithTheSession(t *testing.T) {
	b := newBench(t)
	fifo := b.dir + "/go"
	b.on(hook.PreToolUse, "", "while [ ! -e "+fifo+" ]; do sleep 0.05; done; echo late > late; exit 2").Async = true
	b.on(hook.PostToolUse, "", "sleep 600").Async = true
	b.play("x")
	require.Equal(t, []string{"x"}, b.ran, "it decides nothing")
	require.NoFileExists(t, b.dir+"/late")
	require.NoError(t, os.WriteFile(fifo, nil, 0o600))
	require.NoError(t, b.s.Close(context.Background()), "what sleeps is ended")
}

func TestAHookThatRunsOnceRunsOnceInTheWholeTree(t *testing.T) {
	b := newBench(t)
	b.on(hook.PreToolUse, "", "echo x >> count").Once = true
	b.open(map[string][]script.Step{
		"":       {script.Do("Shell", `{"command":"a"}`), script.Do("Delegate", `{"agent":"worker","prompt":"work"}`), script.Say("done")},
		"worker": {script.Do("Shell", `{"command":"b"}`), script.Say("worked")},
	})
	b.turn("go")
	require.Equal(t, []string{"a", "b"}, b.ran)
	require.Equal(t, "x", b.file("count"))
}

func TestWhatDoesNothingInThisVersionIsSaid(t *testing.T) {
	codes := map[string]string{}
	for _, d := range (hook.Options{Hooks: []hook.Entry{
		{Event: "PreCompact", Type: "command", Command: "x"},
		{Event: "PostCompact", Type: "command", Command: "x"},
		{Event: hook.PreToolUse, Type: "prompt"},
		{Event: hook.PermissionRequest, Type: "command", Async: true},
		{Event: hook.Stop, Matcher: "x", Type: "command"},
		{Event: hook.PostToolUse, Matcher: "x", Type: "command"},
	}}).Unfired() {
		codes[d.Key] = d.Code
	}
	require.Equal(t, map[string]string{
		"hooks.PreCompact": "hook_not_fired", "hooks.PostCompact": "hook_not_fired", "hooks.PreToolUse": "hook_not_run",
		"hooks.PermissionRequest": "hook_async", "hooks.Stop": "hook_matcher",
	}, codes)

	b := newBench(t)
	b.hooks = []hook.Entry{{Event: hook.PreToolUse, Type: "prompt", Origin: meta.Origin{File: "s.yaml"}}}
	b.play("x")
	require.Empty(t, b.ran, "a guard that cannot be asked refuses")
}

func TestAStoredPolicyHoldsOverTheProgramsHooks(t *testing.T) {
	old, err := hook.New(hook.Options{Hooks: []hook.Entry{{Event: hook.PreToolUse, Type: "command", Command: "exit 2"}}})
	require.NoError(t, err)
	now, err := hook.New(hook.Options{})
	require.NoError(t, err)
	require.True(t, now.Gates)
	in, err := now.Open(t.Context(), middleware.Env{Policy: old.Policy, Project: middleware.Project{Root: t.TempDir()}})
	require.NoError(t, err)
	require.NotNil(t, in.Hooks.Rewrite)
	in, err = now.Open(t.Context(), middleware.Env{Policy: now.Policy})
	require.NoError(t, err)
	require.Nil(t, in.Hooks.Rewrite)
	require.NotNil(t, in.Hooks.Gate)
	_, err = now.Open(t.Context(), middleware.Env{})
	require.Error(t, err)
}
