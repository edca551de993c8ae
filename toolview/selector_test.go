package toolview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func decl(d toolview.Decl) toolview.Tool {
	t := tool(d.Name)
	t.Decl = d
	return t
}

func served(name, server, leaf string) toolview.Tool {
	return decl(toolview.Decl{Name: name, Family: "mcp", Private: true, Server: server, Leaf: leaf})
}

// harness declares tools as the owners of a whole suite do.
func harness() []toolview.Band {
	pi := []string{"pi"}
	return []toolview.Band{
		{Owner: "FileMiddleware", Set: toolview.MustSet(
			decl(toolview.Decl{Name: "Read", Family: "files", Groups: pi, AllowedWith: []string{"edit"}}),
			decl(toolview.Decl{Name: "Write", Family: "files", Groups: pi, AllowedWith: []string{"edit"}}),
			decl(toolview.Decl{Name: "Edit", Family: "files", Groups: pi, Aliases: []string{"edit_file"}}),
			decl(toolview.Decl{Name: "LS", Family: "files", Aliases: []string{"list"}}),
			decl(toolview.Decl{Name: "Bash", Groups: pi, Aliases: []string{"shell"}}),
			decl(toolview.Decl{Name: "BashStart", Groups: pi, DeniedWith: []string{"bash", "shell"}}),
		)},
		{Owner: "WebMiddleware", Set: toolview.MustSet(
			decl(toolview.Decl{Name: "WebFetch", Family: "web"}), decl(toolview.Decl{Name: "WebSearch", Family: "web"}),
		)},
		{Owner: "CronMiddleware", Set: toolview.MustSet(
			decl(toolview.Decl{Name: "CronCreate", Private: true}), decl(toolview.Decl{Name: "CronList", Private: true}),
		)},
		{Owner: "SubMiddleware", Set: toolview.MustSet(
			decl(toolview.Decl{Name: "Agent", Aliases: []string{"Task"}, Family: "task", Groups: []string{"subagent", "agent"}}),
			decl(toolview.Decl{Name: "AgentResult", Family: "task", Groups: []string{"subagent", "agent"}}),
		)},
		{Owner: "McpMiddleware", Prefix: "mcp__", Set: toolview.MustSet(
			served("mcp__foo__search", "foo", "search"), served("mcp__foo__admin_list", "foo", "admin.list"),
			served("mcp__foo_bar__search", "foo_bar", "search"), served("mcp__my_srv__go", "my.srv", "go"),
		)},
		{Owner: "OpenAPIMiddleware", Set: toolview.MustSet(decl(toolview.Decl{
			Name: "api__pets__get", Family: "openapi", Groups: []string{"restapi"}, Private: true, Server: "pets", Leaf: "get",
		}))},
	}
}

func all(bands []toolview.Band) []string { return shown(view(free(), bands...)) }

func less(from []string, what ...string) []string {
	gone := map[string]bool{}
	for _, w := range what {
		gone[w] = true
	}
	out := []string{}
	for _, f := range from {
		if !gone[f] {
			out = append(out, f)
		}
	}
	return out
}

// One grammar serves allow and deny lists; where a deny list takes more, that is a column of its own.
func TestEverySelectorSelectsTheSameInAllowAndDenyLists(t *testing.T) {
	foo := []string{"mcp__foo__admin_list", "mcp__foo__search"}
	mcp := []string{"mcp__foo__admin_list", "mcp__foo__search", "mcp__foo_bar__search", "mcp__my_srv__go"}
	public := []string{"Bash", "BashStart", "Edit", "LS", "Read", "Write", "WebFetch", "WebSearch", "Agent", "AgentResult"}
	everything := all(harness())
	for text, want := range map[string]struct{ allowed, denied []string }{
		"Read":                 {[]string{"Read"}, nil},
		"rEAD":                 {[]string{"Read"}, nil},
		"edit_file":            {[]string{"Edit"}, nil},
		"Edit":                 {[]string{"Edit"}, nil},
		"list":                 {[]string{"LS"}, nil},
		"Read|ls | WebFetch":   {[]string{"LS", "Read", "WebFetch"}, nil},
		"pi":                   {[]string{"Bash", "BashStart", "Edit", "Read", "Write"}, nil},
		"*":                    {public, everything},
		"**":                   {everything, nil},
		"@WebMiddleware":       {[]string{"WebFetch", "WebSearch"}, nil},
		"@webmiddleware":       {[]string{"WebFetch", "WebSearch"}, nil},
		"web":                  {[]string{"WebFetch", "WebSearch"}, nil},
		"files":                {[]string{"Edit", "LS", "Read", "Write"}, nil},
		"bash":                 {[]string{"Bash"}, []string{"Bash", "BashStart"}},
		"Shell":                {[]string{"Bash"}, []string{"Bash", "BashStart"}},
		"BashStart":            {[]string{"BashStart"}, nil},
		"Bash(*)":              {[]string{"Bash"}, []string{"Bash", "BashStart"}},
		"task":                 {[]string{"Agent", "AgentResult"}, nil},
		"Task":                 {[]string{"Agent", "AgentResult"}, nil},
		"subagent":             {[]string{"Agent", "AgentResult"}, nil},
		"agent":                {[]string{"Agent", "AgentResult"}, nil},
		"AgentResult":          {[]string{"AgentResult"}, nil},
		"Web*":                 {[]string{"WebFetch", "WebSearch"}, nil},
		"*Search":              {[]string{"WebSearch", "mcp__foo__search", "mcp__foo_bar__search"}, nil},
		"Cron?reate":           {[]string{"CronCreate"}, nil},
		"[A-C]*":               {[]string{"Bash", "BashStart", "CronCreate", "CronList", "Agent", "AgentResult", "api__pets__get"}, nil},
		"[!a-c]*d":             {[]string{"Read"}, nil},
		"mcp":                  {mcp, nil},
		"MCP":                  {mcp, nil},
		"mcp__*":               {mcp, nil},
		"mcp:*":                {mcp, nil},
		"mcp__foo":             {foo, nil},
		"mcp__FOO":             {foo, nil},
		"mcp:foo":              {foo, nil},
		"mcp:foo/*":            {foo, nil},
		"mcp__foo__*":          {foo, nil},
		"mcp__foo__search":     {[]string{"mcp__foo__search"}, nil},
		"mcp:foo/admin.list":   {[]string{"mcp__foo__admin_list"}, nil},
		"mcp__foo__admin.list": {[]string{"mcp__foo__admin_list"}, nil},
		"mcp__foo__admin*":     {[]string{"mcp__foo__admin_list"}, nil},
		"mcp__foo_*":           {[]string{"mcp__foo_bar__search"}, nil},
		"mcp__foo*":            {[]string{"mcp__foo__admin_list", "mcp__foo__search", "mcp__foo_bar__search"}, nil},
		"mcp__*__search":       {[]string{"mcp__foo__search", "mcp__foo_bar__search"}, nil},
		"mcp:my.srv":           {[]string{"mcp__my_srv__go"}, nil},
		"mcp__my_srv":          {[]string{"mcp__my_srv__go"}, nil},
		"mcp__fo":              {nil, nil},
		"mcp__foo__":           {nil, nil},
		"mcp:pets":             {nil, nil},
		"openapi":              {[]string{"api__pets__get"}, nil},
		"restapi":              {[]string{"api__pets__get"}, nil},
		"restapi:pets/get":     {[]string{"api__pets__get"}, nil},
		"api__pets":            {[]string{"api__pets__get"}, nil},
		"pets":                 {nil, nil},
		"code":                 {nil, nil},
	} {
		t.Run(text, func(t *testing.T) {
			require.ElementsMatch(t, append([]string{}, want.allowed...), shown(view(allowing(t, text), harness()...)))
			denied := want.denied
			if denied == nil {
				denied = want.allowed
			}
			require.Equal(t, less(everything, denied...), shown(view(denying(t, text), harness()...)))
		})
	}
}

// The literal word brings its companions in an allow list of settings or of a .peri file, each still subject to deny.
func TestEditBringsReadAndWriteByItsLiteralNameAlone(t *testing.T) {
	of := func(brings bool, deny []string, texts ...string) []string {
		list := sel(texts...)
		for i := range list {
			list[i].Brings = brings
		}
		f := frame(t, toolview.Lists{Allow: [][]toolview.Selector{list}, Deny: sel(deny...)})
		return shown(view(&toolview.Policy{Frames: []*toolview.Frame{f}}, harness()...))
	}
	require.Equal(t, []string{"Edit", "Read", "Write"}, of(true, nil, "edit"))
	require.Equal(t, []string{"Edit", "LS", "Read", "Write"}, of(true, nil, "LS", "Edit"), "case does not count")
	require.Equal(t, []string{"Edit", "Read", "Write"}, of(true, nil, "Edit|edit"))
	require.Equal(t, []string{"Edit", "Read"}, of(true, []string{"Write"}, "edit"), "edit without write")
	require.Equal(t, []string{"Read", "Write"}, of(true, []string{"Edit"}, "edit"))
	require.Equal(t, []string{"Edit"}, of(true, nil, "Edi*"), "not through a glob")
	require.Equal(t, []string{"Edit"}, of(true, nil, "edit_file"), "nor an alias")
	require.Equal(t, []string{"Edit"}, of(false, nil, "edit"), "nor where lists do not bring")
	require.Equal(t, less(all(harness()), "Edit"), shown(view(denying(t, "edit"), harness()...)), "nor in a deny list")
}

func TestHitlIsRefusedInADenyListAndWithoutEffectInAnAllowList(t *testing.T) {
	_, err := toolview.NewFrame(toolview.Lists{Deny: sel("Read", "HITL")})
	var e *meta.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 2, e.Origin.Line)
	require.Contains(t, e.Suggestion, "close PermissionMiddleware in meta")
	require.Equal(t, []string{"Read"}, shown(view(allowing(t, "hitl", "Read"), harness()...)))
	require.Empty(t, frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("hitl", "code")}, Deny: sel("code")}).Unmatched(harness()))
}

// touching is a tool whose argument says what it touches.
func touching(d toolview.Decl, effects toolview.Effects) toolview.Tool {
	type in struct {
		Command string `json:"command,omitempty"`
		Path    string `json:"path,omitempty"`
		Edit    bool   `json:"edit,omitempty"`
		Host    string `json:"host,omitempty"`
		Name    string `json:"name,omitempty"`
		Opaque  bool   `json:"opaque,omitempty"`
		Fail    bool   `json:"fail,omitempty"`
	}
	t := toolview.New(toolview.Tool{Decl: d, Doc: "Touches.", Effects: effects},
		func(context.Context, any, *toolview.Call, in) (*message.Result, error) {
			return message.Say("ran"), nil
		})
	t.Subjects = func(args json.RawMessage) ([]toolview.Subject, error) {
		var x in
		if err := json.Unmarshal(args, &x); err != nil {
			return nil, err
		}
		if x.Fail {
			return nil, errors.New("unreadable")
		}
		var out []toolview.Subject
		add := func(k toolview.SubjectKind, v string) {
			if v != "" {
				out = append(out, toolview.Subject{Kind: k, Value: v, Edit: x.Edit && k == toolview.Path, Opaque: x.Opaque})
			}
		}
		add(toolview.Command, x.Command)
		add(toolview.Path, x.Path)
		add(toolview.Domain, x.Host)
		add(toolview.Name, x.Name)
		return out, nil
	}
	return t
}

func touchers() []toolview.Band {
	return []toolview.Band{{Owner: "A", Set: toolview.MustSet(
		touching(toolview.Decl{Name: "Bash", Aliases: []string{"shell"}}, toolview.Runs),
		touching(toolview.Decl{Name: "BashStart", DeniedWith: []string{"bash"}}, toolview.Runs),
		touching(toolview.Decl{Name: "Read"}, toolview.ReadOnly),
		touching(toolview.Decl{Name: "Edit"}, toolview.Edits), touching(toolview.Decl{Name: "Write"}, toolview.Edits),
		touching(toolview.Decl{Name: "WebFetch"}, toolview.ReadOnly|toolview.OpenWorld),
		touching(toolview.Decl{Name: "Agent", Family: "task", Groups: []string{"agent"}}, toolview.Internal),
		decl(toolview.Decl{Name: "Plain"}),
		served("mcp__foo__search", "foo", "search"),
	)}}
}

const home, root = "/home/u", "/home/u/proj"

func placed(p *toolview.Policy) *toolview.Policy {
	p.Place = toolview.Place{Root: root, Home: home}
	return p
}

// A scoped entry leaves the tool visible. Deny stops the calls that match, allow all that do not.
func TestScopedEntriesJudgeSingleCalls(t *testing.T) {
	for _, c := range []struct {
		rule, name, args string
		matches          bool
	}{
		{"Bash(git *)", "Bash", `{"command":"git log"}`, true},
		{"Bash(git *)", "Bash", `{"command":"git"}`, true},
		{"Bash(git *)", "Bash", `{"command":" git log "}`, true},
		{"Bash(git *)", "Bash", `{"command":"gitk"}`, false},
		{"Bash(git *)", "Bash", `{"command":"GIT log"}`, false},
		{"shell(git:*)", "Bash", `{"command":"git log"}`, true},
		{"Bash(git:*)", "Bash", `{"command":"git"}`, true},
		{"Bash(git log)", "Bash", `{"command":"git log -p"}`, false},
		{"Bash(ls ?)", "Bash", `{"command":"ls a"}`, true},
		{"Bash(ls ?)", "Bash", `{"command":"ls ab"}`, false},
		{`Bash(ls \*)`, "Bash", `{"command":"ls *"}`, true},
		{`Bash(ls \*)`, "Bash", `{"command":"ls a"}`, false},
		{`Bash(f \(a|b\))`, "Bash", `{"command":"f (a|b)"}`, true},
		{"Bash(a, b)", "Bash", `{"command":"a, b"}`, true},
		{"Read(src/**)", "Read", `{"path":"src/a/b.go"}`, true},
		{"Read(src/**)", "Read", `{"path":"src"}`, true},
		{"Read(src/**)", "Read", `{"path":"` + root + `/src/a.go"}`, true},
		{"Read(src/**)", "Read", `{"path":"x/../src/a.go"}`, true},
		{"Read(src/**)", "Read", `{"path":"src/../a.go"}`, false},
		{"Read(src/**)", "Read", `{"path":"/src/a.go"}`, false},
		{"Read(./src/*)", "Read", `{"path":"src/a.go"}`, true},
		{"Read(**/secret)", "Read", `{"path":"secret"}`, true},
		{"Read(a/**/z)", "Read", `{"path":"a/z"}`, true},
		{"Read(*.go)", "Read", `{"path":"../a.go"}`, false},
		{"Read(~/.ssh/*)", "Read", `{"path":"/home/u/.ssh/id"}`, true},
		{"Read(~/.ssh/*)", "Read", `{"path":"../.ssh/id"}`, true},
		{"Read(/etc/*)", "Read", `{"path":"/etc/passwd"}`, true},
		{"Read(//etc/*)", "Read", `{"path":"/etc/passwd"}`, true},
		{"WebFetch(domain:go.dev)", "WebFetch", `{"host":"GO.dev."}`, true},
		{"WebFetch(domain:go.dev)", "WebFetch", `{"host":"pkg.go.dev"}`, false},
		{"WebFetch(domain:*.go.dev)", "WebFetch", `{"host":"pkg.go.dev"}`, true},
		{"WebFetch(go.dev)", "WebFetch", `{"host":"go.dev"}`, true},
		{"Agent(explore)", "Agent", `{"name":"Explore"}`, true},
		{"Agent(explore, plan)", "Agent", `{"name":"plan"}`, true},
		{"Agent(explore, plan)", "Agent", `{"name":"general"}`, false},
		{"agent(ex*)", "Agent", `{"name":"explore"}`, true},
		{"mcp(foo/se*)", "mcp__foo__search", `{}`, true},
		{"mcp(bar/*)", "mcp__foo__search", `{}`, false},
		{"mcp__foo(*/search)", "mcp__foo__search", `{}`, true},
	} {
		t.Run(fmt.Sprint(c.rule, c.args), func(t *testing.T) {
			v := view(placed(denying(t, c.rule)), touchers()...)
			_, ok := v.Lookup(c.name)
			require.True(t, ok, "the tool stays visible")
			call, bad := v.Call("1", c.name, json.RawMessage(c.args))
			require.Equal(t, c.matches, bad != nil)
			require.Equal(t, c.matches, call == nil)
			if bad != nil {
				require.Contains(t, bad.Text(), c.rule)
				require.Contains(t, bad.Text(), "settings.yaml:1")
				require.NotContains(t, bad.Text(), "There is no tool")
			}
			v = view(placed(allowing(t, c.rule)), touchers()...)
			_, ok = v.Lookup(c.name)
			require.True(t, ok, "the tool stays visible")
			_, bad = v.Call("1", c.name, json.RawMessage(c.args))
			require.Equal(t, c.matches, bad == nil)
		})
	}
}

func TestEveryWayToACallMeetsScopedEntries(t *testing.T) {
	bands := append(touchers(), toolview.Band{Owner: "F", Set: toolview.MustSet(forwarder("Exec"))})
	v := view(denying(t, "Bash(curl *)"), bands...)
	ok, bad := v.Call("1", "Bash", json.RawMessage(`{"command":"ls"}`))
	require.Nil(t, bad)
	curl := json.RawMessage(`{"command":"curl x"}`)
	_, bad = ok.With(curl)
	require.Contains(t, bad.Text(), "Bash(curl *)", "a rewrite")
	_, bad = v.Inner("2", toolview.Inner{Name: "Bash", Args: curl})
	require.Contains(t, bad.Text(), "Bash(curl *)", "a flow's call")
	_, bad = v.Call("3", "Exec", json.RawMessage(`{"name":"Bash","args":{"command":"curl x"}}`))
	require.Contains(t, bad.Text(), "Bash(curl *)", "a forwarded call")
	_, bad = v.Call("4", "shell", curl)
	require.Contains(t, bad.Text(), "Bash(curl *)", "an alias")
	_, bad = v.Call("5", "BashStart", curl)
	require.Contains(t, bad.Text(), "Bash(curl *)", "what runs it in the background")
}

func TestWhatCannotBeToldIsRefusedUnderAScopedEntry(t *testing.T) {
	fails := json.RawMessage(`{"fail":true}`)
	for _, p := range []*toolview.Policy{denying(t, "Bash(curl *)"), allowing(t, "Bash(git *)")} {
		_, bad := view(p, touchers()...).Call("1", "Bash", fails)
		require.Contains(t, bad.Text(), "cannot be told")
	}
	_, bad := view(denying(t, "Read(x)"), touchers()...).Call("1", "Bash", fails)
	require.Nil(t, bad, "an entry about another tool")
	v := view(allowing(t, "Bash(git *)", "Plain(x)"), touchers()...)
	_, bad = v.Call("1", "Bash", json.RawMessage(`{"command":"git x","opaque":true}`))
	require.Contains(t, bad.Text(), "only calls that match")
	_, bad = v.Call("1", "Plain", json.RawMessage(`{}`))
	require.Contains(t, bad.Text(), "names nothing to match")
	_, bad = view(denying(t, "Bash(git *)"), touchers()...).Call("1", "Bash", json.RawMessage(`{"command":"git x","opaque":true}`))
	require.NotNil(t, bad, "deny still sees it")
}

func TestAnEditRuleMeetsTheEditsOfEveryTool(t *testing.T) {
	v := view(placed(denying(t, "Edit(secrets/**)")), touchers()...)
	for _, name := range []string{"Edit", "Write", "Bash", "BashStart"} {
		for path, want := range map[string]bool{"secrets/a": true, "src/a": false} {
			_, bad := v.Call("1", name, json.RawMessage(`{"command":"x","edit":true,"path":"`+path+`"}`))
			require.Equal(t, want, bad != nil, "%s %s", name, path)
		}
	}
	_, bad := v.Call("1", "Read", json.RawMessage(`{"path":"secrets/a"}`))
	require.Nil(t, bad, "reading is no edit")
	v = view(placed(allowing(t, "Bash(git *)", "Edit(out/**)")), touchers()...)
	_, bad = v.Call("1", "Bash", json.RawMessage(`{"command":"git log","edit":true,"path":"out/log"}`))
	require.Nil(t, bad)
	_, bad = v.Call("1", "Bash", json.RawMessage(`{"command":"git log","edit":true,"path":"src/a"}`))
	require.NotNil(t, bad)
}

func TestAChildIsUnderTheScopedEntriesOfAllAbove(t *testing.T) {
	bands := touchers()
	parent := view(denying(t, "Bash(curl *)"), bands...)
	mid := toolview.NewDeriver(bands, nil, nil).View(allowing(t, "Bash(* x)", "Read"), parent)
	low := toolview.NewDeriver(bands, nil, nil).View(free(), mid)
	for command, want := range map[string]bool{"curl x": false, "ls x": true, "ls y": false} {
		_, bad := low.Call("1", "Bash", json.RawMessage(`{"command":"`+command+`"}`))
		require.Equal(t, want, bad == nil, command)
	}
	x := low.Explain("bash")
	require.True(t, x.Visible)
	require.Len(t, x.Limits, 2)
	require.Equal(t, "Bash(* x)", x.Limits[0].Text)
	require.Equal(t, "Bash(curl *)", x.Limits[1].Text)
	require.Empty(t, low.Explain("Read").Limits)
}

func TestListsOfOneKindLeaveTheOthersAlone(t *testing.T) {
	cat := func(name, category string) toolview.Tool { return decl(toolview.Decl{Name: name, Category: category}) }
	bands := []toolview.Band{
		{Owner: "A", Set: toolview.MustSet(cat("Grep", "search"), cat("Find", "Searching"), cat("Save", "files"), cat("Bare", ""))},
		{Owner: "S", Set: toolview.MustSet(decl(toolview.Decl{Name: "Skill", Family: "skill"}))},
		{Owner: "M", Set: toolview.MustSet(served("mcp__a__x", "a", "x"), served("mcp__b__y", "b", "y"))},
	}
	of := func(k toolview.KindLists) []string {
		return shown(view(&toolview.Policy{Frames: []*toolview.Frame{frame(t, toolview.Lists{Kinds: []toolview.KindLists{k}})}}, bands...))
	}
	rest := []string{"Skill", "mcp__a__x", "mcp__b__y"}
	tools := []string{"Bare", "Find", "Grep", "Save"}
	require.Equal(t, append([]string{"Find", "Grep"}, rest...), of(toolview.KindLists{Kind: toolview.Plain, Allow: sel("Grep", "F*")}))
	require.Equal(t, rest, of(toolview.KindLists{Kind: toolview.Plain, Allow: []toolview.Selector{}}), "empty is nothing of the kind")
	require.Equal(t, append([]string{"Bare", "Find", "Grep"}, rest...), of(toolview.KindLists{Kind: toolview.Plain, Deny: sel("Save")}))
	require.Equal(t, append([]string{"Find", "Grep"}, rest...), of(toolview.KindLists{Kind: toolview.Plain, Categories: []string{"search*"}}), "what has no category is rejected")
	require.Equal(t, rest, of(toolview.KindLists{Kind: toolview.Plain, Categories: []string{}}))
	require.Equal(t, append(append([]string{}, tools...), "Skill", "mcp__a__x"), of(toolview.KindLists{Kind: toolview.Served, Allow: sel("mcp:a")}))
	require.Equal(t, append(append([]string{}, tools...), "mcp__a__x", "mcp__b__y"), of(toolview.KindLists{Kind: toolview.Skilled, Deny: sel("skill")}))
	_, err := toolview.NewFrame(toolview.Lists{Kinds: []toolview.KindLists{{Kind: "robots"}, {Kind: toolview.Plain, Categories: []string{"[a"}}}})
	require.ErrorContains(t, err, "no kind of tool")
	require.ErrorContains(t, err, `category "[a"`)
}

// Within a ruleset order decides: the last ruling that matches.
func TestTheLastRulingThatMatchesHolds(t *testing.T) {
	r := func(text string, a toolview.Action) toolview.Ruling {
		return toolview.Ruling{Selector: sel(text)[0], Action: a}
	}
	of := func(rules ...toolview.Ruling) *toolview.View {
		return view(placed(&toolview.Policy{Frames: []*toolview.Frame{frame(t, toolview.Lists{Rules: rules})}}), touchers()...)
	}
	require.Equal(t, []string{"Read"}, shown(of(r("*", "deny"), r("Read", "allow"))))
	require.Empty(t, shown(of(r("Read", "allow"), r("*", "deny"))))
	v := of(r("*", "deny"), r("Bash(git *)", "allow"), r("Bash(git push *)", "deny"), r("Bash(git push -n *)", "ask"))
	require.Equal(t, []string{"Bash", "BashStart"}, shown(v), "some of its calls run")
	for command, want := range map[string]bool{"git log": true, "git push x": false, "git push -n x": true, "ls": false} {
		_, bad := v.Call("1", "Bash", json.RawMessage(`{"command":"`+command+`"}`))
		require.Equal(t, want, bad == nil, command)
	}
	require.Equal(t, toolview.GateDenied, v.Explain("Read").Gate)
	require.Equal(t, "*", v.Explain("Read").Rule)
	_, err := toolview.NewRuleset([]toolview.Ruling{r("Read", "maybe"), r("(", "deny")})
	require.ErrorContains(t, err, `action "maybe"; write allow, ask or deny`)
	require.ErrorContains(t, err, `selector "("`)
}

func TestLiftedToolsAreTheChildrensAlone(t *testing.T) {
	own := toolview.Lists{Allow: [][]toolview.Selector{sel("Read", "Agent", "Bash(git *)")}, Deny: sel("WebFetch")}
	reach := own
	reach.Lift = sel("WebFetch", "Write(out/**)", "Bash")
	bands := touchers()
	session := view(placed(denying(t, "Write(out/secret)")), bands...)
	below := func(l toolview.Lists, parent *toolview.View) *toolview.View {
		return toolview.NewDeriver(bands, nil, nil).View(placed(&toolview.Policy{Frames: []*toolview.Frame{frame(t, l)}}), parent)
	}
	require.Equal(t, []string{"Agent", "Bash", "Read"}, shown(below(own, session)))
	ceiling := below(reach, session)
	require.Equal(t, []string{"Agent", "Bash", "Read", "WebFetch", "Write"}, shown(ceiling))
	worker := below(toolview.Lists{}, ceiling)
	try := func(name, args string) bool {
		_, bad := worker.Call("1", name, json.RawMessage(args))
		return bad == nil
	}
	require.True(t, try("Bash", `{"command":"ls"}`), "what is lifted whole")
	require.True(t, try("Write", `{"path":"out/a","edit":true}`))
	require.False(t, try("Write", `{"path":"src/a","edit":true}`), "no more than what is lifted")
	require.False(t, try("Write", `{"path":"out/secret","edit":true}`), "an ancestor's deny is not lifted")
	bands = touchers()
	require.NotContains(t, shown(below(reach, view(denying(t, "WebFetch"), bands...))), "WebFetch", "nor a deny above")
}

func TestMissingAsksTheOwnersAndNotTheLists(t *testing.T) {
	bands := harness()
	down := served("mcp__down__x", "down", "x")
	down.Unsupported = "connecting"
	bands = append(bands, toolview.Band{Owner: "Down", Set: toolview.MustSet(down)})
	p := denying(t, "**")
	p.Paused = map[string]bool{"McpMiddleware": true}
	v := view(p, bands...)
	require.Empty(t, shown(v))
	missing, err := v.Missing([]string{"foo", "FOO_*", "foo/search", "mcp__foo_bar__search", "down", "fo", "foo/nothing", "pets", "api__pets"})
	require.NoError(t, err)
	require.Equal(t, []string{"fo", "foo/nothing", "pets"}, missing)
	_, err = v.Missing([]string{"a b"})
	require.Error(t, err)
}

func TestUnmatchedKnowsWhatServersMayBring(t *testing.T) {
	bands := harness()
	f := frame(t, toolview.Lists{Deny: sel("mcp__later__x", "mcp:later", "Web*", "Wbe*", "Read|Raed", "@Nobody", "api__nothing")})
	var said []string
	for _, d := range f.Unmatched(bands) {
		said = append(said, d.Message)
	}
	require.Equal(t, []string{
		`"Wbe*" selects no tool of this session`, `"raed" selects no tool of this session`,
		`"@Nobody" selects no tool of this session`, `"api__nothing" selects no tool of this session`,
	}, said)
}

func TestAScopeThatNoCallCouldMeetIsReported(t *testing.T) {
	f := frame(t, toolview.Lists{Deny: sel("Plain(x)", "Bash(x)", "mcp__foo(x)", "Agent(x)", "Plain")})
	found := f.Unmatched(touchers())
	require.Len(t, found, 1)
	require.Equal(t, "inert_scope", found[0].Code)
	require.Equal(t, 1, found[0].Origin.Line)
}

func TestAnEmptyAllowListIsExplainedByWhereItStands(t *testing.T) {
	at := meta.Origin{File: "settings.yaml", Line: 7}
	f := frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("*"), {}}, AllowAt: []meta.Origin{{}, at}})
	x := view(&toolview.Policy{Frames: []*toolview.Frame{f}}, harness()...).Explain("Read")
	require.Equal(t, toolview.GateListed, x.Gate)
	require.Equal(t, at, x.Origin)
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{
		"Read", " @A|mcp__foo__*|Bash(git *) ", "mcp:a/b.c", "[!a-c]?*", `Bash(a\)b)`, "@m/x", "*(a)", "((", "a|", "[", "\xff", "Bash(" + string(rune(0)) + ")",
	} {
		f.Add(s, "git log")
	}
	bands := harness()
	f.Fuzz(func(t *testing.T, text, value string) {
		if len(value) > 1<<10 {
			return
		}
		r, err := toolview.ParseRule(text, meta.Origin{File: "f", Line: 3})
		if err != nil {
			var e *meta.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, 3, e.Origin.Line)
			require.NotEmpty(t, e.Suggestion)
			return
		}
		canonical := r.String()
		again, err := toolview.ParseRule(canonical, meta.Origin{})
		require.NoError(t, err, "%q of %q", canonical, text)
		require.Equal(t, canonical, again.String(), "canonicalising twice changes nothing")
		for _, b := range bands {
			for _, x := range b.Set.All() {
				require.Equal(t, r.Selects(b.Owner, &x.Decl), again.Selects(b.Owner, &x.Decl), "%q as %q on %s", text, canonical, x.Name)
				require.Equal(t, r.Covers(b.Owner, &x.Decl), again.Covers(b.Owner, &x.Decl))
				for _, k := range []toolview.SubjectKind{toolview.Command, toolview.Path, toolview.Domain, toolview.Name} {
					s := toolview.Subject{Kind: k, Value: value}
					at := toolview.Place{Root: root, Home: home}
					require.Equal(t, r.Matches(b.Owner, &x.Decl, s, at), again.Matches(b.Owner, &x.Decl, s, at))
				}
			}
		}
	})
}

func FuzzEscapedTextMatchesItselfAlone(f *testing.F) {
	for _, s := range []string{`grep -n "a.*b" f`, `a\b`, `x \* y`, "(|,)", "git:*", "a *"} {
		f.Add(s, "other")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		r, err := toolview.ParseRule("Bash("+toolview.Escape(text)+")", meta.Origin{})
		if err != nil {
			return
		}
		d := toolview.Decl{Name: "Bash"}
		meets := func(v string) bool {
			return r.Matches("A", &d, toolview.Subject{Kind: toolview.Command, Value: v}, toolview.Place{})
		}
		require.True(t, meets(text), "%q", text)
		require.Equal(t, strings.TrimSpace(text) == strings.TrimSpace(other), meets(other), "%q against %q", text, other)
	})
}
