package closuretest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// plant breaks the healthy suite in one way, and says which check reports it, how.
type plant struct {
	spoil spoil
	// check reports a leak of owner that contains text; with closed, it is one that shows with that closed.
	check, closed, owner, text string
}

// at finds a middleware of the suite.
func at(list []middleware.Middleware, name string) *middleware.Middleware {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	panic(name)
}

// opening changes what a middleware's Open returns.
func opening(m *middleware.Middleware, change func(context.Context, middleware.Env, *middleware.Instance)) {
	start := m.Open
	m.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		in := &middleware.Instance{}
		if start != nil {
			var err error
			if in, err = start(ctx, env); err != nil {
				return in, err
			}
		}
		change(ctx, env, in)
		return in, nil
	}
}

func leaf(name, doc string, effects toolview.Effects, run func(context.Context, noteArgs) string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: doc, Effects: effects},
		func(ctx context.Context, _ any, _ *toolview.Call, in noteArgs) (*message.Result, error) {
			return message.Say(run(ctx, in)), nil
		})
}

func add(m middleware.Middleware) func([]middleware.Middleware) []middleware.Middleware {
	return func(list []middleware.Middleware) []middleware.Middleware { return append(list, m) }
}

// mentions are texts that name another owner's tool, route or agent.
func mentions() map[string]plant {
	say := func(text string, zone prompt.Zone) func([]middleware.Middleware) []middleware.Middleware {
		return add(middleware.Middleware{Name: "Talker", Doc: "Talks.", Segments: []prompt.Segment{{ID: "90_talk", Zone: zone, Text: text}}})
	}
	tool := func(t toolview.Tool) func([]middleware.Middleware) []middleware.Middleware {
		return add(middleware.Middleware{Name: "Talker", Doc: "Talks.", Tools: toolview.MustSet(t)})
	}
	run := func(context.Context, noteArgs) string { return "ok" }
	schema := func(json string) toolview.Tool {
		return toolview.Tool{
			Decl: toolview.Decl{Name: "Say"}, Doc: "Says.", Schema: []byte(json),
			Run: func(context.Context, *toolview.Call) (*message.Result, error) { return message.Say("ok"), nil },
		}
	}
	titled := leaf("Say", "Says.", 0, run)
	titled.Title = "Say, then TakeNote"
	return map[string]plant{
		"in a cached segment":      {say("Use TakeNote often.", prompt.Cached), closuretest.Silent, "Notes", "Talker", "names tool TakeNote"},
		"in a live segment":        {say("Use `Forecast` often.", prompt.Live), closuretest.Silent, "Weather", "Talker", "names tool Forecast"},
		"of a tool of run time":    {say("Ask wx__station.", prompt.Live), closuretest.Silent, "Weather", "Talker", "names tool wx__station"},
		"by an alias":              {say("Use note_add often.", prompt.Live), closuretest.Silent, "Notes", "Talker", "names tool note_add"},
		"of a route":               {say("The user may type /notes.", prompt.Live), closuretest.Silent, "Notes", "Talker", "names route notes"},
		"of an agent":              {say("Send `sentry` out.", prompt.Live), closuretest.Silent, "Guard", "Talker", "names agent sentry"},
		"of the leaving finder":    {say("Use RunTool for more.", prompt.Live), closuretest.Silent, "Weather", "Talker", "names tool RunTool"},
		"in a tool's doc":          {tool(leaf("Say", "Better than TakeNote.", 0, run)), closuretest.Silent, "Notes", "Talker", "names tool TakeNote"},
		"in a tool's title":        {tool(titled), closuretest.Silent, "Notes", "Talker", "names tool TakeNote"},
		"in a schema's text":       {tool(schema(`{"type":"object","properties":{"x":{"type":"string","description":"as TakeNote has it"}}}`)), closuretest.Silent, "Notes", "Talker", "names tool TakeNote"},
		"in a schema's enum":       {tool(schema(`{"type":"object","properties":{"x":{"type":"string","enum":["Forecast"]}}}`)), closuretest.Silent, "Weather", "Talker", "names tool Forecast"},
		"in a schema's agents":     {tool(schema(`{"type":"object","properties":{"x":{"type":"string","enum":["sentry"]}}}`)), closuretest.Silent, "Guard", "Talker", "names agent sentry"},
		"as a schema's property":   {tool(schema(`{"type":"object","properties":{"TakeNote":{"type":"string"}}}`)), closuretest.Silent, "Notes", "Talker", "names tool TakeNote"},
		"in an agent's body":       {agentSaying("Use TakeNote."), closuretest.Silent, "Notes", "Guard", "names tool TakeNote"},
		"in a route's doc":         {routeSaying("Like /notes."), closuretest.Silent, "Notes", "Weather", "names route notes"},
		"in what a stop hook says": {stopSaying("Call TakeNote now."), closuretest.Silent, "Notes", "", "names tool TakeNote"},
		"in a contribution": {func(l []middleware.Middleware) []middleware.Middleware {
			opening(at(l, "Guard"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Contribute = func(_ context.Context, _ *middleware.Step, t *prompt.Tail) error {
					t.Add("You have not used TakeNote for a while.")
					return nil
				}
			})
			return l
		}, closuretest.Silent, "Notes", "Guard", "names tool TakeNote"},
	}
}

func agentSaying(body string) func([]middleware.Middleware) []middleware.Middleware {
	return func(l []middleware.Middleware) []middleware.Middleware {
		opening(at(l, "Guard"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Agents = roster{{Agent: "sentry", Body: body, Origin: "builtin"}}
		})
		return l
	}
}

func routeSaying(doc string) func([]middleware.Middleware) []middleware.Middleware {
	return func(l []middleware.Middleware) []middleware.Middleware {
		w, decl := at(l, "Weather"), middleware.RouteDecl{Name: "weather", Doc: doc}
		w.Routes = []middleware.RouteDecl{decl}
		opening(w, func(_ context.Context, _ middleware.Env, in *middleware.Instance) { in.Routes = serving(decl) })
		return l
	}
}

func stopSaying(text string) func([]middleware.Middleware) []middleware.Middleware {
	return func(l []middleware.Middleware) []middleware.Middleware {
		opening(at(l, "Guard"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Stop = func(_ context.Context, s *middleware.Step) (string, error) {
				if len(s.Messages) == 2 {
					return text, nil
				}
				return "", nil
			}
		})
		return l
	}
}

func serving(decls ...middleware.RouteDecl) []middleware.Route {
	var out []middleware.Route
	for _, d := range decls {
		out = append(out, middleware.Route{RouteDecl: d, Run: func(context.Context, string) (middleware.RouteReply, error) {
			return middleware.RouteReply{Text: "served"}, nil
		}})
	}
	return out
}

// surfaces are things that stand where nobody declared them, or come and go with another owner.
func surfaces() map[string]plant {
	return map[string]plant{
		"a smuggled tool": {func(l []middleware.Middleware) []middleware.Middleware {
			opening(at(l, "Notes"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Tools = toolview.MustSet(leaf("Smuggled", "Does more.", 0, func(context.Context, noteArgs) string { return "" }))
			})
			return l
		}, closuretest.Declared, "", "Notes", "published, and not declared"},
		"a route left behind, as declared sees it": {routeLeftBehind, closuretest.Declared, "", "Weather", "declared by Notes"},
		"a route left behind, as a user meets it":  {familyLeftBehind, closuretest.Unreachable, "Notes", "Notes", "answered unlike a misspelt one"},
		"an undeclared route": {func(l []middleware.Middleware) []middleware.Middleware {
			opening(at(l, "Weather"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Routes = serving(middleware.RouteDecl{Name: "rain", Doc: "Rains."})
			})
			return l
		}, closuretest.Declared, "", "Weather", "served, and not declared"},
		"facts that claim a tool": {func(l []middleware.Middleware) []middleware.Middleware {
			opening(at(l, "Weather"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Facts = func() []middleware.Fact { return []middleware.Fact{{Surface: "tool", Name: "Ghost"}} }
			})
			return l
		}, closuretest.Declared, "", "Weather", "told by Facts"},
		"a hook left behind": {hookLeftBehind, closuretest.Exact, "Notes", "Weather", "left too"},
		"a text that follows another owner": {func(l []middleware.Middleware) []middleware.Middleware {
			return followingNotes(l)
		}, closuretest.Exact, "Notes", "Weather", "its text changed"},
		"a second path that resolves names": {secondPath, closuretest.Unreachable, "Notes", "Notes", "answered unlike a misspelt name"},
		"a search that keeps its own list":  {staleSearch, closuretest.Unreachable, "Notes", "Notes", "finds it"},
	}
}

// routeLeftBehind lets Weather serve what Notes declared.
func routeLeftBehind(l []middleware.Middleware) []middleware.Middleware {
	opening(at(l, "Weather"), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
		in.Routes = serving(middleware.RouteDecl{Name: "notes", Doc: "Shows the notes."})
	})
	return l
}

// familyLeftBehind lets Weather serve what only Notes' Open knows: nobody declares it, so that nothing keeps the name.
func familyLeftBehind(l []middleware.Middleware) []middleware.Middleware {
	at(l, "Notes").RouteFamily = true
	for _, name := range []string{"Notes", "Weather"} {
		opening(at(l, name), func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Routes = append(in.Routes, serving(middleware.RouteDecl{Name: "jot", Doc: "Jots it down."})...)
		})
	}
	return l
}

// hookLeftBehind lets Weather watch results for as long as Notes is there to be written to.
func hookLeftBehind(l []middleware.Middleware) []middleware.Middleware {
	shared := &sharedOpen{}
	shared.track(at(l, "Notes"))
	opening(at(l, "Weather"), func(ctx context.Context, _ middleware.Env, in *middleware.Instance) {
		if shared.has(ctx) {
			in.Hooks.Result = func(context.Context, *toolview.Call, *message.Result) {}
		}
	})
	return l
}

// followingNotes lets the text of Weather depend on whether Notes is open.
func followingNotes(l []middleware.Middleware) []middleware.Middleware {
	shared := &sharedOpen{}
	shared.track(at(l, "Notes"))
	w := at(l, "Weather")
	w.Segments = []prompt.Segment{{ID: "30_weather", Zone: prompt.Live, Text: "It rains {{much}}.", Vars: []string{"much"}}}
	opening(w, func(ctx context.Context, _ middleware.Env, in *middleware.Instance) {
		in.Vars = map[string]string{"much": "a little"}
		if shared.has(ctx) {
			in.Vars["much"] = "a lot"
		}
	})
	return l
}

// secondPath is a forwarder's twin that keeps a table of tools of its own.
func secondPath(l []middleware.Middleware) []middleware.Middleware {
	table := map[string]bool{"TakeNote": true}
	return append(l, middleware.Middleware{
		Name: "Second", Doc: "Runs tools.",
		Tools: toolview.MustSet(finding("RunAny", func(text string) string {
			if table[text] {
				return "ran it"
			}
			return "No such tool."
		})),
		Deferred: toolview.MustSet(leaf("Hidden", "Is deferred.", 0, func(context.Context, noteArgs) string { return "" })),
	})
}

// staleSearch answers from a list that was made when everything was open.
func staleSearch(l []middleware.Middleware) []middleware.Middleware {
	return append(l, middleware.Middleware{
		Name: "Second", Doc: "Finds tools.",
		Tools: toolview.MustSet(finding("FindAny", func(text string) string {
			if strings.Contains("TakeNote", text) {
				return "`TakeNote` is what you want, TakeNote it is"
			}
			return "nothing for " + text
		})),
	})
}

func finding(name string, run func(string) string) toolview.Tool {
	t := leaf(name, "Finds.", toolview.Internal, func(_ context.Context, in noteArgs) string { return run(in.Text) })
	t.Finder = true
	return t
}

func plants() map[string]map[string]plant {
	return map[string]map[string]plant{
		"a mention": mentions(), "on a surface": surfaces(), "shared use": sharing(), "a child": children(),
		"a prefix": prefixes(), "a call:": calls(), "left behind:": endings(),
	}
}

func TestEveryPlantIsReportedByItsCheck(t *testing.T) {
	for group, some := range plants() {
		for name, p := range some {
			t.Run(group+" "+name, func(t *testing.T) {
				t.Parallel()
				leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: p.spoil(healthy()), Turns: 3})
				require.NoError(t, err)
				require.Condition(t, func() bool {
					for _, l := range leaks {
						if l.Check == p.check && l.Closed == p.closed && l.Owner == p.owner && strings.Contains(l.Text, p.text) {
							return true
						}
					}
					return false
				}, "no leak %+v in:\n%s", p, lines(leaks))
			})
		}
	}
}

func lines(leaks []closuretest.Leak) string {
	var b strings.Builder
	for _, l := range leaks {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}
