package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/memory"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

func declared(d toolview.Decl, unsupported string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: d, Doc: "Stands in.", Effects: toolview.Runs, Unsupported: unsupported},
		func(context.Context, any, *toolview.Call, struct{}) (*message.Result, error) {
			return message.Say("ran"), nil
		})
}

// standIns declare tools as owners do whose tools depend on what is set up. lack is why they do not work.
func standIns(lack string) []middleware.Middleware {
	own := func(name string, decls ...toolview.Decl) middleware.Middleware {
		var list []toolview.Tool
		for _, d := range decls {
			list = append(list, declared(d, lack))
		}
		return middleware.Middleware{Name: name, Doc: "Stands in.", Tools: toolview.MustSet(list...)}
	}
	return []middleware.Middleware{
		own("McpMiddleware", toolview.Decl{Name: "mcp__files__find", Family: "mcp", Private: true, Server: "files", Leaf: "find"},
			toolview.Decl{Name: "mcp__git__log", Family: "mcp", Private: true, Server: "git", Leaf: "log"}),
		own("OpenAPIMiddleware", toolview.Decl{Name: "api__pets__get", Family: "openapi", Groups: []string{"restapi"}, Private: true, Server: "pets", Leaf: "get"}),
		own("LspMiddleware", toolview.Decl{Name: "LSP", Family: "lsp"}),
	}
}

// withStandIns is the built-in suite with stand-ins in the places of owners that they stand for, or before the tool search.
func withStandIns(t *testing.T, o builtin.Options, lack string) *middleware.Suite {
	t.Helper()
	suite, err := builtin.Suite(o)
	require.NoError(t, err)
	list := slices.Clone(suite.All())
	for _, m := range standIns(lack) {
		if i := slices.IndexFunc(list, func(x middleware.Middleware) bool { return x.Name == m.Name }); i >= 0 {
			list[i] = m
			continue
		}
		list = slices.Insert(list, len(list)-1, m)
	}
	suite, err = middleware.NewSuite(list...)
	require.NoError(t, err)
	return suite
}

// selected are the tools that a selector allows, or denies, of everything that is declared, with their owners.
func selected(t *testing.T, bands []toolview.Band, text string, deny bool) (names, owners []string) {
	t.Helper()
	list := []toolview.Selector{{Text: text}}
	l := toolview.Lists{Allow: [][]toolview.Selector{list}}
	if deny {
		l = toolview.Lists{Deny: list}
	}
	f, err := toolview.NewFrame(l)
	require.NoError(t, err)
	v := toolview.NewDeriver(bands, nil, nil).View(&toolview.Policy{Frames: []*toolview.Frame{f}}, nil)
	for _, b := range bands {
		for _, x := range b.Set.All() {
			if x.Finder || v.Explain(x.Name).Visible == deny {
				continue
			}
			names = append(names, x.Name)
			if !slices.Contains(owners, b.Owner) {
				owners = append(owners, b.Owner)
			}
		}
	}
	return names, owners
}

func bands(t *testing.T) []toolview.Band {
	return withStandIns(t, builtin.Options{}, "").Bands()
}

// What each name selects is printed from the tools' own declarations, and compared with what the reference says.
func TestTheNamesOfSolonSelectWhatTheReferenceSays(t *testing.T) {
	all := bands(t)
	var printed strings.Builder
	row := func(names []string, aliases []string, tools []string, alsoDenied []string, owner string) {
		for i, name := range names {
			want := tools
			if len(names) > 1 {
				want = tools[i : i+1]
			}
			for _, word := range append([]string{name}, aliases...) {
				allowed, owners := selected(t, all, word, false)
				if _, own := exact(all, word); own && word != name {
					require.Subset(t, want, allowed, "%s is a tool's own name", word)
				} else {
					require.ElementsMatch(t, want, allowed, "%s allows", word)
				}
				require.NotEqual(t, len(want) > 0, len(allowed) == 0, word)
				if len(allowed) > 0 {
					require.Equal(t, []string{owner}, owners, word)
				}
				var denied []string
				if name != "hitl" {
					denied, _ = selected(t, all, word, true)
					if _, own := exact(all, word); !own || word == name {
						require.ElementsMatch(t, append(slices.Clone(want), alsoDenied...), denied, "%s denies", word)
					}
				}
				sort.Strings(allowed)
				sort.Strings(denied)
				printed.WriteString(word + " | " + owner + " | " + strings.Join(allowed, " ") + " | " + strings.Join(denied, " ") + "\n")
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", "solon_reference.md"))
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 4, line)
		tools, also, _ := strings.Cut(cells[2], "; in a deny list also ")
		list := func(s string) []string {
			if s == "–" {
				return nil
			}
			return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
		}
		row(list(cells[0]), list(cells[1]), list(tools), list(also), cells[3])
	}
	golden := filepath.Join("testdata", "solon.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(printed.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), printed.String())
}

func exact(all []toolview.Band, word string) (string, bool) {
	for _, b := range all {
		for _, x := range b.Set.All() {
			if strings.EqualFold(x.Name, word) {
				return x.Name, true
			}
		}
	}
	return "", false
}

func TestTheStarSelectsWhatTheReferenceCallsPublic(t *testing.T) {
	all := bands(t)
	public := strings.Fields(`Read Write Edit Glob Grep LS Bash BashStart BashWait BashStdin BashStop Skill DiscoverSkills
		TodoRead TodoWrite CodeSearch WebSearch WebFetch Agent AgentResult LSP Now AskUserQuestion`)
	names, _ := selected(t, all, "*", false)
	require.ElementsMatch(t, public, names)
	every, _ := selected(t, all, "**", false)
	require.Subset(t, every, names)
	require.Contains(t, every, "GenerateAgent")
	denied, _ := selected(t, all, "*", true)
	require.ElementsMatch(t, every, denied, "in a deny list both stars are the same")
	pi, _ := selected(t, all, "pi", false)
	require.ElementsMatch(t, strings.Fields("Read Write Edit Bash BashStart BashWait BashStdin BashStop"), pi)
}

// gone are the tools that a session with more settings lacks beside one without them. It also shows what they gain.
func gone(t *testing.T, settings string) []string {
	t.Helper()
	const async = "workspace: {bash_async: true}\n"
	had := view(newSite(t, async).open(script.New(), ""))
	has := view(newSite(t, async+settings).open(script.New(), ""))
	require.Subset(t, had, has, "lists only narrow")
	var out []string
	for _, name := range had {
		if !slices.Contains(has, name) {
			out = append(out, name)
		}
	}
	return out
}

// view is the tools of a session but for the search, which comes and goes with deferred ones.
func view(s *session.Session) []string {
	var out []string
	for e := range s.View().All() {
		if !e.Tool.Finder {
			out = append(out, e.Tool.Name)
		}
	}
	sort.Strings(out)
	return out
}

func TestADenyOfThePresetTakesItsTools(t *testing.T) {
	require.ElementsMatch(t, strings.Fields("Read Write Edit Bash BashStart BashWait BashStdin BashStop"), gone(t, "tools: {deny: [pi]}"))
}

func TestAnAliasAndTheCanonicalNameDenyTheSame(t *testing.T) {
	for alias, name := range map[string]string{
		"list": "LS", "shell": "Bash", "terminal": "Bash", "command": "bash", "read_file": "Read", "Task": "Agent", "subagent": "agent",
		"current_time": "Now", "web_fetch": "WebFetch", "todo_write": "TodoWrite",
	} {
		require.NotEmpty(t, gone(t, "tools: {deny: ["+name+"]}"), name)
		require.Equal(t, gone(t, "tools: {deny: ["+name+"]}"), gone(t, "tools: {deny: ["+alias+"]}"), alias)
	}
}

func TestEditCanBeHadWithoutWrite(t *testing.T) {
	s := newSite(t, "tools: {allow: [edit], deny: [write]}\n").open(script.New(), "")
	require.Equal(t, []string{"Edit", "Read"}, view(s))
	s = newSite(t, "tools: {allow: [edit]}\n").open(script.New(), "")
	require.Equal(t, []string{"Edit", "Read", "Write"}, view(s))
	require.Equal(t, []string{"Edit"}, gone(t, "tools: {deny: [edit]}"))
}

func TestNowIsListedDeniedAndClosedLikeAnyOther(t *testing.T) {
	require.Equal(t, []string{"Now"}, gone(t, "tools: {deny: [now]}"))
	require.Equal(t, []string{"Now"}, gone(t, "meta: {ClockMiddleware: false}"))
	require.Contains(t, gone(t, "tools: {allow: [Read]}"), "Now")
	require.Equal(t, []string{"Now"}, view(newSite(t, "tools: {allow: [now]}\n").open(script.New(), "")))
}

// What the host changes holds from the next step on, for the session, its agents and forks alike: nothing is
// synchronised when something is built.
func TestAHostsChangeNeedsNoRebuild(t *testing.T) {
	s := newSite(t, "").open(script.New(), "")
	agent, err := s.Agent(t.Context(), "general")
	require.NoError(t, err)
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	sessions := []*session.Session{s, agent, fork}
	sees := func(name string) (out []bool) {
		for _, x := range sessions {
			out = append(out, x.View().Explain(name).Visible)
		}
		return out
	}
	all, none := []bool{true, true, true}, []bool{false, false, false}
	require.Equal(t, all, sees("Bash"))
	require.NoError(t, s.SetTools(nil, []string{"bash"}))
	require.Equal(t, none, sees("Bash"))
	require.Equal(t, all, sees("Read"))
	require.NoError(t, s.SetTools(nil, nil))
	require.Equal(t, all, sees("Bash"))
	require.NoError(t, s.Pause("WorkspaceMiddleware"))
	require.Equal(t, none, sees("Bash"))
}

func TestAPauseAndAListDoNotUndoEachOther(t *testing.T) {
	s := newSite(t, "tools: {deny: [WebFetch]}\n").open(script.New(), "")
	require.True(t, s.View().Explain("TodoRead").Visible)
	require.NoError(t, s.Pause("TodoMiddleware", "WebMiddleware"))
	require.NoError(t, s.SetTools([]string{"**"}, nil))
	require.Equal(t, toolview.GateActive, s.View().Explain("TodoRead").Gate, "listing does not unpause")
	require.NoError(t, s.Unpause("TodoMiddleware", "WebMiddleware"))
	require.True(t, s.View().Explain("TodoRead").Visible)
	require.Equal(t, toolview.GateDenied, s.View().Explain("WebFetch").Gate, "unpausing lifts no deny")
}

func TestSandboxSwitchesLeaveTheToolsAsTheyAre(t *testing.T) {
	plain := view(newSite(t, "").open(script.New(), ""))
	require.Equal(t, plain, view(newSite(t, "workspace: {sandbox: false, restrict_system: true}\n").open(script.New(), "")))
}

// standing opens a session with stand-ins for owners that are yet to come.
func standing(t *testing.T, lack, settings string) *session.Session {
	return newSite(t, settings).standing(script.New(), lack)
}

func (s *site) standing(sc *script.Script, lack string) *session.Session {
	setup := load(s.t, s.root, s.home)
	opt := builtin.Options{SubAgent: subagent.Options{Catalog: setup.Catalog}}
	if lack == "" {
		opt.Memory = memory.Options{Provider: memory.Files, Home: s.home}
	}
	o := s.options(sc, "")
	o.Suite = withStandIns(s.t, opt, lack)
	out, err := session.New(s.t.Context(), o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, out.Close(context.Background())) })
	return out
}

func TestWhatHasNoProviderIsUnsupportedWithTheReasonAlsoThroughStars(t *testing.T) {
	for _, settings := range []string{"", "tools: {allow: ['**']}\n", "tools: {allow: [memory, lsp, mcp, openapi]}\n"} {
		s := standing(t, "no provider", settings)
		for _, name := range []string{"MemorySearch", "LSP", "mcp__git__log", "api__pets__get"} {
			x := s.View().Explain(name)
			require.False(t, x.Visible)
			require.Equal(t, toolview.GateSupported, x.Gate, "%s %s", settings, name)
			if name == "MemorySearch" {
				require.Contains(t, x.Rule, "set memory.provider")
			} else {
				require.Equal(t, "no provider", x.Rule)
			}
			require.True(t, standing(t, "", settings).View().Explain(name).Visible, "it is there with one")
		}
	}
	require.Equal(t, toolview.GateDenied, standing(t, "no provider", "tools: {deny: [memory]}\n").View().Explain("MemorySave").Gate, "the gates have an order")
}

// A deny of the settings and one of an agent's definition have the same rank: either only subtracts, and neither undoes the
// other.
func TestBothLevelsOfDenyHaveTheSameRank(t *testing.T) {
	agent := func(tools, deny string) string {
		return "---\nname: rev\ndescription: d\n" + tools + deny + "---\nYou review.\n"
	}
	of := func(settings, definition string) []string {
		site := newSite(t, settings)
		site.write(".peri/agents/rev.md", definition)
		k, err := site.open(script.New(), "").Agent(t.Context(), "rev")
		require.NoError(t, err)
		return view(k)
	}
	const list = "tools: [Read, Grep, Glob]\n"
	require.Equal(t, []string{"Glob", "Grep", "Read"}, of("", agent(list, "")))
	require.Equal(t, []string{"Glob", "Read"}, of("tools: {deny: [grep]}\n", agent(list, "")))
	require.Equal(t, []string{"Glob", "Read"}, of("", agent(list, "disallowedTools: grep\n")))
	require.Equal(t, []string{"Read"}, of("tools: {deny: [grep]}\n", agent(list, "disallowedTools: glob\n")))
	require.Equal(t, []string{"Read"}, of("tools: {deny: [glob]}\n", agent(list, "disallowedTools: grep\n")))
	require.Empty(t, of("tools: {deny: ['*']}\n", agent("tools: ['**']\n", "")))
}

func TestServersAndSourcesAreDeniedByIdentity(t *testing.T) {
	for deny, want := range map[string][]bool{ // files, git, pets
		"mcp": {false, false, true}, "mcp__git": {true, false, true}, "mcp:git/log": {true, false, true}, "openapi": {true, true, false},
		"restapi": {true, true, false}, "api__pets": {true, true, false}, "@McpMiddleware": {false, false, true}, "mcp__gi": {true, true, true},
	} {
		v := standing(t, "", "tools: {deny: ['"+deny+"']}\n").View()
		for i, name := range []string{"mcp__files__find", "mcp__git__log", "api__pets__get"} {
			require.Equal(t, want[i], v.Explain(name).Visible, "%s %s", deny, name)
		}
	}
}

// null is refused at every level and in every spelling, with the file that has it.
func TestNothingBehindAListIsAnErrorThatNamesTheFile(t *testing.T) {
	for _, settings := range []string{"tools: {allow: }\n", "tools: {allow: ~}\n", "tools: {deny: null}\n", "tools: {allow: ''}\n", "tools:\n  allow:\n", "agents: {explore: {tools: }}\n", "agents: {explore: {tools: ''}}\n"} {
		s := newSite(t, settings)
		_, _, err := builtin.Load(config.Options{Root: s.root, Home: s.home, Managed: "-"})
		if err == nil {
			setup := load(t, s.root, s.home)
			require.NotEmpty(t, setup.Diagnostics, settings)
			require.Equal(t, meta.SeverityError, setup.Diagnostics[0].Severity, settings)
			_, there := setup.Catalog.Lookup("explore")
			require.False(t, there, settings)
			continue
		}
		require.ErrorContains(t, err, "settings.yaml:", settings)
	}
	require.Empty(t, view(newSite(t, "tools: {allow: []}\n").open(script.New(), "")), "an empty list is nothing")
	require.NotEmpty(t, view(newSite(t, "tools: {}\n").open(script.New(), "")), "no list is everything")
}
