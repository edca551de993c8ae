package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/clock"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func call(t *testing.T, now func() time.Time, name, args string) *message.Result {
	t.Helper()
	m := clock.New(clock.Options{})
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), middleware.Env{Now: now})
	require.NoError(t, err)
	view := toolview.NewDeriver([]toolview.Band{{Owner: m.Name, Set: m.Tools, State: inst.State}}, nil, nil).View(&toolview.Policy{}, nil)
	c, bad := view.Call("1", name, []byte(args))
	if bad != nil {
		return bad
	}
	r, err := c.Tool().Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

func TestNowTellsTheSessionsTime(t *testing.T) {
	noon := func() time.Time { return time.Date(2026, 7, 4, 12, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		tool, args, want string
		fails            bool
	}{
		"no zone":      {"Now", `{}`, "2026-07-04T12:00:00Z (Saturday, UTC)", false},
		"no arguments": {"Now", ``, "2026-07-04T12:00:00Z (Saturday, UTC)", false},
		"zone":         {"Now", `{"zone":"Asia/Tokyo"}`, "2026-07-04T21:00:00+09:00 (Saturday, Asia/Tokyo)", false},
		"other names":  {"get_current_time", `{"timezone":" Europe/Berlin "}`, "2026-07-04T14:00:00+02:00 (Saturday, Europe/Berlin)", false},
		"next day":     {"Now", `{"zone":"Pacific/Kiritimati"}`, "2026-07-05T02:00:00+14:00 (Sunday, Pacific/Kiritimati)", false},
		"unknown zone": {"Now", `{"zone":"Berlin"}`, `There is no time zone "Berlin". Send an IANA name`, true},
		"path":         {"Now", `{"zone":"../../etc/passwd"}`, "There is no time zone", true},
		"wrong type":   {"Now", `{"zone":2}`, "`Now` was not run", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, noon, tc.tool, tc.args)
			require.Equal(t, tc.fails, r.Error, r.Text())
			require.Contains(t, r.Text(), tc.want)
		})
	}
}

func TestNowMovesWithTheClock(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	now := func() time.Time { at = at.Add(time.Second); return at }
	require.Contains(t, call(t, now, "Now", `{}`).Text(), "2027-01-01T00:00:00Z")
}

func TestNowOnlyReads(t *testing.T) {
	tool, ok := clock.New(clock.Options{}).Tools.Lookup("Now")
	require.True(t, ok)
	require.Equal(t, toolview.ReadOnly, tool.Effects)
	require.False(t, tool.Private)
}
