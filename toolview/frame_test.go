package toolview_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func library() []toolview.Band {
	private := tool("Settings")
	private.Private = true
	todo := tool("TodoWrite")
	todo.Family = "todo"
	list := tool("TodoRead")
	list.Family = "todo"
	return []toolview.Band{
		{Owner: "FileMiddleware", Set: toolview.MustSet(tool("Read"), tool("LS", "list"))},
		{Owner: "TodoMiddleware", Set: toolview.MustSet(todo, list)},
		{Owner: "EditMiddleware", Set: toolview.MustSet(private)},
	}
}

func TestSelectorsInAllowAndDenyLists(t *testing.T) {
	all := []string{"LS", "Read", "TodoRead", "TodoWrite", "Settings"}
	for text, want := range map[string]struct{ allowed, denied []string }{
		"Read":            {[]string{"Read"}, []string{"LS", "TodoRead", "TodoWrite", "Settings"}},
		" rEAD ":          {[]string{"Read"}, []string{"LS", "TodoRead", "TodoWrite", "Settings"}},
		"list":            {[]string{"LS"}, []string{"Read", "TodoRead", "TodoWrite", "Settings"}},
		"TODO":            {[]string{"TodoRead", "TodoWrite"}, []string{"LS", "Read", "Settings"}},
		"@todomiddleware": {[]string{"TodoRead", "TodoWrite"}, []string{"LS", "Read", "Settings"}},
		"TodoMiddleware":  {nil, all},
		"@Read":           {nil, all},
		"*":               {[]string{"LS", "Read", "TodoRead", "TodoWrite"}, nil},
		"**":              {all, nil},
		"Settings":        {[]string{"Settings"}, all[:4]},
		"Rea":             {nil, all},
	} {
		t.Run(text, func(t *testing.T) {
			require.Equal(t, append([]string{}, want.allowed...), shown(view(allowing(t, text), library()...)))
			require.Equal(t, append([]string{}, want.denied...), shown(view(denying(t, text), library()...)))
		})
	}
}

func TestAllowListsIntersectAndDenyWins(t *testing.T) {
	p := &toolview.Policy{Frames: []*toolview.Frame{
		frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("Read", "LS", "todo"), sel("*")}, Deny: sel("LS")}),
		nil,
		frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("Read", "LS", "TodoRead", "Settings")}, Deny: sel("TodoRead")}),
	}}
	require.Equal(t, []string{"Read"}, shown(view(p, library()...)))
}

func TestNilIsNotEmptyAtEveryLevel(t *testing.T) {
	n := len(view(free(), library()...).Direct())
	require.Equal(t, 5, n)
	one := func(l toolview.Lists) *toolview.Policy {
		return &toolview.Policy{Frames: []*toolview.Frame{frame(t, l)}}
	}
	for name, c := range map[string]struct {
		policy *toolview.Policy
		want   int
	}{
		"no frame":                    {free(), n},
		"a nil frame":                 {&toolview.Policy{Frames: []*toolview.Frame{nil}}, n},
		"no lists":                    {one(toolview.Lists{}), n},
		"no allow list among none":    {one(toolview.Lists{Allow: [][]toolview.Selector{}}), n},
		"one empty allow list":        {one(toolview.Lists{Allow: [][]toolview.Selector{{}}}), 0},
		"one allow list that is nil":  {one(toolview.Lists{Allow: [][]toolview.Selector{nil}}), 0},
		"an empty one beside a full":  {one(toolview.Lists{Allow: [][]toolview.Selector{sel("**"), {}}}), 0},
		"an empty deny list":          {one(toolview.Lists{Deny: []toolview.Selector{}}), n},
		"an agent without tools":      {one((&toolview.Spawn{}).Lists()), n},
		"an agent with an empty list": {one((&toolview.Spawn{Tools: []string{}}).Lists()), 0},
		"an agent with one":           {one((&toolview.Spawn{Tools: []string{"Read"}}).Lists()), 1},
	} {
		require.Len(t, view(c.policy, library()...).Direct(), c.want, name)
		for _, f := range c.policy.Frames {
			b, err := json.Marshal(f.Lists())
			require.NoError(t, err)
			var back toolview.Lists
			require.NoError(t, json.Unmarshal(b, &back))
			require.Len(t, view(one(back), library()...).Direct(), c.want, "%s, after a resume", name)
		}
	}
}

func TestSpawnKeepsNilAndEmptyApartInJSON(t *testing.T) {
	for _, s := range []toolview.Spawn{{}, {Tools: []string{}}, {Tools: []string{"Read"}}} {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var back toolview.Spawn
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, s, back)
	}
}

func TestSelectorThatIsNotUnderstoodIsAnErrorWithItsPlace(t *testing.T) {
	for _, text := range []string{"Read,Grep", "Read Grep", "Read\tGrep", `"Read"`, "@", "@@A", "a|", "|a", "a||b", "Bash(git *", "Bash git *)", "Bash()", "Bash(a) b", "*(a)", "**(a)", "(a)", "@a/b(c)", "[A-C", "[]*", "[!]*", "Web *", "mcp:", "mcp:/a", ":a", "mcp:a b", "mcp__a b", "Réad", "!Read", "***", strings.Repeat("a", 65)} {
		for where, l := range map[string]toolview.Lists{
			"allow": {Allow: [][]toolview.Selector{sel("Read", text)}}, "deny": {Deny: sel("Read", text)},
		} {
			f, err := toolview.NewFrame(l)
			require.Nil(t, f, "%s %q", where, text)
			require.ErrorContains(t, err, "settings.yaml:2: selector", "%s %q", where, text)
		}
	}
	_, err := toolview.NewFrame(toolview.Lists{Allow: [][]toolview.Selector{sel("a b")}, Deny: sel("", "b)", "hitl")})
	const write = "; write a tool's name, a family, @Owner, a pattern such as Web*, Tool(pattern), * or **"
	require.EqualError(t, err, strings.Join([]string{
		`settings.yaml:1: selector "a b": not a tool's name` + write,
		`settings.yaml:1: an empty selector; name a tool, or remove the entry`,
		`settings.yaml:2: selector "b)": not a tool's name` + write,
		`settings.yaml:3: selector "hitl": approval is no tool and a list cannot switch it off; close PermissionMiddleware in meta`,
	}, "\n"), "all of them at once, in order")
}

func TestFrameDoesNotChangeWithTheSliceItCameFrom(t *testing.T) {
	deny := sel("Read")
	f := frame(t, toolview.Lists{Deny: deny})
	deny[0].Text = "LS"
	require.Equal(t, "Read", f.Lists().Deny[0].Text)
	v := view(&toolview.Policy{Frames: []*toolview.Frame{f}}, library()...)
	require.Equal(t, "Read", v.Explain("Read").Rule)
}

func TestUnmatchedSelectorIsReportedWithTheNearestNames(t *testing.T) {
	l := toolview.Lists{Allow: [][]toolview.Selector{sel("**", "Raed", "list")}, Deny: sel("*", "@TodoMidleware", "TODO", "Qwertyu", "@FileMiddleware")}
	known := library()
	known[0].Closed = "closed"
	origin := func(n int) meta.Origin { return meta.Origin{Layer: "project", File: "settings.yaml", Line: n} }
	require.Equal(t, []meta.Diagnostic{
		{Severity: meta.SeverityWarning, Code: "unmatched_selector", Key: "tools.allow", Origin: origin(2), Message: `"Raed" selects no tool of this session`, Suggestion: "did you mean Read?"},
		{Severity: meta.SeverityWarning, Code: "unmatched_selector", Key: "tools.deny", Origin: origin(2), Message: `"@TodoMidleware" selects no tool of this session`, Suggestion: "did you mean @TodoMiddleware?"},
		{Severity: meta.SeverityWarning, Code: "unmatched_selector", Key: "tools.deny", Origin: origin(4), Message: `"Qwertyu" selects no tool of this session`},
	}, frame(t, l).Unmatched(known))
	require.Empty(t, frame(t, toolview.Lists{}).Unmatched(known))
	var none *toolview.Frame
	require.Empty(t, none.Unmatched(known))
}

func TestSetReportsEveryDefectAtOnce(t *testing.T) {
	bare := toolview.Tool{Decl: toolview.Decl{Name: "a b"}}
	two := tool("Two")
	two.Flow = func(context.Context, *toolview.Call, toolview.Host) (*message.Result, error) { return nil, nil }
	bad := tool("Bad")
	bad.Schema = json.RawMessage(`{"type":"array"}`)
	_, err := toolview.NewSet(bare, two, bad, tool("Same"), tool("Same"))
	require.ErrorContains(t, err, `tool name "a b": use 1 to 64 of a-z A-Z 0-9 _ -`)
	require.ErrorContains(t, err, "tool Two sets 2 of Run, Flow and Unwrap")
	require.ErrorContains(t, err, "tool Bad: schema:")
	require.ErrorContains(t, err, "tool Same is there twice")
}

func TestSchemaThatReplacesADerivedOneIsTheOneThatIsChecked(t *testing.T) {
	x := tool("One")
	x.Schema = json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)
	v := view(free(), toolview.Band{Owner: "A", Set: toolview.MustSet(x)})
	_, bad := v.Call("1", "One", json.RawMessage(`{}`))
	require.NotNil(t, bad)
	_, bad = v.Call("1", "One", json.RawMessage(`{"text":"a"}`))
	require.Nil(t, bad)
}

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"Read", "@FileMiddleware", "*", "**", " ", "a*", "Bash(git *)", "todo\nRead", "\xff", "@"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	bands := library()
	everything := view(free(), bands...)
	f.Fuzz(func(t *testing.T, text string, deny bool) {
		l := toolview.Lists{Allow: [][]toolview.Selector{sel(text)}}
		if deny {
			l = toolview.Lists{Deny: sel(text)}
		}
		fr, err := toolview.NewFrame(l)
		if err != nil {
			require.Nil(t, fr)
			require.ErrorContains(t, err, "settings.yaml:1: ")
			return
		}
		v := view(&toolview.Policy{Frames: []*toolview.Frame{fr}}, bands...)
		selected := len(v.Direct())
		if deny {
			selected = len(everything.Direct()) - selected
		}
		for _, x := range v.Hidden() {
			require.Contains(t, []toolview.Gate{toolview.GateListed, toolview.GateDenied}, x.Gate)
		}
		word := strings.TrimSpace(text)
		require.Equal(t, selected == 0, len(fr.Unmatched(bands)) > 0 && word != "*" && word != "**", "a selector selects something or is reported")
	})
}
