package cron_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/cron"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

func options(t *testing.T, store session.Store, steps ...script.Step) session.Options {
	t.Helper()
	suite, err := middleware.NewSuite(cron.New(cron.Options{}))
	require.NoError(t, err)
	return session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Store: store,
		Models: script.New(steps...).Models, Schedules: true,
	}
}

func start(t *testing.T, o session.Options) *session.Session {
	t.Helper()
	s, err := session.New(t.Context(), o)
	require.NoError(t, err)
	return s
}

func shut(t *testing.T, s *session.Session) {
	t.Helper()
	require.NoError(t, s.Close(context.Background()))
}

// take takes one turn and returns the texts of its results and of its last reply.
func take(t *testing.T, s *session.Session, in session.Input) (results []string, last string) {
	t.Helper()
	for e, err := range s.Prompt(t.Context(), in) {
		require.NoError(t, err)
		switch e.Kind {
		case message.CallEnd:
			results = append(results, e.Result.Text())
		case message.Reply:
			last = e.Message.Text()
		}
	}
	return results, last
}

func set(schedule, prompt string) script.Step {
	return script.Do("CronCreate", fmt.Sprintf(`{"schedule":%q,"prompt":%q}`, schedule, prompt))
}

// due awaits the next prompt for at most as long.
func due(t *testing.T, s *session.Session, patience time.Duration) (session.Input, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Due(ctx)
}

func TestAHostIsHandedEachPromptAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, options(t, nil, set("*/10 * * * *", "/look around"), script.Say("set"), script.Say("looked"),
			script.Do("CronList", `{}`), script.Say("x"), script.Do("CronDelete", `{"id":"c1"}`), script.Say("gone")))
		defer shut(t, s)
		_, err := due(t, s, 24*time.Hour)
		require.ErrorIs(t, err, context.DeadlineExceeded, "nothing is scheduled")
		results, _ := take(t, s, session.Text("every ten minutes"))
		require.Contains(t, results[0], "Set as c1 (*/10 * * * *): next at ")

		began := time.Now()
		in, err := due(t, s, time.Hour)
		require.NoError(t, err)
		require.Zero(t, time.Now().Minute()%10)
		require.LessOrEqual(t, time.Since(began), 10*time.Minute)
		require.Equal(t, cron.Name, in.Owner)
		require.Equal(t, "The schedule c1 (*/10 * * * *) is due:\n\n/look around", in.Parts[0].Text)
		_, last := take(t, s, in)
		require.Equal(t, "looked", last, "what a schedule prompts is no command")

		_, err = due(t, s, 9*time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded, "it is due once")
		time.Sleep(45 * time.Minute)
		at := time.Now()
		_, err = due(t, s, time.Minute)
		require.NoError(t, err)
		require.Equal(t, at, time.Now(), "what was missed is due at once")
		_, err = due(t, s, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded, "and gives one prompt")

		results, _ = take(t, s, session.Text("which?"))
		require.Contains(t, results[0], "c1 (*/10 * * * *): next at")
		results, _ = take(t, s, session.Text("remove it"))
		require.Equal(t, "Removed: c1 (*/10 * * * *).", results[0])
		_, err = due(t, s, 24*time.Hour)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestWhoWaitsLearnsOfWhatIsSetMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, options(t, nil, set("@hourly", "look"), script.Say("set")))
		got := make(chan error, 1)
		go func() {
			_, err := s.Due(context.Background())
			got <- err
		}()
		synctest.Wait()
		take(t, s, session.Text("every hour"))
		require.NoError(t, <-got)

		require.NoError(t, s.Pause(cron.Name))
		_, err := due(t, s, 3*time.Hour)
		require.ErrorIs(t, err, context.DeadlineExceeded, "a paused owner prompts nothing")
		require.NoError(t, s.Unpause(cron.Name))
		_, err = due(t, s, time.Second)
		require.NoError(t, err)

		go func() {
			_, err := s.Due(context.Background())
			got <- err
		}()
		synctest.Wait()
		shut(t, s)
		require.ErrorIs(t, <-got, session.ErrClosed)
		_, err = s.Due(context.Background())
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

func TestSchedulesSurviveAResumeAndWhatWasMissedIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, &memory.Store{}, set("@daily", "one"), set("@daily", "two"), script.Do("CronDelete", `{"id":"c2"}`), script.Say("set"))
		s := start(t, o)
		take(t, s, session.Text("go"))
		shut(t, s)
		time.Sleep(100 * time.Hour)
		o.Models = script.New(set("@weekly", "three"), script.Say("set")).Models
		again, err := session.Resume(t.Context(), o, s.ID())
		require.NoError(t, err)
		defer shut(t, again)
		_, err = due(t, again, time.Hour)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		in, err := due(t, again, 24*time.Hour)
		require.NoError(t, err)
		require.Contains(t, in.Parts[0].Text, "one")
		results, _ := take(t, again, session.Text("go"))
		require.Contains(t, results[0], "Set as c3", "no id is given twice")
	})
}

func TestAProgramThatAwaitsNothingCanSetNothing(t *testing.T) {
	for schedules, there := range map[bool]bool{true: true, false: false} {
		o := options(t, nil)
		o.Schedules = schedules
		s := start(t, o)
		require.Equal(t, there, s.View().HasAny([]string{"CronCreate", "CronList", "CronDelete"}))
		if !there {
			require.Contains(t, s.View().Explain("CronCreate").Rule, "takes no prompts by the clock")
		}
		shut(t, s)
	}
}

// The bubble fails when a goroutine outlives it.
func TestNothingIsLeftRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, options(t, nil, set("* * * * *", "x"), script.Say("set")))
		take(t, s, session.Text("go"))
		_, err := due(t, s, time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		shut(t, s)
	})
}

func call(t *testing.T, inst *middleware.Instance, name, args string) *message.Result {
	t.Helper()
	band := toolview.Band{Owner: cron.Name, Set: cron.New(cron.Options{}).Deferred, State: inst.State}
	c, bad := toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{}, nil).Call("1", name, []byte(args))
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

func open(t *testing.T, env middleware.Env) *middleware.Instance {
	t.Helper()
	env.CanSchedule = true
	inst, err := cron.New(cron.Options{}).Open(t.Context(), env)
	require.NoError(t, err)
	return inst
}

func TestBadSchedulesAreRefusedWithTheGrammar(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 2, 27, 12, 0, 30, 0, time.UTC) }
	inst := open(t, middleware.Env{Now: now})
	for schedule, want := range map[string]string{
		"30 9 * * MON-FRI": "2026-03-02 09:30 UTC",
		"0 0 29 2 *":       "2028-02-29 00:00 UTC",
		"*/15 * * * *":     "2026-02-27 12:15 UTC",
		" @Daily ":         "2026-02-28 00:00 UTC",
	} {
		r := call(t, inst, "CronCreate", fmt.Sprintf(`{"schedule":%q,"prompt":"x"}`, schedule))
		require.Contains(t, r.Text(), want, schedule)
	}
	for _, schedule := range []string{
		"", "soon", "* * * *", "* * * * * *", "0 0 1 1 * 2030", "@everysecond", "@never", "61 * * * *", "*/0 * * * *", "0 0 31 2 *", "0 25 * * *", "a b c d e", "1-99 * * * *",
	} {
		r := call(t, inst, "CronCreate", fmt.Sprintf(`{"schedule":%q,"prompt":"x"}`, schedule))
		require.True(t, r.Error, "%s: %s", schedule, r.Text())
	}
	require.True(t, call(t, inst, "CronCreate", `{"schedule":"@daily","prompt":" "}`).Error)
	require.True(t, call(t, inst, "CronDelete", `{"id":"c99"}`).Error)
	for range 46 {
		require.False(t, call(t, inst, "CronCreate", `{"schedule":"@daily","prompt":"x"}`).Error)
	}
	require.Contains(t, call(t, inst, "CronCreate", `{"schedule":"@daily","prompt":"x"}`).Text(), "as many as may be")
}

// shelf is a store that holds one text.
type shelf string

func (s shelf) Load(context.Context, string) ([]byte, bool, error) { return []byte(s), true, nil }
func (s shelf) Save(context.Context, string, []byte) error         { return nil }

func TestAStoredScheduleThatCannotBeReadCostsItselfAlone(t *testing.T) {
	for stored, want := range map[string]string{
		`{`: "Nothing is scheduled.",
		`{"last":2,"entries":[{"id":"c1","schedule":"nonsense","prompt":"a"},{"id":"c2","schedule":"@daily","prompt":"b"}]}`: "c2 (@daily)",
	} {
		var told []string
		inst := open(t, middleware.Env{Store: shelf(stored), Notice: func(s string) { told = append(told, s) }})
		require.Len(t, told, 1)
		require.True(t, strings.HasPrefix(call(t, inst, "CronList", `{}`).Text(), want))
	}
}

func TestItClosesWhole(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: []middleware.Middleware{cron.New(cron.Options{})}})
}

func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"* * * * *", "@daily", "*/0 * * * *", "1,2,3-5/2 * L W 5#2", "? ? ? ? ?", "-1 * * * *", "\x00", "0 0 31 2 *"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		now := time.Date(2026, 2, 27, 12, 0, 30, 0, time.UTC)
		inst := open(t, middleware.Env{Now: func() time.Time { return now }})
		r := call(t, inst, "CronCreate", fmt.Sprintf(`{"schedule":%q,"prompt":"x"}`, s))
		prompt, next := inst.Due(now)
		require.Empty(t, prompt)
		require.Equal(t, r.Error, next.IsZero())
		if !r.Error {
			require.True(t, next.After(now))
			require.Zero(t, next.Second())
		}
	})
}
