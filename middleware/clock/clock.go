// Package clock tells the agent what time it is. The prompt holds only the date when the session began, so that its
// bytes never change.
package clock

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // machines without a zone database know the zones too

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "ClockMiddleware"

//go:embed Now.md
var nowDoc string

// Options are none.
type Options struct{}

// clock is the session's source of time.
type clock func() time.Time

type nowArgs struct {
	Zone string `json:"zone,omitempty" doc:"IANA time zone, e.g. Europe/Berlin or UTC; default: the machine's own" max:"64" alias:"timezone,tz"`
}

// New makes the middleware.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name: Name,
		Doc:  "Tells the current time in any zone.",
		Tools: toolview.MustSet(toolview.New(toolview.Tool{
			Decl: toolview.Decl{
				Name: "Now", Category: "clock",
				Aliases: []string{"now", "current_time", "get_current_time", "get_time"},
			},
			Title:   "Current time",
			Doc:     strings.TrimSpace(nowDoc),
			Effects: toolview.ReadOnly,
		}, now)),
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{State: clock(env.Now)}, nil
		},
	}
}

func now(_ context.Context, c clock, _ *toolview.Call, in nowArgs) (*message.Result, error) {
	at := c()
	if zone := strings.TrimSpace(in.Zone); zone != "" {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			return message.Fail(fmt.Sprintf("There is no time zone %q. Send an IANA name such as Europe/Berlin or America/New_York, or UTC, or leave `zone` out.", zone)), nil
		}
		at = at.In(loc)
	}
	where := at.Location().String()
	if abbreviation, _ := at.Zone(); where == "Local" {
		where = abbreviation
	}
	return message.Say(fmt.Sprintf("%s (%s, %s)", at.Format(time.RFC3339), at.Weekday(), where)), nil
}
