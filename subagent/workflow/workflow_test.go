package workflow_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/subagent/workflow"
	"github.com/metaharness/peri/toolview"
)

type words struct {
	Text string `json:"text,omitempty" doc:"what to say back"`
}

func leaf(name string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Says its text back."},
		func(_ context.Context, _ any, _ *toolview.Call, in words) (*message.Result, error) {
			return message.Say(name + ":" + in.Text), nil
		})
}

func tools() middleware.Middleware {
	return middleware.Middleware{Name: "Tools", Doc: "owns tools", Tools: toolview.MustSet(leaf("Look"), leaf("Find"), leaf("Change"))}
}

// rig is a project with agents and a model that plays their steps.
type rig struct {
	t      *testing.T
	root   string
	agents map[string][]script.Step
	defs   []subagent.Definition
	list   []middleware.Middleware
	store  *memory.Store
	change func(*session.Options)
	limits workflow.Options
	script *script.Script
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{t: t, root: t.TempDir(), agents: map[string][]script.Step{}, store: &memory.Store{}}
}

func (g *rig) agent(name string, d subagent.Definition, steps ...script.Step) {
	d.Name, d.Description, d.Body = name, "Does it.", "You do it."
	d.Origin = meta.Origin{Layer: subagent.Project, File: ".peri/agents/" + name + ".md"}
	g.defs = append(g.defs, d)
	g.agents[name] = steps
}

func (g *rig) file(name, text string) {
	path := filepath.Join(g.root, ".peri/workflows", name)
	require.NoError(g.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(g.t, os.WriteFile(path, []byte(text), 0o600))
}

func (g *rig) options(calls ...string) session.Options {
	suite, err := middleware.NewSuite(append(slices.Clone(g.list), subagent.New(subagent.Options{Catalog: subagent.NewCatalog(g.defs...)}), tools(), workflow.New(g.limits))...)
	require.NoError(g.t, err)
	var main []script.Step
	for _, args := range calls {
		main = append(main, script.Do(workflow.Tool, args), script.Say("done"))
	}
	g.agents[""] = main
	g.script = script.For(g.agents)
	o := session.Options{Blueprint: middleware.Blueprint{Suite: suite, Root: g.root}, Store: g.store, Models: g.script.Models, ID: "main"}
	if g.change != nil {
		g.change(&o)
	}
	return o
}

func (g *rig) open(o session.Options) *session.Session {
	s, err := session.New(g.t.Context(), o)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, s.Close(context.Background())) })
	return s
}

// run takes a turn for each call and returns the last result of each.
func (g *rig) run(calls ...string) ([]string, []message.Event) {
	s := g.open(g.options(calls...))
	var events []message.Event
	for range calls {
		events = append(events, turn(g.t, s, "go")...)
	}
	return results(s), events
}

func turn(t *testing.T, s *session.Session, text string) []message.Event {
	t.Helper()
	var events []message.Event
	for e, err := range s.Prompt(t.Context(), session.Text(text)) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func results(s *session.Session) []string {
	var out []string
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			out = append(out, r.Text())
		}
	}
	return out
}

// code is a call of the tool with a script.
func code(source string, more ...string) string {
	in := map[string]any{"script": source}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i]] = json.RawMessage(more[i+1])
	}
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// asked counts the requests of an agent's model.
func (g *rig) asked(agent string) int {
	n := 0
	for _, sent := range g.script.Sent() {
		if sent.Agent == agent {
			n++
		}
	}
	return n
}

func TestAScriptDecidesWhoDoesWhatAndWhatBecomesOfTheReports(t *testing.T) {
	g := newRig(t)
	g.agent("rev", subagent.Definition{}, script.Say("first view"), script.Say("second view"))
	g.agent("sum", subagent.Definition{}, script.Step{Text: "the sum", Expect: script.Expect{Last: []string{"first view", "second view"}}})
	got, events := g.run(code(`
log("reading " + args["what"])
log([1, "<a>"])
views = parallel([lambda: agent("read", agent="rev"), lambda: agent("read", "rev", description="again")])
agent("sum up: " + "; ".join([v.text for v in views]), agent="sum").text
`, "args", `{"what":"it"}`))
	require.Regexp(t, `^the sum\n\[workflow run [0-9a-f]{10}: 3 agents\]$`, got[0])
	starts := map[string]string{}
	var said []string
	for _, e := range events {
		if e.Kind == message.ChildStart {
			starts[e.Agent+" "+e.Text] = e.Parent
		}
		if e.Kind == message.Progress {
			said = append(said, e.Text)
			require.Equal(t, workflow.Name, e.Owner)
		}
	}
	require.Equal(t, []string{"reading it", `[1,"<a>"]`}, said)
	require.Equal(t, map[string]string{"rev ": "call_1_1.1", "rev again": "call_1_1.2", "sum ": "call_1_1.3"}, starts)
}

func TestOneBadAgentFailsAloneAndTheScriptReadsWhy(t *testing.T) {
	g := newRig(t)
	g.agent("ok", subagent.Definition{}, script.Say("fine"))
	g.agent("broken", subagent.Definition{}, script.Step{Error: "no answer"})
	got, _ := g.run(code(`
r = parallel([lambda: agent("x", agent="nobody"), lambda: agent("x", agent="ok"), lambda: agent("x", agent="broken")])
[x.ok for x in r] + [r[0].text]
`))
	require.Contains(t, got[0], "[false,true,false,")
	require.Contains(t, got[0], "There is no agent `nobody`.")
	require.Contains(t, got[0], "`ok`", "the answer names the roster")
}

func TestAnAgentOfAWorkflowHasWhatItDeclaresOfTheSessionsViewAndNoMore(t *testing.T) {
	for _, how := range []string{workflow.Tool, subagent.AgentTool} {
		g := newRig(t)
		g.agent("narrow", subagent.Definition{Tools: []string{"Look", "Find", "Nope"}},
			script.Do("Change", `{}`), script.Say("tried"), script.Do("Look", `{"text":"a"}`), script.Say("looked"))
		g.change = func(o *session.Options) { o.Lists.Deny = []toolview.Selector{{Text: "Find"}} }
		o := g.options(code(`agent("x", agent="narrow").text`), code(`agent("y", agent="narrow").text`))
		if how == subagent.AgentTool {
			g.agents[""] = []script.Step{
				script.Do(how, `{"agent":"narrow","prompt":"x"}`), script.Say("done"), script.Do(how, `{"agent":"narrow","prompt":"y"}`), script.Say("done"),
			}
			g.script = script.For(g.agents)
			o.Models = g.script.Models
		}
		s := g.open(o)
		turn(t, s, "go")
		turn(t, s, "go")
		var seen []string
		for _, sent := range g.script.Sent() {
			if sent.Agent != "narrow" {
				continue
			}
			require.Equal(t, []string{"Look"}, sent.Tools, how)
			for _, r := range sent.Messages[len(sent.Messages)-1].Results() {
				seen = append(seen, r.Text())
			}
		}
		require.Equal(t, []string{"There is no tool `Change`.", "Look:a"}, seen, how)
	}
}

func TestAModelIsResolvedAlikeByAgentAndByWorkflow(t *testing.T) {
	for model, want := range map[string]string{"fast": "fast", "inherit": "slow", "": "slow", "unknown": ""} {
		for _, how := range []string{workflow.Tool, subagent.AgentTool} {
			g := newRig(t)
			g.agent("rev", subagent.Definition{Model: model}, script.Say("ok"))
			o := g.options(code(`agent("x", agent="rev").text`))
			if how == subagent.AgentTool {
				g.agents[""] = []script.Step{script.Do(how, `{"agent":"rev","prompt":"x"}`), script.Say("done")}
				g.script = script.For(g.agents)
			}
			var asked []string
			o.Model = "slow"
			models := g.script.Models
			o.Models = func(name string) (middleware.ModelFunc, error) {
				if name == "unknown" {
					return nil, os.ErrNotExist
				}
				asked = append(asked, name)
				return models(name)
			}
			s := g.open(o)
			turn(t, s, "go")
			if want == "" {
				require.Contains(t, results(s)[0], ".peri/agents/rev.md", how)
				require.Contains(t, results(s)[0], `"unknown"`, how)
				continue
			}
			require.Equal(t, []string{"slow", want}, asked, how+" "+model)
		}
	}
}

func TestRulesOnDelegationHoldInAWorkflow(t *testing.T) {
	for entry, want := range map[string]string{
		"": "reported", "Agent": "There is no tool `Agent`.", "Agent(rev)": "Agent(rev)", "Workflow": "There is no tool `Workflow`.",
		"Workflow(script)": "Workflow(script)",
	} {
		g := newRig(t)
		g.agent("rev", subagent.Definition{}, script.Say("reported"))
		if entry != "" {
			g.change = func(o *session.Options) { o.Lists.Deny = []toolview.Selector{{Text: entry}} }
		}
		got, _ := g.run(code(`agent("x", agent="rev").text`))
		require.Contains(t, got[0], want, entry)
		require.Equal(t, entry == "", strings.Contains(got[0], "reported"))
	}
}

func TestGatesAndApprovalHoldForTheAgentsOfAWorkflow(t *testing.T) {
	gate := middleware.Middleware{
		Name: "Gate", Doc: "judges", Gates: true,
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Hooks: middleware.Hooks{Gate: func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
				for i, c := range calls {
					out[i] = middleware.Verdict{Decision: middleware.Pass}
					switch c.Name() {
					case "Change":
						out[i] = middleware.Verdict{Decision: middleware.Deny, Reason: "never, " + c.Agent()}
					case "Look":
						out[i] = middleware.Verdict{Decision: middleware.Ask, Reason: "look"}
					}
				}
			}}}, nil
		},
	}
	g := newRig(t)
	g.list = []middleware.Middleware{gate}
	g.agent("rev", subagent.Definition{}, script.Do("Change", `{}`, "Look", `{}`), script.Say("done"))
	person := &approver{}
	g.change = func(o *session.Options) { o.Approver = person }
	g.run(code(`agent("x", agent="rev")`))
	var seen []string
	for _, sent := range g.script.Sent() {
		for _, r := range sent.Messages[len(sent.Messages)-1].Results() {
			seen = append(seen, r.Text())
		}
	}
	require.Contains(t, seen, "Not run: never, rev.")
	require.Contains(t, seen, "Not run: the user rejected it.")
	require.Equal(t, []string{"rev Look"}, person.asked, "the child's name stands beside its call")
}

type approver struct{ asked []string }

func (a *approver) Approve(_ context.Context, requests []session.Request) ([]session.Approval, error) {
	for _, r := range requests {
		a.asked = append(a.asked, r.Agent+" "+r.Tool)
	}
	return make([]session.Approval, len(requests)), nil
}

func TestFanOutIsHeldToTheLimit(t *testing.T) {
	g := newRig(t)
	g.limits.Multitask = 2
	var steps []script.Step
	for range 5 {
		steps = append(steps, script.Say("ok"))
	}
	g.agent("rev", subagent.Definition{}, steps...)
	got, events := g.run(code(`len(parallel([lambda i=i: agent(str(i), agent="rev") for i in range(5)]))`))
	require.Contains(t, got[0], "5\n[workflow run")
	at, most := 0, 0
	for _, e := range events {
		switch e.Kind {
		case message.ChildStart:
			at++
			most = max(most, at)
		case message.ChildEnd:
			at--
		}
	}
	require.LessOrEqual(t, most, 2)
	require.Equal(t, 5, g.asked("rev"))
}

func TestAtTheDepthLimitThereIsNoWorkflow(t *testing.T) {
	g := newRig(t)
	g.agent("rev", subagent.Definition{})
	for depth, want := range map[int]bool{1: false, 2: true} {
		g.limits.Depth = depth
		s := g.open(g.options())
		_, ok := s.View().Lookup(workflow.Tool)
		require.True(t, ok, "presence first")
		k, err := s.Agent(t.Context(), "rev")
		require.NoError(t, err)
		_, ok = k.View().Lookup(workflow.Tool)
		require.Equal(t, want, ok, depth)
		g.store = &memory.Store{}
	}
}

func TestClosingDelegationClosesWorkflows(t *testing.T) {
	for name, want := range map[string]bool{"": true, subagent.Name: false, workflow.Name: false} {
		g := newRig(t)
		g.file("review.star", "# Reviews.\n1\n")
		if name != "" {
			g.change = func(o *session.Options) {
				o.Layers = []meta.Layer{{Name: "project", Entries: []meta.Entry{{Key: name}}}}
			}
		}
		s := g.open(g.options())
		_, ok := s.View().Lookup(workflow.Tool)
		require.Equal(t, want, ok)
		for _, r := range []string{"review", "workflows"} {
			_, _, ok = s.Chain().Route(r, nil)
			require.Equal(t, want, ok, r)
		}
	}
}

func TestBadCallsAreAnsweredWithWhatToSend(t *testing.T) {
	g := newRig(t)
	g.file("review.star", "1\n")
	for args, want := range map[string]string{
		`{}`:                          "Give `name`, or a `script`.",
		`{"name":"a","script":"1"}`:   "not both",
		`{"name":"reveiw"}`:           "Did you mean `review`? Workflows: `review`.",
		`{"script":"1","resume":"x"}`: "There is no run \"x\"",
		`{"script":"1","resume":"x","restart":true}`: "give one of them",
		code("a = 1\nagent()"):                       "`prompt`",
		code("agent(3)"):                             "are texts",
		code("x = 1\nagnet('x')"):                    "script.star:2:1: undefined: agnet",
		code("while True: pass"):                     "steps",
	} {
		got, _ := g.run(args)
		require.Contains(t, got[0], want, args)
		g.store = &memory.Store{}
	}
}
