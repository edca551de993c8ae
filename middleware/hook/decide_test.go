package hook_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/session/provider/script"
)

const (
	allows = `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`
	asks   = `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look twice"}}'`
	denies = `echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not today"}}'`
)

func rewrites(to string) string {
	return `echo '{"hookSpecificOutput":{"updatedInput":{"command":"` + to + `"}}}'`
}

func rules(texts ...string) (out []permission.Rule) {
	for _, t := range texts {
		out = append(out, permission.Rule{Text: t, Origin: meta.Origin{File: "settings.yaml"}})
	}
	return out
}

func TestADecidingHookThatCannotBeHeardHasRefused(t *testing.T) {
	for name, c := range map[string]struct{ command, want string }{
		"crash":          {`kill -SEGV $$`, "signal"},
		"exit 1":         {`echo oops >&2; exit 1`, "oops"},
		"missing":        {`no-such-program-anywhere`, "127"},
		"truncated JSON": {`printf '{"hookSpecificOutput":{"permissionDecision":"al'`, "JSON that cannot be read"},
		"junk":           {`echo fine by me`, "no JSON object"},
		"an array":       {`echo '[]'`, "no JSON object"},
		"two objects":    {`echo '{}{}'`, "more than one"},
		"wrong type":     {`echo '{"hookSpecificOutput":{"permissionDecision":true}}'`, "cannot be read"},
		"unknown word":   {`echo '{"hookSpecificOutput":{"permissionDecision":"maybe"}}'`, "allow, ask or deny"},
		"unknown choice": {`echo '{"decision":"perhaps"}'`, "approve or block"},
		"other event":    {`echo '{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}'`, "answered for Stop"},
		"bad rewrite":    {`echo '{"hookSpecificOutput":{"updatedInput":"x"}}'`, "no object"},
		"misfit rewrite": {`echo '{"hookSpecificOutput":{"updatedInput":{"command":7}}}'`, "rewrote the call"},
		"flood":          {`head -c 2000000 /dev/zero | tr '\0' x`, "more than"},
		"exit 2":         {`echo because >&2; exit 2`, "refused it: because"},
		"deny":           {denies, "not today"},
		"legacy block":   {`echo '{"decision":"block","reason":"old style"}'`, "old style"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.on(hook.PreToolUse, "Shell", c.command)
			got := b.play("x")
			require.Empty(t, b.ran)
			require.Contains(t, got[0], c.want)
			if name != "misfit rewrite" {
				require.Contains(t, got[0], "settings.yaml:1")
			}
		})
	}
	for name, command := range map[string]string{"silent": "true", "empty object": "echo '{}'", "reads nothing": "exec 0<&-; true", "allows": allows} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.on(hook.PreToolUse, "Shell", command)
			b.play("x")
			require.Equal(t, []string{"x"}, b.ran)
		})
	}
}

func TestAHooksOwnTimeoutIsObeyed(t *testing.T) {
	b := newBench(t)
	b.on(hook.PreToolUse, "", "sleep 60 & echo $! > pid; wait").Timeout = 0.2
	got := b.play("x")
	require.Empty(t, b.ran)
	require.Contains(t, got[0], "gave no answer within 200ms")

	b = newBench(t)
	b.on(hook.PreToolUse, "", "sleep 1").Timeout = 30
	b.play("x")
	require.Equal(t, []string{"x"}, b.ran, "longer than a gate may take, and heard all the same")
}

func TestHooksRunInOrderAndEachSeesThePreviousRewrite(t *testing.T) {
	pass := "true"
	sees := func(n string) string { return "cat > seen" + n }
	for name, c := range map[string]struct {
		hooks []string
		want  string
	}{
		"rewriter first": {[]string{rewrites("one"), pass, sees("")}, "one"},
		"rewriter last":  {[]string{pass, rewrites("one")}, "one"},
		"two rewriters":  {[]string{rewrites("one"), sees(""), rewrites("two")}, "two"},
		"with an asker":  {[]string{rewrites("one"), asks, pass}, "one"},
		"asker first":    {[]string{asks, rewrites("one")}, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			who := &answering{allow: true}
			b.approver = who
			for _, h := range c.hooks {
				b.on(hook.PreToolUse, "Shell", h)
			}
			b.play("zero")
			require.Equal(t, []string{c.want}, b.ran)
			if strings.Contains(name, "asker") {
				require.Len(t, who.requests, 1)
				require.JSONEq(t, `{"command":"`+c.want+`"}`, string(who.requests[0].Args), "what is approved is what is shown and run")
				require.Contains(t, who.requests[0].Reason, "look twice")
			}
			if name == "two rewriters" {
				require.Equal(t, map[string]any{"command": "one"}, b.payload("seen")["tool_input"])
			}
		})
	}
}

func TestARewrittenCallIsJudgedAgain(t *testing.T) {
	b := newBench(t)
	b.rules = permission.Options{Mode: "bypass"}
	b.on(hook.PreToolUse, "", rewrites("evil"))
	b.on(hook.PreToolUse, "", `grep -q evil && { echo no evil >&2; exit 2; }; true`)
	got := b.play("good")
	require.Empty(t, b.ran)
	require.Contains(t, got[0], "no evil")
}

func TestAHooksAllowSatisfiesAModeAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		rules permission.Options
		hooks []string
		runs  bool
	}{
		"the mode asks":             {permission.Options{Mode: "default"}, []string{allows}, true},
		"no hook":                   {permission.Options{Mode: "default"}, []string{"true"}, false},
		"an ask rule":               {permission.Options{Mode: "default", Ask: rules("Shell")}, []string{allows}, false},
		"a deny rule":               {permission.Options{Mode: "default", Deny: rules("Shell")}, []string{allows}, false},
		"the mode denies":           {permission.Options{Mode: "dontAsk"}, []string{allows}, false},
		"plan":                      {permission.Options{Mode: "plan"}, []string{allows}, false},
		"another hook denies":       {permission.Options{Mode: "default"}, []string{allows, denies}, false},
		"another hook asks":         {permission.Options{Mode: "default"}, []string{allows, asks}, false},
		"another hook asked before": {permission.Options{Mode: "default"}, []string{asks, allows}, false},
		"rewritten afterwards":      {permission.Options{Mode: "default"}, []string{allows, rewrites("y")}, false},
		"rewritten and allowed":     {permission.Options{Mode: "default"}, []string{rewrites("y"), allows}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.rules = c.rules
			for _, h := range c.hooks {
				b.on(hook.PreToolUse, "Shell", h)
			}
			b.play("x")
			require.Equal(t, c.runs, len(b.ran) == 1)
		})
	}
}

func TestAPermissionRequestIsAnsweredByAHookOrByAPerson(t *testing.T) {
	answer := func(behavior string) string {
		return `cat > request; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"` + behavior + `","message":"house rule"}}}'`
	}
	b := newBench(t)
	b.rules.Mode = "default"
	b.on(hook.PermissionRequest, "Shell", answer("allow"))
	b.on(hook.Notification, "permission_prompt", "cat > notified")
	b.play("x")
	require.Equal(t, []string{"x"}, b.ran)
	require.Equal(t, "PermissionRequest", b.payload("request")["hook_event_name"])
	require.NoFileExists(t, b.dir+"/notified", "nobody was asked")

	b = newBench(t)
	b.rules.Mode = "default"
	b.approver = &answering{allow: true}
	b.on(hook.PermissionRequest, "Shell", answer("deny"))
	require.Contains(t, b.play("x")[0], "house rule")
	require.Empty(t, b.ran)

	b = newBench(t)
	b.rules = permission.Options{Mode: "default", Ask: rules("Shell")}
	who := &answering{allow: true}
	b.approver = who
	b.on(hook.PermissionRequest, "Shell", answer("allow"))
	b.on(hook.Notification, "permission_prompt", "cat > notified")
	b.play("x")
	require.Len(t, who.requests, 1, "what a rule asks, no hook answers")
	require.Equal(t, "permission_prompt", b.payload("notified")["notification_type"])

	b = newBench(t)
	b.rules.Mode = "default"
	b.approver = &answering{allow: true}
	b.on(hook.PermissionRequest, "", "exit 1")
	b.play("x")
	require.Empty(t, b.ran, "it decides, and so it fails closed")
}

func TestMatchersSelectToolsByNameAliasAndPattern(t *testing.T) {
	for matcher, hits := range map[string]bool{
		"": true, "*": true, "Shell": true, "shell": true, "run_command": true, "Edit|Shell": true, "Edit, Shell": true,
		"Sh.*": true, "^Shell$": true, "mcp__.*": false, "Shel": false, "Edit": false, "ShellX": false,
	} {
		b := newBench(t)
		b.on(hook.PreToolUse, matcher, denies)
		b.play("x")
		require.Equal(t, hits, len(b.ran) == 0, matcher)
	}
	_, err := hook.New(hook.Options{Hooks: []hook.Entry{
		{Event: hook.PreToolUse, Matcher: "(", Type: "command", Command: "true", Origin: meta.Origin{File: "s.yaml", Line: 3}},
		{Event: hook.PreToolUse, Type: "command"},
		{Event: hook.PreToolUse, Type: "http", URL: "ftp://x"},
		{Event: hook.Stop, Type: "odd"},
	}})
	for _, want := range []string{"s.yaml:3: hooks.PreToolUse: matcher \"(\"", "needs a command", "http or https", `type "odd"`} {
		require.ErrorContains(t, err, want)
	}
}

func TestAServerDecidesAsACommandDoes(t *testing.T) {
	var seen map[string]any
	status, body := http.StatusOK, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"server says no"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" || r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&seen)
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	play := func(url string) (string, bool) {
		b := newBench(t)
		b.hooks = []hook.Entry{{Event: hook.PreToolUse, Type: "http", URL: url, Headers: map[string]string{"X-Key": "k"}, Timeout: 10}}
		got := b.play("x")
		return got[0], len(b.ran) == 1
	}
	text, ran := play(server.URL)
	require.False(t, ran)
	require.Contains(t, text, "server says no")
	require.Equal(t, "Shell", seen["tool_name"])
	body = ""
	_, ran = play(server.URL)
	require.True(t, ran, "it had nothing to say")
	body = "nonsense"
	_, ran = play(server.URL)
	require.False(t, ran)
	body = "{}"
	for _, status = range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNotFound} {
		_, ran = play(server.URL)
		require.False(t, ran, status)
	}
	status = http.StatusOK
	server.Close()
	text, ran = play(server.URL)
	require.False(t, ran)
	require.Contains(t, text, "could not be reached")
}

func TestHooksHoldInEveryChildWithItsIdentity(t *testing.T) {
	child := []script.Step{script.Do("Shell", `{"command":"x"}`), script.Say("worked")}
	collect := script.Do("Delegate", `{"collect":"main.1"}`)
	for name, c := range map[string]struct {
		spawn string
		main  []script.Step
		want  string
	}{
		"agent":      {`{"agent":"worker","prompt":"work"}`, nil, "worker"},
		"fork":       {`{"fork":true,"prompt":"work"}`, child, "fork"},
		"background": {`{"agent":"worker","prompt":"work","background":true}`, []script.Step{collect}, "worker"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.on(hook.PreToolUse, "Shell", `cat > payload; echo "no shell" >&2; exit 2`)
			main := append([]script.Step{script.Do("Delegate", c.spawn)}, c.main...)
			b.openAs("main", map[string][]script.Step{"": append(main, script.Say("done")), "worker": child})
			b.turn("go")
			require.Empty(t, b.ran)
			p := b.payload("payload")
			require.Equal(t, "main", p["session_id"])
			require.Equal(t, "main.1", p["agent_id"])
			require.Equal(t, c.want, p["agent_type"])
		})
	}
	b := newBench(t)
	b.openAs("main", map[string][]script.Step{"": {script.Do("Delegate", `{"agent":"worker","prompt":"work"}`), script.Say("done")}, "worker": child})
	b.turn("go")
	require.Equal(t, []string{"x"}, b.ran, "without the hook it runs")
}
