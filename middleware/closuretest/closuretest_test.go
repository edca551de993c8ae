package closuretest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func TestThirdPartySuiteIsClosed(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: healthy(), Pairs: true, Root: "testdata/project"})
}

func TestCheckFindsNothingInAHealthySuite(t *testing.T) {
	leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: healthy(), Pairs: true})
	require.NoError(t, err)
	require.Empty(t, leaks)
}

// inside says that this process is the child of TestRunFailsForALeak.
const inside = "CLOSURETEST_INSIDE"

func TestRunFailsForALeak(t *testing.T) {
	if os.Getenv(inside) != "" {
		closuretest.Run(t, closuretest.Config{Middlewares: changingArguments(healthy()), Turns: 1})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRunFailsForALeak$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL: TestRunFailsForALeak/closed/nothing/arguments")
	require.Contains(t, string(out), "--- PASS: TestRunFailsForALeak/closed/Notes/exact")
	require.Contains(t, string(out), "arguments: with nothing closed: Guard: wrap tool: ran another call than the one that was judged")
}

func TestAllowanceExcusesOnlyWhatItMeetsAndSaysWhy(t *testing.T) {
	check := func(allowed ...closuretest.Allowance) []closuretest.Leak {
		leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: changingArguments(healthy()), Turns: 1, Allowed: allowed})
		require.NoError(t, err)
		return leaks
	}
	leak := closuretest.Leak{Check: closuretest.Arguments, Owner: "Guard", Where: "wrap tool", Text: "ran another call than the one that was judged"}
	why := closuretest.Allowance{Check: closuretest.Arguments, Owner: "Guard", Why: "the framework refuses such a call"}
	require.Equal(t, []closuretest.Leak{leak}, filter(check(), closuretest.Arguments))
	require.Empty(t, filter(check(why), closuretest.Arguments))
	why.Why = ""
	require.Equal(t, []closuretest.Leak{leak, {Check: closuretest.Allowances, Where: "Allowed[0]", Text: "has no Why"}},
		filter(check(why), closuretest.Arguments, closuretest.Allowances))
	why.Why, why.Owner = "wrong owner", "Notes"
	require.Equal(t, []closuretest.Leak{leak, {Check: closuretest.Allowances, Where: "Allowed[0]", Text: "excuses no leak: remove it"}},
		filter(check(why), closuretest.Arguments, closuretest.Allowances))
}

func filter(leaks []closuretest.Leak, checks ...string) []closuretest.Leak {
	var out []closuretest.Leak
	for _, l := range leaks {
		for _, c := range checks {
			if l.Check == c {
				out = append(out, l)
			}
		}
	}
	return out
}

func TestToolThatTheConfigurationKnowsToNameToolsIsTried(t *testing.T) {
	list := append(healthy(), middleware.Middleware{Name: "Code", Doc: "Runs code.", Tools: toolview.MustSet(
		leaf("RunScript", "Runs code.", 0, func(_ context.Context, in noteArgs) string {
			if in.Text == "TakeNote()" {
				return "ran it"
			}
			return "error: " + strings.TrimSuffix(in.Text, "()") + " is not defined"
		}))})
	check := func(ways func(string) []closuretest.Way) []closuretest.Leak {
		leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: list, Turns: 1, Ways: ways})
		require.NoError(t, err)
		return leaks
	}
	require.Empty(t, check(nil))
	leaks := check(func(tool string) []closuretest.Way {
		return []closuretest.Way{{Tool: "RunScript", Args: `{"text":"` + tool + `()"}`}}
	})
	require.NotEmpty(t, leaks)
	for _, l := range leaks {
		require.Equal(t, closuretest.Unreachable, l.Check)
		require.Equal(t, "Notes", l.Owner)
		require.Contains(t, l.Where, "TakeNote by RunScript")
	}
}

func TestOnlyNamesMiddlewaresOfTheSuite(t *testing.T) {
	_, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: healthy(), Only: []string{"Nobody"}})
	require.ErrorContains(t, err, "Only names Nobody, which is not among the Middlewares")
}

func TestMiddlewaresThatAreNoSuiteAreALeak(t *testing.T) {
	leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: append(healthy(), notes())})
	require.NoError(t, err)
	require.Len(t, leaks, 1)
	require.Equal(t, closuretest.Suite, leaks[0].Check)
	require.Contains(t, leaks[0].Text, "Notes: stands in the suite twice")
}

func TestEveryCheckIsExplainedOnceAndHasAPlant(t *testing.T) {
	planted := map[string]bool{
		closuretest.NeverBuilt: true, // on a fabricated record: the framework cannot be made to do it
		closuretest.Allowances: true, // TestAllowanceExcusesOnlyWhatItMeetsAndSaysWhy
	}
	for _, some := range plants() {
		for _, p := range some {
			planted[p.check] = true
		}
	}
	seen := map[string]bool{}
	for _, c := range closuretest.Checks() {
		require.False(t, seen[c.Check], c.Check)
		seen[c.Check] = true
		require.NotEmpty(t, c.Text)
		require.True(t, planted[c.Check], "no plant for %s", c.Check)
	}
	require.Len(t, seen, len(planted))
}

// What follows shows that the framework refuses three of the plants by itself; the kit reports them all the same.

func started(t *testing.T, list []middleware.Middleware, steps ...script.Step) *session.Session {
	t.Helper()
	suite, err := middleware.NewSuite(list...)
	require.NoError(t, err)
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Models: script.New(steps...).Models,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func play(t *testing.T, s *session.Session) (results []string) {
	t.Helper()
	for _, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
	}
	for _, m := range s.Messages() {
		for _, r := range m.Results() {
			results = append(results, r.Text())
		}
	}
	return results
}

func TestFrameworkRunsNoCallThatAWrapperChanged(t *testing.T) {
	steps := []script.Step{script.Do("TakeNote", `{"text":"a"}`), script.Do("ListNotes", `{}`), script.Say("done")}
	require.Equal(t, []string{"kept", "a"}, play(t, started(t, healthy(), steps...)))
	got := play(t, started(t, changingArguments(healthy()), steps...))
	require.Contains(t, got[0], "the call was changed after it was judged, and did not run")
	require.Empty(t, got[1])
}

func TestFrameworkKeepsTheParentsGateForAChildWhoseInstanceLacksIt(t *testing.T) {
	asked := 0
	list := spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
		in.Hooks.Gate = passing(func(*toolview.Call) middleware.Verdict {
			asked++
			return middleware.Verdict{Decision: middleware.Deny, Reason: "never"}
		})
		in.Child = func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{}, nil
		}
	})(healthy())
	fork, err := started(t, list, script.Do("TakeNote", `{"text":"a"}`), script.Say("done")).Fork(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Not run: never."}, play(t, fork))
	require.Equal(t, 1, asked)
}

func TestFrameworkDropsSmuggledAndChildOnlyTools(t *testing.T) {
	s := started(t, surfaces()["a smuggled tool"].spoil(healthy()))
	require.Equal(t, "Smuggled", s.View().Smuggled()[0].Name)
	_, visible := s.View().Lookup("Smuggled")
	require.False(t, visible)

	s = started(t, children()["with a tool of its own"].spoil(healthy()))
	fork, err := s.Fork(t.Context())
	require.NoError(t, err)
	_, visible = fork.View().Lookup("TakeNote")
	require.True(t, visible)
	_, visible = fork.View().Lookup("ListNotes")
	require.False(t, visible)
}

func ExampleCheck() {
	leaks, err := closuretest.Check(context.Background(), closuretest.Config{Middlewares: mentions()["in a tool's doc"].spoil(healthy())})
	if err != nil {
		fmt.Println(err)
	}
	for _, l := range leaks {
		fmt.Println(l)
	}
	// Output:
	// silent: with Notes closed: Talker: tool Say: doc: names tool TakeNote of Notes, which is absent
}
