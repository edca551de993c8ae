//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/middleware/toolsearch"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func suite(t *testing.T, o mcp.Options, more ...middleware.Middleware) *middleware.Suite {
	t.Helper()
	m, err := mcp.New(o)
	require.NoError(t, err)
	s, err := middleware.NewSuite(append(append([]middleware.Middleware{m}, more...), toolsearch.New())...)
	require.NoError(t, err)
	return s
}

func session1(t *testing.T, o mcp.Options, lists toolview.Lists, more ...middleware.Middleware) *session.Session {
	t.Helper()
	opt := session.Options{Models: script.New().Models}
	opt.Suite, opt.Root, opt.Lists, opt.Model = suite(t, o, more...), t.TempDir(), lists, "m"
	s, err := session.New(t.Context(), opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func TestItClosesWhole(t *testing.T) {
	a := server(t, "a", "good")
	a.Direct = []toolview.Selector{{Text: "echo"}}
	o := mcp.Options{Servers: []mcp.Server{a}, Budget: time.Minute, Grace: 100 * time.Millisecond}
	closuretest.Run(t, closuretest.Config{Middlewares: suite(t, o).All(), Turns: 2})
}

func TestWithoutTheMiddlewareNoServerIsStarted(t *testing.T) {
	a := server(t, "a", "good")
	s := session1(t, mcp.Options{Servers: []mcp.Server{a}}, toolview.Lists{})
	require.Len(t, pids(t, a), 1, "with it there is one")
	require.Contains(t, s.Surface().String(), "server a McpMiddleware ready")
	require.NoError(t, s.Close(t.Context()))
	ended(t, a)
}

// Servers whose names begin alike, or differ in case alone, are told apart by what the settings call them.
func TestServersAreSelectedByWhoTheyAre(t *testing.T) {
	var o mcp.Options
	for _, name := range []string{"foo", "foo_bar", "Foo"} {
		o.Servers = append(o.Servers, server(t, name, "good"))
	}
	for deny, want := range map[string][]bool{ // foo, foo_bar, Foo
		"nothing": {true, true, true}, "mcp__foo": {false, true, false}, "mcp__foo_*": {true, false, true},
		"mcp__foo__*": {false, true, false}, "mcp:foo_bar/echo": {true, false, true}, "mcp": {false, false, false},
	} {
		s := session1(t, o, toolview.Lists{Deny: []toolview.Selector{{Text: deny}}})
		for i, name := range []string{"mcp__foo__echo", "mcp__foo_bar__echo", "mcp__Foo__echo"} {
			require.Equal(t, want[i], s.View().Explain(name).Visible, "%s %s", deny, name)
		}
		require.NoError(t, s.Close(t.Context()))
	}
}

func TestTwoServersMayHaveAToolOfTheSameName(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "b", "good"), server(t, "a", "good")}})
	require.Equal(t, "search {}", d.call("mcp__a__search", map[string]any{}).Text())
	require.Equal(t, "search {}", d.call("mcp__b__search", map[string]any{}).Text())
}

func TestAServersOwnListsNarrowWhatItOffers(t *testing.T) {
	sel := func(texts ...string) []toolview.Selector {
		out := []toolview.Selector{}
		for _, text := range texts {
			out = append(out, toolview.Selector{Text: text})
		}
		return out
	}
	a := server(t, "a", "good")
	a.Allow, a.Deny, a.Direct = [][]toolview.Selector{sel("e*", "mcp__a__search"), sel("*")}, sel("env"), sel("echo")
	d := open(t, mcp.Options{Servers: []mcp.Server{a}})
	require.Equal(t, []string{"mcp__a__echo", "mcp__a__search"}, d.tools())
	_, direct := d.inst.Tools.Tools().Lookup("mcp__a__echo")
	require.True(t, direct)
	a.Allow = [][]toolview.Selector{{}}
	require.Empty(t, open(t, mcp.Options{Servers: []mcp.Server{a}}).tools())
	a.Deny = sel("echo(x)")
	_, err := mcp.New(mcp.Options{Servers: []mcp.Server{a}})
	require.ErrorContains(t, err, "take whole tools")
}

func TestAnnotationsCountOnlyWhereTheServerIsTrusted(t *testing.T) {
	for trusted, want := range map[bool]toolview.Effects{true: toolview.ReadOnly, false: toolview.OpenWorld | toolview.Destructive} {
		a := server(t, "a", "good")
		a.Trusted = trusted
		e, _ := open(t, mcp.Options{Servers: []mcp.Server{a}}).view().Lookup("mcp__a__search")
		require.Equal(t, want, e.Tool.Effects)
	}
}

func TestAPromptIsACommandWithItsArgumentsAndItsImage(t *testing.T) {
	d := open(t, mcp.Options{Servers: []mcp.Server{server(t, "model", "good")}})
	r := d.route("mcp__model__greet", `Ann "very kindly"`)
	require.Equal(t, "greet Ann, very kindly", r.Prompt)
	require.Equal(t, []byte{0, 1, 2}, r.Parts[0].Data)
	require.Equal(t, "greet Bo, so so", d.route("mcp__model__greet", "who=Bo so so").Prompt)
	require.Contains(t, d.route("mcp__model__greet", "").Text, "it needs who")
	require.Contains(t, d.route("mcp__model__greet", `"x`).Text, "no partner")
}

func TestAServersQuestionReachesThePersonAndTheAnswerTheServer(t *testing.T) {
	var asked []string
	answers := map[string]string{"Name": "Ann", "age": "41", "kind": "dog", "sure": "Yes"}
	d, err := try(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}}, func(q toolview.Question) (toolview.Answer, error) {
		var a toolview.Answer
		for _, item := range q.Questions {
			asked = append(asked, item.Question)
			for name, answer := range answers {
				if strings.Contains(item.Question, name) && !strings.Contains(item.Question, "\n") || strings.Contains(item.Question, "\n"+name) {
					a.Chosen = append(a.Chosen, []string{answer})
				}
			}
		}
		return a, nil
	})
	require.NoError(t, err)
	r := d.call("mcp__a__ask", map[string]any{})
	require.JSONEq(t, `{"action":"accept","content":{"name":"Ann","age":41,"kind":"dog","sure":true}}`, r.Text())
	require.Contains(t, asked[0], "The server a asks: Who are you?")

	require.JSONEq(t, `{"action":"decline"}`, open(t, mcp.Options{Servers: []mcp.Server{server(t, "a", "good")}}).call("mcp__a__ask", map[string]any{}).Text())
}

func TestAServerInheritsNoKeysAndWhatItsSettingsSay(t *testing.T) {
	t.Setenv("SOME_API_KEY", "secret")
	t.Setenv("PICKED", "this one")
	a := server(t, "a", "good")
	a.Env["GIVEN"] = "${PICKED} ${ABSENT:-other} $HOME"
	d := open(t, mcp.Options{Servers: []mcp.Server{a}})
	got := d.call("mcp__a__env", map[string]any{}).Text()
	require.Contains(t, got, "GIVEN=this one other $HOME")
	require.Contains(t, got, "PATH=")
	require.NotContains(t, got, "SOME_API_KEY")
	require.NotContains(t, string(d.m.Policy), "this one")
	require.NotContains(t, string(d.m.Policy), "GIVEN=", "what may be secret is not stored")

	a.Env["GIVEN"] = "${ABSENT}"
	d = open(t, mcp.Options{Servers: []mcp.Server{a}})
	require.Contains(t, d.said(), "env GIVEN: the environment variable ABSENT is not set")
	require.Empty(t, d.tools())
}

// agents spawns one definition, which brings a server.
type agents struct{ spawn toolview.Spawn }

func (a agents) Agent(name string) (toolview.Spawn, bool) { return a.spawn, name == a.spawn.Agent }
func (a agents) List() []middleware.AgentInfo {
	return []middleware.AgentInfo{{Name: a.spawn.Agent, Origin: "test"}}
}

func TestAnAgentsOwnServerIsItsAloneAndEndsWithIt(t *testing.T) {
	for name, o := range map[string]mcp.Options{"beside the session's": {Servers: []mcp.Server{server(t, "a", "good")}}, "alone": {}} {
		own := server(t, "own", "good")
		raw, err := json.Marshal([]map[string]any{{"name": own.Name, "command": own.Command, "env": own.Env}})
		require.NoError(t, err)
		roster := middleware.Middleware{Name: "Roster", Doc: "Has an agent.", Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Agents: agents{toolview.Spawn{Agent: "kid", Extras: []toolview.Extra{{Kind: toolview.ExtraServers, Value: raw}}}}}, nil
		}}
		s := session1(t, o, toolview.Lists{Deny: []toolview.Selector{{Text: "mcp__own__big"}}}, roster)
		require.Empty(t, pids(t, own), name)
		kid, err := s.Agent(t.Context(), "kid")
		require.NoError(t, err, name)
		require.True(t, kid.View().Explain("mcp__own__echo").Visible, name)
		require.False(t, kid.View().Explain("mcp__own__big").Visible, "%s: what is denied above is denied", name)
		require.False(t, s.View().Explain("mcp__own__echo").Visible, "%s: it is the agent's alone", name)
		require.Equal(t, len(o.Servers) > 0, kid.View().Explain("mcp__a__echo").Visible, name)
		for _, shared := range o.Servers {
			require.Len(t, pids(t, shared), 1, "the session's connection is shared")
		}
		require.NoError(t, kid.Close(t.Context()))
		ended(t, own)
		require.Equal(t, len(o.Servers) > 0, s.View().Explain("mcp__a__echo").Visible, name)
	}
}

func FuzzQualified(f *testing.F) {
	f.Add("a", "b", "a", "b_")
	f.Add("a__b", "c", "a", "b__c")
	f.Add("a_", "x", "a", "_x")
	f.Add("admin", "tools/list", "admin", "tools_list")
	f.Add(strings.Repeat("s", 36), strings.Repeat("t", 40), strings.Repeat("s", 36), strings.Repeat("t", 41))
	f.Fuzz(func(t *testing.T, s1, l1, s2, l2 string) {
		one, two := mcp.Qualified(s1, l1), mcp.Qualified(s2, l2)
		require.Regexp(t, `^mcp__[a-zA-Z0-9_-]{1,59}$`, one)
		require.Equal(t, one, mcp.Qualified(s1, l1))
		require.Equal(t, s1 == s2 && l1 == l2, one == two, "%s %s", one, two)
	})
}
