package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

type judging = func(context.Context, []*toolview.Call, []middleware.Verdict)

func passing(_ context.Context, _ []*toolview.Call, out []middleware.Verdict) {
	for i := range out {
		out[i] = middleware.Verdict{Decision: middleware.Pass}
	}
}

// always gives one verdict about every call.
func always(v middleware.Verdict) judging {
	return func(_ context.Context, _ []*toolview.Call, out []middleware.Verdict) {
		for i := range out {
			out[i] = v
		}
	}
}

func gate(name string, f judging) middleware.Middleware {
	return with(name, middleware.Instance{Hooks: middleware.Hooks{Gate: f}})
}

func rewriter(name string, f judging) middleware.Middleware {
	return with(name, middleware.Instance{Hooks: middleware.Hooks{Rewrite: f}})
}

// judge asks a chain once. Rewritten calls replace those of all.
func judge(t testing.TB, c *middleware.Chain, all []*toolview.Call) []middleware.Verdict {
	t.Helper()
	j := c.NewJudge(0)
	defer j.Close()
	out := make([]middleware.Verdict, len(all))
	j.Calls(t.Context(), all, out)
	return out
}

func TestWithoutGatesEveryCallPasses(t *testing.T) {
	require.Equal(t, middleware.Pass, judge(t, chain(t, named("A")), calls(t, "One"))[0].Decision)
}

func TestGateThatIsSilentPanicsOrTalksNonsenseDenies(t *testing.T) {
	for name, c := range map[string]struct {
		gate   judging
		reason string
		fault  []string
	}{
		"silent":    {func(context.Context, []*toolview.Call, []middleware.Verdict) {}, "Guard gave no verdict", nil},
		"panicking": {func(context.Context, []*toolview.Call, []middleware.Verdict) { panic("oops") }, "Guard failed to judge the call", []string{"Guard: gate: panic: oops"}},
		"panicking at the end": {func(ctx context.Context, in []*toolview.Call, out []middleware.Verdict) {
			passing(ctx, in, out)
			panic("oops")
		}, "Guard failed to judge the call", []string{"Guard: gate: panic: oops"}},
		"of an unknown decision": {always(middleware.Verdict{Decision: 9}), "Guard gave an unknown verdict", nil},
		"with a rule alone":      {always(middleware.Verdict{Rule: "Bash(rm *)"}), "Guard denies it", nil},
	} {
		t.Run(name, func(t *testing.T) {
			chain, faults := watched(t, gate("First", passing), gate("Guard", c.gate), gate("Last", always(middleware.Verdict{Decision: middleware.Allow})))
			out := judge(t, chain, calls(t, "One", "Two"))
			for _, v := range out {
				require.Equal(t, []any{middleware.Deny, c.reason}, []any{v.Decision, v.Reason})
			}
			require.Equal(t, c.fault, faults.drain())
		})
	}
}

func TestGateThatForgetsOneCallDeniesThatOneAlone(t *testing.T) {
	c := chain(t, gate("Guard", func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, call := range in {
			if call.Name() != "Two" {
				out[i] = middleware.Verdict{Decision: middleware.Pass}
			}
		}
	}))
	out := judge(t, c, calls(t, "One", "Two", "Three"))
	require.Equal(t, []middleware.Decision{middleware.Pass, middleware.Deny, middleware.Pass},
		[]middleware.Decision{out[0].Decision, out[1].Decision, out[2].Decision})
}

func TestLateGateDeniesAndTheNextCallsAreJudgedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int32
		c, faults := watched(t, gate("First", passing), gate("Slow", func(ctx context.Context, in []*toolview.Call, out []middleware.Verdict) {
			if asked.Add(1) == 1 {
				<-release
			}
			passing(ctx, in, out)
		}))
		j := c.NewJudge(3 * time.Second)
		start := time.Now()
		out := make([]middleware.Verdict, 1)
		j.Calls(t.Context(), calls(t, "One"), out)
		require.Equal(t, middleware.Verdict{Reason: "Slow gave no verdict within 3s"}, out[0])
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, []string{"Slow: gate: gave no verdict within 3s"}, faults.drain())

		j.Calls(t.Context(), calls(t, "One"), out)
		require.Equal(t, middleware.Pass, out[0].Decision)
		close(release)
		synctest.Wait()
		require.Equal(t, middleware.Pass, out[0].Decision)
		j.Close()
	})
}

func TestCancelledTurnDoesNotWaitForALateGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := chain(t, gate("Slow", func(context.Context, []*toolview.Call, []middleware.Verdict) { <-release }))
		j := c.NewJudge(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		out := make([]middleware.Verdict, 1)
		j.Calls(ctx, calls(t, "One"), out)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, middleware.Verdict{Reason: "Slow gave no verdict before the turn ended"}, out[0])
		close(release)
		j.Close()
	})
}

func TestJudgeThatIsClosedWhileItJudgesLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := chain(t, gate("Slow", func(ctx context.Context, in []*toolview.Call, out []middleware.Verdict) {
			<-release
			passing(ctx, in, out)
		}))
		j := c.NewJudge(0)
		out := make([]middleware.Verdict, 1)
		in := calls(t, "One")
		go j.Calls(t.Context(), in, out)
		synctest.Wait()
		j.Close()
		close(release)
		synctest.Wait()
		require.Equal(t, middleware.Pass, out[0].Decision)
		// synctest fails the test if a goroutine of the judge is left.
	})
}

func TestGatesJoinByStrictnessInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verdict := rapid.Custom(func(t *rapid.T) middleware.Verdict {
			return middleware.Verdict{
				Decision: middleware.Decision(rapid.IntRange(0, 3).Draw(t, "decision")), Mode: rapid.Bool().Draw(t, "mode"), Reason: "r",
			}
		})
		all := rapid.SliceOfN(verdict, 1, 5).Draw(t, "verdicts")
		of := func(all []middleware.Verdict) middleware.Verdict {
			list := make([]middleware.Middleware, len(all))
			for i, v := range all {
				list[i] = gate(fmt.Sprintf("G%d", i), always(v))
			}
			s, err := middleware.NewSuite(list...)
			require.NoError(t, err)
			c, err := s.Open(context.Background(), middleware.Opening{})
			require.NoError(t, err)
			j := c.NewJudge(0)
			defer j.Close()
			out := make([]middleware.Verdict, 1)
			j.Calls(context.Background(), one, out)
			return out[0]
		}
		got, turned := of(all), of(rapid.Permutation(all).Draw(t, "turned"))
		require.Equal(t, got.Decision, turned.Decision)
		least := slices.MinFunc(all, func(a, b middleware.Verdict) int { return int(a.Decision) - int(b.Decision) })
		require.Equal(t, least.Decision, got.Decision, "the strictest holds")
		if got.Decision == middleware.Ask {
			written := slices.ContainsFunc(all, func(v middleware.Verdict) bool { return v.Decision == middleware.Ask && !v.Mode })
			require.Equal(t, !written, got.Mode, "an ask that somebody wrote is no mode's")
			require.Equal(t, got.Mode, turned.Mode)
		}
	})
}

var one = func() []*toolview.Call {
	set := toolview.MustSet(tool("One"))
	c, _ := toolview.NewDeriver([]toolview.Band{{Owner: "T", Set: set}}, nil, nil).View(&toolview.Policy{}, nil).Call("u", "One", nil)
	return []*toolview.Call{c}
}()

func TestRewritersAllowSatisfiesOnlyWhatAModeAsked(t *testing.T) {
	allow := always(middleware.Verdict{Decision: middleware.Allow})
	for name, c := range map[string]struct {
		gates []middleware.Verdict
		hooks []judging
		want  middleware.Decision
	}{
		"a mode's ask":                 {[]middleware.Verdict{{Decision: middleware.Ask, Mode: true}}, []judging{allow}, middleware.Allow},
		"a rule's ask":                 {[]middleware.Verdict{{Decision: middleware.Ask}}, []judging{allow}, middleware.Ask},
		"a mode's and a rule's ask":    {[]middleware.Verdict{{Decision: middleware.Ask, Mode: true}, {Decision: middleware.Ask}}, []judging{allow}, middleware.Ask},
		"a rule's and a mode's ask":    {[]middleware.Verdict{{Decision: middleware.Ask}, {Decision: middleware.Ask, Mode: true}}, []judging{allow}, middleware.Ask},
		"a denial":                     {[]middleware.Verdict{{Reason: "no"}}, []judging{allow}, middleware.Deny},
		"a mode's denial":              {[]middleware.Verdict{{Reason: "no", Mode: true}}, []judging{allow}, middleware.Deny},
		"nothing to satisfy":           {[]middleware.Verdict{{Decision: middleware.Pass}}, []judging{allow}, middleware.Pass},
		"a pass of the rewriter":       {[]middleware.Verdict{{Decision: middleware.Ask, Mode: true}}, []judging{passing}, middleware.Ask},
		"a rewriter that asks":         {[]middleware.Verdict{{Decision: middleware.Allow}}, []judging{always(middleware.Verdict{Decision: middleware.Ask, Mode: true})}, middleware.Ask},
		"another rewriter that asks":   {[]middleware.Verdict{{Decision: middleware.Ask, Mode: true}}, []judging{allow, always(middleware.Verdict{Decision: middleware.Ask})}, middleware.Ask},
		"another rewriter that denies": {[]middleware.Verdict{{Decision: middleware.Ask, Mode: true}}, []judging{allow, denies}, middleware.Deny},
		"a silent rewriter":            {[]middleware.Verdict{{Decision: middleware.Allow}}, []judging{func(context.Context, []*toolview.Call, []middleware.Verdict) {}}, middleware.Deny},
		"a panicking rewriter":         {[]middleware.Verdict{{Decision: middleware.Allow}}, []judging{func(context.Context, []*toolview.Call, []middleware.Verdict) { panic("oops") }}, middleware.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			var list []middleware.Middleware
			for i, v := range c.gates {
				list = append(list, gate(fmt.Sprintf("G%d", i), always(v)))
			}
			for i, h := range c.hooks {
				list = append(list, rewriter(fmt.Sprintf("H%d", i), h))
			}
			require.Equal(t, c.want, judge(t, chain(t, list...), calls(t, "One"))[0].Decision)
		})
	}
}

// rewriting sends other arguments.
func rewriting(d middleware.Decision, args string) judging {
	return always(middleware.Verdict{Decision: d, Args: json.RawMessage(args)})
}

// wanting denies every call whose text is not one of these.
func wanting(texts ...string) judging {
	return func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, c := range in {
			var a says
			_ = json.Unmarshal(c.Args(), &a)
			if slices.Contains(texts, a.Text) {
				out[i] = middleware.Verdict{Decision: middleware.Ask, Mode: true, Reason: a.Text}
			}
		}
	}
}

func TestRewrittenCallIsJudgedAgainAndIsTheOneThatRuns(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []judging
		want  middleware.Decision
		args  string
	}{
		"to what the gate takes":           {[]judging{rewriting(middleware.Pass, `{"text":"y"}`)}, middleware.Ask, `{"text":"y"}`},
		"to what the gate denies":          {[]judging{rewriting(middleware.Pass, `{"text":"z"}`)}, middleware.Deny, `{"text":"z"}`},
		"to what the gate denies, allowed": {[]judging{rewriting(middleware.Allow, `{"text":"z"}`)}, middleware.Deny, `{"text":"z"}`},
		"and allowed":                      {[]judging{rewriting(middleware.Allow, `{"text":"y"}`)}, middleware.Allow, `{"text":"y"}`},
		"allowed, then rewritten again":    {[]judging{always(middleware.Verdict{Decision: middleware.Allow}), rewriting(middleware.Pass, `{"text":"y"}`)}, middleware.Ask, `{"text":"y"}`},
		"rewritten, then allowed":          {[]judging{rewriting(middleware.Pass, `{"text":"y"}`), always(middleware.Verdict{Decision: middleware.Allow})}, middleware.Allow, `{"text":"y"}`},
		"to nonsense":                      {[]judging{rewriting(middleware.Allow, `{"text":7}`)}, middleware.Deny, `{"text":"x"}`},
		"to no JSON":                       {[]judging{rewriting(middleware.Pass, `{`)}, middleware.Deny, `{"text":"x"}`},
		"by one that denies":               {[]judging{rewriting(middleware.Deny, `{"text":"y"}`)}, middleware.Deny, `{"text":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			list := []middleware.Middleware{gate("Guard", wanting("x", "y"))}
			for i, h := range c.hooks {
				list = append(list, rewriter(fmt.Sprintf("H%d", i), h))
			}
			all := calls(t, "One")
			out := judge(t, chain(t, list...), all)
			require.Equal(t, c.want, out[0].Decision, out[0].Reason)
			require.JSONEq(t, c.args, string(all[0].Args()))
			require.Nil(t, out[0].Args)
		})
	}
}

func TestRewritersSeeWhatThoseBeforeThemMadeAndNoDeniedCall(t *testing.T) {
	var seen []string
	looks := func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, c := range in {
			seen = append(seen, c.Name()+string(c.Args()))
			out[i] = middleware.Verdict{Decision: middleware.Pass}
		}
	}
	guard := func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, c := range in {
			if c.Name() != "Two" {
				out[i] = middleware.Verdict{Decision: middleware.Pass}
			}
		}
	}
	c := chain(t, gate("Guard", guard), rewriter("A", rewriting(middleware.Pass, `{"text":"y"}`)), rewriter("B", looks))
	judge(t, c, calls(t, "One", "Two"))
	require.Equal(t, []string{`One{"text":"y"}`}, seen)
}

func TestGateCannotSpoilWhatTheNextOneSees(t *testing.T) {
	spoils := func(ctx context.Context, in []*toolview.Call, out []middleware.Verdict) {
		passing(ctx, in, out)
		in[0], in[1] = in[1], in[0]
	}
	guard := func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, c := range in {
			if c.Name() == "One" {
				out[i] = middleware.Verdict{Decision: middleware.Pass}
			}
		}
	}
	out := judge(t, chain(t, gate("Spoils", spoils), gate("Guard", guard)), calls(t, "One", "Two"))
	require.Equal(t, []middleware.Decision{middleware.Pass, middleware.Deny}, []middleware.Decision{out[0].Decision, out[1].Decision})
}

func TestOneJudgeServesManyGoroutines(t *testing.T) {
	guard := func(_ context.Context, in []*toolview.Call, out []middleware.Verdict) {
		for i, c := range in {
			if c.Name() == "One" {
				out[i] = middleware.Verdict{Decision: middleware.Pass}
			}
		}
	}
	c := chain(t, gate("Guard", guard), rewriter("Hook", rewriting(middleware.Pass, `{"text":"y"}`)))
	j := c.NewJudge(time.Minute)
	var all sync.WaitGroup
	for range 16 {
		in := calls(t, "One", "Two")
		all.Go(func() {
			for range 50 {
				out := make([]middleware.Verdict, 2)
				j.Calls(context.Background(), in, out)
				if out[0].Decision != middleware.Pass || out[1].Decision != middleware.Deny {
					panic(fmt.Sprint(out))
				}
			}
		})
	}
	all.Wait()
	j.Close()
}
