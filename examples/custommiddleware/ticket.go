// Custommiddleware is a capability of one's own in one file: a tracker of tickets with a text in the prompt, two tools,
// a slash command and a reminder. Close TicketMiddleware in the meta map and all of it is gone, everywhere; the test
// beside this file proves it.
package custommiddleware

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "TicketMiddleware"

// desk is the state of one session. Tools reach it as their second argument.
type desk struct {
	mu   sync.Mutex
	open []string
}

type opening struct {
	Title string `json:"title" doc:"what is wrong, in one line"`
}

type nothing struct{}

// New is the middleware. Its sets are built here, once, and shared by every session.
func New() middleware.Middleware {
	route := middleware.RouteDecl{Name: "tickets", Doc: "list the open tickets"}
	return middleware.Middleware{
		Name: Name,
		Doc:  "opens and lists tickets",
		Segments: []prompt.Segment{{
			ID: "tickets", Zone: prompt.Live, Order: 200, Needs: []string{"TicketOpen"},
			Text: "# Tickets\n\nWhen you find a defect that is not yours to mend now, open a ticket with `TicketOpen`.",
		}},
		Tools: toolview.MustSet(toolview.New(toolview.Tool{
			Decl: toolview.Decl{Name: "TicketOpen", Family: "ticket"}, Title: "Open a ticket",
			Doc: "Opens a ticket and returns its number.", Effects: toolview.Internal,
		}, func(_ context.Context, d *desk, _ *toolview.Call, in opening) (*message.Result, error) {
			return message.Say(fmt.Sprintf("opened ticket %d", d.add(in.Title))), nil
		})),
		Deferred: toolview.MustSet(toolview.New(toolview.Tool{
			Decl: toolview.Decl{Name: "TicketList", Family: "ticket"}, Title: "List tickets",
			Doc: "Lists the open tickets of this session.", Effects: toolview.ReadOnly,
		}, func(_ context.Context, d *desk, _ *toolview.Call, _ nothing) (*message.Result, error) {
			return message.Say(d.list()), nil
		})),
		Routes: []middleware.RouteDecl{route},
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			d := &desk{}
			return &middleware.Instance{
				State: d,
				Routes: []middleware.Route{{RouteDecl: route, Run: func(context.Context, string) (middleware.RouteReply, error) {
					return middleware.RouteReply{Text: d.list()}, nil
				}}},
				Contribute: func(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error {
					if n := d.count(); n > 0 {
						tail.Add(fmt.Sprintf("%d tickets are open.", n))
					}
					return nil
				},
			}, nil
		},
	}
}

func (d *desk) add(title string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, title)
	return len(d.open)
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

func (d *desk) list() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == 0 {
		return "no open tickets"
	}
	return strings.Join(d.open, "\n")
}
