package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const root = "/home/user/project"

type pathArgs struct {
	Path string `json:"path,omitempty"`
	Edit bool   `json:"edit,omitempty"`
	Fail bool   `json:"fail,omitempty"`
}

func tool(name string, effects toolview.Effects, aliases ...string) toolview.Tool {
	t := toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name, Aliases: aliases}, Doc: "Does.", Effects: effects},
		func(context.Context, any, *toolview.Call, pathArgs) (*message.Result, error) {
			return message.Say("done"), nil
		})
	t.Subjects = func(args json.RawMessage) ([]toolview.Subject, error) {
		var in pathArgs
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		if in.Fail {
			return nil, errors.New("unreadable")
		}
		if in.Path == "" {
			return nil, nil
		}
		return []toolview.Subject{{Kind: toolview.Path, Value: in.Path, Edit: in.Edit}}, nil
	}
	return t
}

func call(t *testing.T, tl toolview.Tool, args pathArgs) *toolview.Call {
	t.Helper()
	v := toolview.NewDeriver([]toolview.Band{{Owner: "OwnerMiddleware", Set: toolview.MustSet(tl)}}, nil, nil).View(&toolview.Policy{}, nil)
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, bad := v.Call("u1", tl.Name, raw)
	require.Nil(t, bad)
	return c
}

func opened(t *testing.T, o Options) *middleware.Instance {
	t.Helper()
	m, err := New(o)
	require.NoError(t, err)
	require.True(t, m.Gates)
	in, err := m.Open(t.Context(), middleware.Env{Policy: m.Policy, Project: middleware.Project{Root: root}})
	require.NoError(t, err)
	return in
}

func judge(t *testing.T, in *middleware.Instance, c *toolview.Call) middleware.Verdict {
	t.Helper()
	out := make([]middleware.Verdict, 1)
	in.Hooks.Gate(t.Context(), []*toolview.Call{c}, out)
	return out[0]
}

func rules(texts ...string) []Rule {
	var out []Rule
	for i, text := range texts {
		out = append(out, Rule{Text: text, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: i + 1, Column: 3}})
	}
	return out
}

const (
	deny  = middleware.Deny
	ask   = middleware.Ask
	allow = middleware.Allow
)

func TestTheModeTableHoldsForEveryEffect(t *testing.T) {
	table := map[string][3]middleware.Decision{ // read-only, edits in the project, everything else
		"":            {allow, ask, ask},
		"default":     {allow, ask, ask},
		"acceptEdits": {allow, allow, ask},
		"plan":        {allow, deny, deny},
		"bypass":      {allow, allow, allow},
		"dontAsk":     {allow, deny, deny},
	}
	gates := map[string]*middleware.Instance{}
	for mode := range table {
		gates[mode] = opened(t, Options{Mode: mode})
	}
	for e := range toolview.Effects(128) {
		for _, path := range []string{"", "src/a.go", root + "/src/a.go", "../other/a.go", "/etc/passwd", "~/a", root + "x/a"} {
			column := 2
			switch inside := path == "src/a.go" || path == root+"/src/a.go"; {
			case e.Has(toolview.Internal) && path != "":
				// The session's own tool, and a call of it that writes a file.
				if column = 2; inside {
					column = 1
				}
			case e.Has(toolview.ReadOnly) && !e.Has(toolview.OpenWorld), e.Has(toolview.Internal):
				column = 0
			case e.Has(toolview.Edits) && e&(toolview.Runs|toolview.OpenWorld) == 0 && inside:
				column = 1
			}
			c := call(t, tool("X", e), pathArgs{Path: path, Edit: true})
			for mode, want := range table {
				v := judge(t, gates[mode], c)
				name := fmt.Sprintf("mode %q, effects %q, path %q", mode, e, path)
				require.Equal(t, want[column], v.Decision, name)
				require.Equal(t, v.Decision == ask, v.Mode, name)
				require.Equal(t, v.Decision == allow, v.Reason == "", name)
			}
		}
	}
}

func TestDenyBeatsAskBeatsAllowWhateverTheirOrder(t *testing.T) {
	runs := tool("Shell", toolview.Runs, "run_command")
	for _, c := range []struct {
		name  string
		o     Options
		want  middleware.Decision
		plan  middleware.Decision
		isRun bool
	}{
		{"deny over all", Options{Allow: rules("Shell"), Ask: rules("*"), Deny: rules("Other", "shell")}, deny, deny, true},
		{"ask over a blanket allow", Options{Allow: rules("*"), Ask: rules("SHELL")}, ask, ask, true},
		{"a blanket ask over an exact allow", Options{Allow: rules("Shell"), Ask: rules("*")}, ask, ask, true},
		{"allow", Options{Allow: rules("Other|run_command")}, allow, deny, true},
		{"a rule by alias denies", Options{Deny: rules("Run_Command"), Allow: rules("*")}, deny, deny, true},
		{"a rule for another tool", Options{Allow: rules("Shel")}, ask, deny, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []string{"default", "plan", "bypass", "dontAsk"} {
				want := c.want
				switch {
				case mode == "plan":
					want = c.plan
				case want == ask && c.name == "a rule for another tool" && mode == "bypass":
					want = allow
				case want == ask && c.name == "a rule for another tool" && mode == "dontAsk":
					want = deny
				}
				o := c.o
				o.Mode = mode
				v := judge(t, opened(t, o), call(t, runs, pathArgs{}))
				require.Equal(t, want, v.Decision, mode)
				if c.name != "a rule for another tool" && !(mode == "plan" && c.want == allow) {
					require.NotEmpty(t, v.Rule, mode)
					require.Equal(t, "settings.yaml", v.Origin.File)
					require.False(t, v.Mode, "what a rule asks no mode's approval satisfies")
				}
			}
		})
	}
}

func TestPlanTakesAllowRulesForReadOnlyCallsAlone(t *testing.T) {
	in := opened(t, Options{Mode: "plan", Allow: rules("*")})
	require.Equal(t, allow, judge(t, in, call(t, tool("Look", toolview.ReadOnly), pathArgs{})).Decision)
	require.Equal(t, deny, judge(t, in, call(t, tool("Shell", toolview.Runs), pathArgs{})).Decision)
	require.Equal(t, deny, judge(t, in, call(t, tool("Web", toolview.ReadOnly|toolview.OpenWorld), pathArgs{})).Decision)
}

func TestAnEditRuleCoversEveryToolThatEdits(t *testing.T) {
	save := call(t, tool("Save", toolview.Edits), pathArgs{Path: "a", Edit: true})
	both := call(t, tool("Both", toolview.Edits|toolview.Runs), pathArgs{Path: "a", Edit: true})
	look := call(t, tool("Look", toolview.ReadOnly), pathArgs{Path: "a"})
	denies := opened(t, Options{Mode: "bypass", Deny: rules("Edit")})
	require.Equal(t, deny, judge(t, denies, save).Decision)
	require.Equal(t, deny, judge(t, denies, both).Decision)
	require.Equal(t, allow, judge(t, denies, look).Decision)
	allows := opened(t, Options{Allow: rules("edit")})
	require.Equal(t, allow, judge(t, allows, save).Decision)
	require.Equal(t, ask, judge(t, allows, both).Decision, "an allow covers no more than editing")
}

func TestWhatDecidesAboutSessionsIsAtLeastAsked(t *testing.T) {
	edit, run, look := tool("Save", toolview.Edits), tool("Shell", toolview.Runs), tool("Look", toolview.ReadOnly)
	for _, path := range []string{
		".git/config", "sub/.git/hooks/pre-commit", ".peri/settings.yaml", ".peri/agents/a.md", ".claude/agents/a.md",
		root + "/.GIT/config", "src/../.git/HEAD", "/home/user/.peri/settings.yaml", ".opencode/agent/x.md",
	} {
		for _, tl := range []toolview.Tool{edit, run, look} {
			c := call(t, tl, pathArgs{Path: path, Edit: tl.Name == "Save"})
			for mode, want := range map[string]middleware.Decision{"default": ask, "acceptEdits": ask, "bypass": allow, "dontAsk": deny} {
				v := judge(t, opened(t, Options{Mode: mode, Allow: rules("*")}), c)
				require.Equal(t, want, v.Decision, "%s %s %s", mode, tl.Name, path)
				require.False(t, v.Mode)
			}
		}
	}
	for _, path := range []string{"git/config", ".gitignore", "src/peri.go", ".github/x.yaml"} {
		v := judge(t, opened(t, Options{Mode: "acceptEdits"}), call(t, edit, pathArgs{Path: path, Edit: true}))
		require.Equal(t, allow, v.Decision, path)
	}
	m, err := New(Options{Mode: "acceptEdits"})
	require.NoError(t, err)
	in, err := m.Open(t.Context(), middleware.Env{Policy: m.Policy, Project: middleware.Project{Root: "/x/.claude/worktrees/w"}})
	require.NoError(t, err)
	require.Equal(t, allow, judge(t, in, call(t, edit, pathArgs{Path: "a.go", Edit: true})).Decision, "a project may stand below such a folder")
}

func TestWhatCannotBeToldIsDenied(t *testing.T) {
	c := call(t, tool("Look", toolview.ReadOnly), pathArgs{Fail: true})
	require.Equal(t, deny, judge(t, opened(t, Options{Allow: rules("*")}), c).Decision)
	require.Equal(t, allow, judge(t, opened(t, Options{Mode: "bypass"}), c).Decision)
}

func TestAnEditWithUnknownPathsIsNoEditInTheProject(t *testing.T) {
	in := opened(t, Options{Mode: "acceptEdits"})
	bare := tool("Save", toolview.Edits)
	bare.Subjects = nil
	require.Equal(t, ask, judge(t, in, call(t, bare, pathArgs{Path: "a"})).Decision)
	require.Equal(t, ask, judge(t, in, call(t, tool("Save", toolview.Edits), pathArgs{Path: "a"})).Decision, "it says that it only reads the path")
	require.Equal(t, allow, judge(t, in, call(t, tool("Save", toolview.Edits), pathArgs{Path: "a", Edit: true})).Decision)
}

func TestAChildIsJudgedByTheStricterModeCellByCell(t *testing.T) {
	calls := []*toolview.Call{
		call(t, tool("Look", toolview.ReadOnly), pathArgs{}),
		call(t, tool("Save", toolview.Edits), pathArgs{Path: "a", Edit: true}),
		call(t, tool("Shell", toolview.Runs), pathArgs{}),
		call(t, tool("Save", toolview.Edits), pathArgs{Path: ".git/config", Edit: true}),
	}
	decisions := func(in *middleware.Instance) (out []middleware.Decision) {
		for _, c := range calls {
			out = append(out, judge(t, in, c).Decision)
		}
		return out
	}
	alone := map[string][]middleware.Decision{}
	for _, m := range Modes() {
		alone[string(m)] = decisions(opened(t, Options{Mode: string(m)}))
	}
	for _, parent := range Modes() {
		for _, own := range append(Modes(), "") {
			in := opened(t, Options{Mode: string(parent)})
			child, err := in.Child(t.Context(), middleware.Env{Project: middleware.Project{Root: root}, Agent: middleware.Agent{Name: "a", Mode: string(own), Depth: 1}})
			require.NoError(t, err)
			want := append([]middleware.Decision{}, alone[string(parent)]...)
			for i := range want {
				if own != "" {
					want[i] = min(want[i], alone[string(own)][i])
				}
			}
			require.Equal(t, want, decisions(child), "%s under %s", own, parent)
			grandchild, err := child.Child(t.Context(), middleware.Env{Project: middleware.Project{Root: root}, Agent: middleware.Agent{Name: "b", Mode: "bypass", Depth: 2}})
			require.NoError(t, err)
			require.Equal(t, want, decisions(grandchild), "bypass under %s under %s", own, parent)
		}
	}
	_, err := opened(t, Options{}).Child(t.Context(), middleware.Env{Agent: middleware.Agent{Name: "a", Mode: "yolo"}})
	require.ErrorContains(t, err, `"yolo" is no mode`)
}

func TestWhatCannotBeEnforcedIsRefused(t *testing.T) {
	_, err := New(Options{Mode: "default", Deny: rules("Bash", "Bash(rm *)", "mcp__github__list_issues", "Web*", "mcp__github")})
	require.NoError(t, err)
	_, err = New(Options{Mode: "auto", Deny: rules("Read", "Bash(rm *", ""), Ask: rules("*(x)"), Allow: rules("Web Fetch", "Read|")})
	for _, want := range []string{
		`permissions.mode: "auto" is no mode: write one of default, acceptEdits, plan, bypass, dontAsk`,
		`settings.yaml:2:3: permissions.deny: selector "Bash(rm *": its ( is not closed`,
		`settings.yaml:3:3: permissions.deny: an empty selector`,
		`settings.yaml:1:3: permissions.ask: selector "*(x)": parentheses need a tool's name`,
		`settings.yaml:1:3: permissions.allow: selector "Web Fetch": not a tool's name`,
		`settings.yaml:2:3: permissions.allow: selector "Read|": a tool's name is missing`,
	} {
		require.ErrorContains(t, err, want)
	}
	m, err := New(Options{})
	require.NoError(t, err)
	for _, policy := range []string{"", "{}", "[]", `{"mode":"yolo"}`} {
		_, err = m.Open(t.Context(), middleware.Env{Policy: json.RawMessage(policy)})
		require.Error(t, err, policy)
	}
}

func TestAStoredPolicyHoldsOverTheProgramsOptions(t *testing.T) {
	old, err := New(Options{Mode: "plan", Deny: rules("Look")})
	require.NoError(t, err)
	now, err := New(Options{Mode: "bypass"})
	require.NoError(t, err)
	in, err := now.Open(t.Context(), middleware.Env{Policy: old.Policy, Resumed: true})
	require.NoError(t, err)
	require.Equal(t, deny, judge(t, in, call(t, tool("Look", toolview.ReadOnly), pathArgs{})).Decision)
	require.Equal(t, deny, judge(t, in, call(t, tool("Shell", toolview.Runs), pathArgs{})).Decision)
}

func TestTheRouteShowsModeAndRules(t *testing.T) {
	in := opened(t, Options{Mode: "acceptEdits", Allow: rules("Look"), Deny: rules("Shell")})
	r, err := in.Routes[0].Run(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "permissions", in.Routes[0].Name)
	require.Equal(t, "Mode: acceptEdits\ndeny Shell (settings.yaml:1:3)\nallow Look (settings.yaml:1:3)", r.Text)
	r, err = opened(t, Options{}).Routes[0].Run(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "Mode: default\nNo rules.", r.Text)
}

func TestARuleThatCanNeverMatchIsReported(t *testing.T) {
	bands := []toolview.Band{{Owner: "O", Set: toolview.MustSet(tool("Shell", toolview.Runs, "run_command"))}}
	require.Empty(t, Options{Deny: rules("shell", "RUN_COMMAND", "*", "Edit")}.Unmatched(bands))
	d := Options{Deny: rules("Shel|Shell")}.Unmatched(bands)
	require.Len(t, d, 1)
	require.Equal(t, "permissions.deny", d[0].Key)
	require.Contains(t, d[0].Suggestion, "Shell")
}
