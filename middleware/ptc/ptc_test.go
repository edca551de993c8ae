package ptc_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/ptc"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

type words struct {
	Text string `json:"text,omitempty" doc:"what to say back"`
}

func leaf(name string, run func(context.Context, string) *message.Result) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Says its text back. Nothing more."},
		func(ctx context.Context, _ any, _ *toolview.Call, in words) (*message.Result, error) {
			return run(ctx, in.Text), nil
		})
}

func say(_ context.Context, text string) *message.Result { return message.Say(text) }

// data returns JSON beside its text.
func data(_ context.Context, text string) *message.Result {
	r := message.Say("said " + text)
	r.Structured = json.RawMessage(`{"n":3,"of":["` + text + `"]}`)
	return r
}

func fail(_ context.Context, text string) *message.Result { return message.Fail("not " + text) }

func tools() middleware.Middleware {
	forward := toolview.NewForwarder(toolview.Tool{Decl: toolview.Decl{Name: "Forward"}, Doc: "Forwards."},
		func(in struct {
			Name string `json:"name" doc:"tool"`
		},
		) (toolview.Inner, error) {
			return toolview.Inner{Name: in.Name, Args: json.RawMessage("{}")}, nil
		})
	return middleware.Middleware{
		Name: "Tools", Doc: "owns tools", Tools: toolview.MustSet(leaf("Echo", say), leaf("Data", data), leaf("Fail", fail), forward),
		Deferred: toolview.MustSet(leaf("late-one", say)),
	}
}

// rig is a session with one program to run.
type rig struct {
	list   []middleware.Middleware
	change func(*session.Options)
	opt    ptc.Options
}

type ran struct {
	s      *session.Session
	result *message.Result
	events []message.Event
}

func (g rig) run(t *testing.T, code string) ran {
	t.Helper()
	suite, err := middleware.NewSuite(append(slices.Clone(g.list), tools(), ptc.New(g.opt))...)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]string{"code": code})
	require.NoError(t, err)
	o := session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Store: &memory.Store{},
		Models: script.New(script.Do(ptc.Tool, string(raw)), script.Say("done")).Models,
	}
	if g.change != nil {
		g.change(&o)
	}
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	out := ran{s: s}
	for e, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
		out.events = append(out.events, e)
	}
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			out.result = r
		}
	}
	require.NotNil(t, out.result)
	return out
}

func deny(entries ...string) func(*session.Options) {
	return func(o *session.Options) {
		for _, e := range entries {
			o.Lists.Deny = append(o.Lists.Deny, toolview.Selector{Text: e})
		}
	}
}

func closing(name string) func(*session.Options) {
	return func(o *session.Options) {
		o.Layers = []meta.Layer{{Name: "project", Entries: []meta.Entry{{Key: name}}}}
	}
}

func TestOnlyWhatAProgramPrintsEntersTheContext(t *testing.T) {
	got := rig{}.run(t, `
d = Data(text="secret")
print(d["n"], len(d["of"]))
call("late-one", {"text": "found"}) + "!"
`)
	require.False(t, got.result.Error)
	require.Equal(t, "3 1\nfound!", got.result.Text())
	for _, m := range got.s.Messages() {
		for _, r := range m.Results() {
			require.NotContains(t, r.Text(), "secret")
		}
	}
	require.Equal(t, "(the program printed nothing)", rig{}.run(t, "x = 1").result.Text())
}

func TestInnerCallsAreEventsUnderTheirOwnNames(t *testing.T) {
	got := rig{}.run(t, `parallel([lambda: Echo(text="a"), lambda: Data(text="b")])[0]`)
	require.Equal(t, "a", got.result.Text())
	seen := map[string]string{}
	for _, e := range got.events {
		if e.Kind == message.CallEnd {
			seen[e.Use.Name] = e.Parent
		}
	}
	require.Equal(t, map[string]string{"Echo": "call_1_1", "Data": "call_1_1", ptc.Tool: ""}, seen)
}

func TestAFailedCallEndsTheProgramAtItsLineUnlessItWasAttempted(t *testing.T) {
	got := rig{}.run(t, "print('before')\nFail(text='x')\nprint('behind')")
	require.True(t, got.result.Error)
	require.Equal(t, "before\ncode:2:5: Fail: not x", got.result.Text())
	got = rig{}.run(t, "r = attempt(Fail, text='x')\n[r.ok, r.text]")
	require.Equal(t, `[false,"code:1:12: Fail: not x"]`, got.result.Text())
	got = rig{}.run(t, "Echo(txet='x')")
	require.True(t, got.result.Error)
	require.Contains(t, got.result.Text(), "text", "a bad argument is answered with what to send")
}

func TestAClosedOrDeniedToolIsAnsweredLikeAMisspeltOne(t *testing.T) {
	ask := func(g rig, name string) []string {
		return []string{
			g.run(t, name+"()").result.Text(), g.run(t, `call("`+name+`")`).result.Text(), g.run(t, `help("`+name+`")`).result.Text(),
		}
	}
	other := middleware.Middleware{Name: "Other", Doc: "owns a tool", Tools: toolview.MustSet(leaf("Xyzzy", say))}
	with := rig{list: []middleware.Middleware{other}}
	require.Equal(t, []string{"(the program printed nothing)", "(the program printed nothing)"}, ask(with, "Xyzzy")[:2], "presence first")
	typo := ask(with, "Plugh")
	require.Equal(t, "code:1:1: There is no tool `Plugh`.", typo[0])
	for name, change := range map[string]func(*session.Options){"closed": closing("Other"), "denied": deny("Xyzzy")} {
		with.change = change
		got := ask(with, "Xyzzy")
		for i := range got {
			require.Equal(t, typo[i], strings.ReplaceAll(got[i], "Xyzzy", "Plugh"), name)
		}
		require.NotContains(t, with.run(t, "help()").result.Text(), "Xyzzy")
	}
}

func TestGatesAndApprovalJudgeEveryInnerCall(t *testing.T) {
	judge := middleware.Middleware{
		Name: "Gate", Doc: "judges", Gates: true,
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{Hooks: middleware.Hooks{Gate: func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
				for i, c := range calls {
					out[i] = middleware.Verdict{Decision: middleware.Pass}
					switch {
					case c.Name() == "Data":
						out[i] = middleware.Verdict{Decision: middleware.Deny, Reason: "no data"}
					case c.Name() == "Echo":
						out[i] = middleware.Verdict{Decision: middleware.Ask, Reason: "look"}
					}
				}
			}}}, nil
		},
	}
	person := &approver{}
	g := rig{list: []middleware.Middleware{judge}, change: func(o *session.Options) { o.Approver = person }}
	got := g.run(t, "r = parallel([lambda: attempt(Echo, text='1'), lambda: attempt(Echo, text='2'), lambda: attempt(Data)])\n[x.text for x in r]")
	require.Contains(t, got.result.Text(), "the user rejected it")
	require.Contains(t, got.result.Text(), "no data")
	require.Len(t, person.asked, 1, "what runs beside each other is one request")
	require.Equal(t, []string{"Echo", "Echo"}, person.asked[0])
	person.allow = true
	require.Equal(t, "1", g.run(t, "Echo(text='1')").result.Text())
}

type approver struct {
	allow bool
	asked [][]string
}

func (a *approver) Approve(_ context.Context, requests []session.Request) ([]session.Approval, error) {
	var names []string
	out := make([]session.Approval, len(requests))
	for i, r := range requests {
		names = append(names, r.Tool)
		out[i].Allow = a.allow
	}
	a.asked = append(a.asked, names)
	return out, nil
}

func TestTheCatalogIsOfTheViewAndInNoDescription(t *testing.T) {
	got := rig{}.run(t, "help()").result.Text()
	require.Equal(t, "Data(text=): Says its text back.\nEcho(text=): Says its text back.\nFail(text=): Says its text back.\ncall(\"late-one\", {text=}): Says its text back.", got)
	require.Equal(t, got, rig{}.run(t, "print(help())").result.Text())
	require.Contains(t, rig{}.run(t, `help("Echo")`).result.Text(), `"what to say back"`)
	require.NotContains(t, rig{change: deny("Echo")}.run(t, "help()").result.Text(), "Echo")
	for _, tool := range ptc.New(ptc.Options{}).Deferred.All() {
		require.NotContains(t, tool.Doc+string(tool.Schema), "Echo")
	}
}

func TestNoProgramRunsAnotherAndNoneForwards(t *testing.T) {
	for code, want := range map[string]string{
		`call("RunCode", {"code": "1"})`:    "a program cannot run another",
		`call("run_code", {"code": "1"})`:   "a program cannot run another",
		`RunCode(code="1")`:                 "There is no tool `RunCode`",
		`call("Forward", {"name": "Echo"})`: "cannot itself be forwarded",
		`call("")`:                          "give the tool's name",
	} {
		got := rig{}.run(t, code).result
		require.True(t, got.Error, code)
		require.Contains(t, got.Text(), want, code)
	}
}

func TestLimitsEndAProgram(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	slow := middleware.Middleware{Name: "Slow", Doc: "takes an hour", Tools: toolview.MustSet(leaf("Slow", func(context.Context, string) *message.Result {
		at = at.Add(time.Hour)
		return message.Say("done")
	}))}
	g := rig{
		list: []middleware.Middleware{slow}, opt: ptc.Options{Steps: 5000, Calls: 3, Output: 10},
		change: func(o *session.Options) { o.Now = func() time.Time { return at } },
	}
	for code, want := range map[string]string{
		"while True: pass":              "more than 5000 steps",
		"for i in range(9): Echo()":     "more than 3 calls",
		"print('x' * 50)":               "the rest is cut",
		"Slow()\nprint('never')":        "code:1:5: it ran longer than 10m0s",
		"attempt(Slow)\nprint('never')": "it ran longer than 10m0s",
	} {
		got := g.run(t, code).result.Text()
		require.Contains(t, got, want, code)
		require.NotContains(t, got, "never", code)
	}
}

func TestAnEndedTurnEndsItsProgram(t *testing.T) {
	began := 0
	var stop func()
	list := middleware.Middleware{Name: "Stopper", Doc: "stops", Tools: toolview.MustSet(leaf("Stop", func(context.Context, string) *message.Result {
		began++
		stop()
		return message.Say("x")
	}))}
	suite, err := middleware.NewSuite(list, ptc.New(ptc.Options{}))
	require.NoError(t, err)
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Store: &memory.Store{},
		Models: script.New(script.Do(ptc.Tool, `{"code":"for i in range(9): attempt(Stop)"}`), script.Say("never")).Models,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	var ended error
	for _, err := range s.Prompt(ctx, session.Text("go")) {
		if err != nil {
			ended = err
		}
	}
	require.ErrorIs(t, ended, context.Canceled)
	require.Equal(t, 1, began)
	last := s.Messages()[len(s.Messages())-1]
	require.Len(t, last.Results(), 1, "the use has its one result")
}
