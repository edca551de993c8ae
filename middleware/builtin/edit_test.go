package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
)

const (
	plainSettings = "model: offline\n"
	mayEdit       = "meta: {SettingsEditMiddleware: true}\n"
)

// proposal is what became of a session whose agent proposed to close a key and then ran a command.
type proposal struct {
	answer, after string // of the call; the project's settings afterwards
	offered       bool
	ran           bool // the command
}

// proposes plays it in a project, under the user's own settings.
func proposes(t *testing.T, settings string, who session.Approver) proposal {
	t.Helper()
	s := newSite(t, plainSettings)
	s.writeHome(settings)
	o := s.options(script.New(
		script.Do("ExecuteExtraTool", `{"name":"SettingsEdit","arguments":{"action":"disable","key":"WebMiddleware"}}`),
		script.Do("Bash", `{"command":"touch ran"}`), script.Say("done"),
	), "")
	o.Approver = who
	run, err := session.New(t.Context(), o)
	require.NoError(t, err)
	play(t, run, "go")
	out := proposal{answer: run.Messages()[2].Results()[0].Text(), offered: run.View().Explain("SettingsEdit").Visible}
	require.NoError(t, run.Close(context.Background()))
	raw, err := os.ReadFile(filepath.Join(s.root, ".peri", "settings.yaml"))
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(s.root, "ran"))
	out.after, out.ran = string(raw), err == nil
	return out
}

// What opens everything else opens no edit; what denies everything else denies it as well.
func TestAPersonIsAskedAboutEveryEditOfSettingsWhateverAllowsIt(t *testing.T) {
	const (
		allows = `hooks: {PreToolUse: [{hooks: [{command: "echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'"}]}]}` + "\n"
		grants = `hooks: {PermissionRequest: [{hooks: [{command: "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}'"}]}]}` + "\n"
	)
	for name, c := range map[string]struct {
		settings string
		opens    bool // lets the command run although nobody is there
		denies   bool
	}{
		"default":                   {settings: mayEdit},
		"acceptEdits":               {settings: mayEdit + "permissions: {mode: acceptEdits}\n"},
		"bypass":                    {settings: mayEdit + "permissions: {mode: bypass}\n", opens: true},
		"plan":                      {settings: mayEdit + "permissions: {mode: plan}\n", denies: true},
		"dontAsk":                   {settings: mayEdit + "permissions: {mode: dontAsk}\n", denies: true},
		"dontAsk and an allow rule": {settings: mayEdit + "permissions: {mode: dontAsk, allow: [SettingsEdit, Bash]}\n", opens: true},
		"an allow rule":             {settings: mayEdit + "permissions: {allow: [SettingsEdit, Bash]}\n", opens: true},
		"a deny rule":               {settings: mayEdit + "permissions: {mode: bypass, deny: [SettingsEdit]}\n", opens: true, denies: true},
		"a hook before calls":       {settings: mayEdit + allows, opens: true},
		"a hook that answers":       {settings: mayEdit + grants, opens: true},
		"all that can allow":        {settings: mayEdit + "permissions: {mode: bypass, allow: [SettingsEdit, Bash]}\n" + allows, opens: true},
		"no PermissionMiddleware":   {settings: "meta: {SettingsEditMiddleware: true, PermissionMiddleware: false}\n", opens: true},
	} {
		t.Run(name, func(t *testing.T) {
			nobody := proposes(t, c.settings, nil)
			require.Equal(t, c.opens, nobody.ran, "what it does for another call")
			require.Contains(t, nobody.answer, "Not run")
			require.Equal(t, plainSettings, nobody.after)

			no := &person{}
			refused := proposes(t, c.settings, no)
			require.Contains(t, refused.answer, "Not run")
			require.Equal(t, plainSettings, refused.after)

			yes := &person{answer: session.Approval{Allow: true, Scope: session.Always}}
			approved := proposes(t, c.settings, yes)
			about := 0
			for _, r := range yes.asked {
				if r.Tool == "SettingsEdit" {
					about++
				}
			}
			if c.denies {
				require.Zero(t, about)
				require.Equal(t, plainSettings, approved.after)
				return
			}
			require.Equal(t, 1, about)
			require.Equal(t, plainSettings+"meta:\n  WebMiddleware: false # peri\n", approved.after)
			require.Contains(t, approved.answer, "from the next session on")
		})
	}
}

func TestNoAnswerAboutAnEditOfSettingsHoldsForTheNext(t *testing.T) {
	s := newSite(t, plainSettings)
	s.writeHome(mayEdit)
	call := func(action string) script.Step {
		return script.Do("ExecuteExtraTool", `{"name":"SettingsEdit","arguments":{"action":"`+action+`","key":"WebMiddleware"}}`)
	}
	yes := &person{answer: session.Approval{Allow: true, Scope: session.Always}}
	for range 2 {
		o := s.options(script.New(call("disable"), call("enable"), script.Say("done")), "")
		o.Approver = yes
		run, err := session.New(t.Context(), o)
		require.NoError(t, err)
		play(t, run, "go")
		require.NoError(t, run.Close(context.Background()))
	}
	require.Len(t, yes.asked, 4)
}

func TestTheAgentEditsNoSettingsUnlessTheMetaMapSaysSo(t *testing.T) {
	yes := &person{answer: session.Approval{Allow: true}}
	open := proposes(t, mayEdit+"permissions: {mode: bypass}\n", yes)
	require.True(t, open.offered, "presence first")
	require.NotEqual(t, plainSettings, open.after)
	for _, settings := range []string{"", "meta: {SettingsEditMiddleware: false}\n"} {
		yes = &person{answer: session.Approval{Allow: true}}
		shut := proposes(t, settings+"permissions: {mode: bypass}\n", yes)
		require.False(t, shut.offered)
		require.Contains(t, shut.answer, "There is no tool `SettingsEdit`")
		require.Equal(t, plainSettings, shut.after)
		require.Empty(t, yes.asked)
		require.True(t, shut.ran, "the rest goes on")
	}
}

func TestAnEditNamesEveryAgentForWhichSomethingElseHolds(t *testing.T) {
	s := newSite(t, "")
	s.skill(".peri/skills", "review")
	for name, front := range map[string]string{
		"plain":    "model: inherit",
		"unlisted": "tools: Read",
		"wanting":  "tools: Read\nskills: review",
		"denied":   "disallowedTools: Skill(review)",
		"kinds":    "skills: {allowed: [other]}",
		"off":      "skills: {disabled: [review]}",
		"asking":   "permission: {skill: {review: ask}}",
		"ruled":    "permission: {skill: {'*': allow, 'rev*': deny}}",
		"lifted":   "permission: {skill: {'*': deny, review: allow}}",
	} {
		s.writeAgent(name, front)
	}
	s.writeHome("permissions: {deny: ['Skill(@project/review)']}\n")
	e, err := builtin.Editor(config.Options{Root: s.root, Home: s.home, Managed: "-"})
	require.NoError(t, err)
	r := e.Apply(t.Context(), config.Edit{Action: config.Enable, Skill: "review"})
	require.NoError(t, r.Err())
	require.True(t, r.Done.Verification.OK)
	got := map[string]string{}
	for _, d := range r.Done.Verification.Diverged {
		got[d.Agent] = d.Actual
		require.Equal(t, filepath.Join(s.home, "agents", d.Agent+".md"), d.Rule.File)
		require.NotZero(t, d.Rule.Line)
		require.NotEmpty(t, d.Rule.Text)
	}
	require.Equal(t, map[string]string{"unlisted": "deny", "denied": "deny", "kinds": "deny", "off": "deny", "asking": "ask", "ruled": "deny"}, got)
}
