// Package session runs sessions: it freezes what was asked for, opens the chain, takes turns, delegates to children and
// keeps the journal.
package session

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Options say what a session is made of. The zero value of a field is its default; Suite and Models are needed.
type Options struct {
	middleware.Blueprint
	// ID of the new session; "" = a random one.
	ID string
	// Models makes the model of a name. It is called once for a session and once for each child with a model of its
	// own; the ModelFunc may be shared by any number of sessions.
	Models func(name string) (middleware.ModelFunc, error)
	// Store keeps the journal; nil = nothing is kept and the session cannot be resumed.
	Store Store
	// Approver decides about calls that a gate asks about; nil = they are denied. Asker puts the model's questions to
	// a person; nil = there is nobody. Both are called by the session's turns and its children's, one at a time.
	Approver Approver
	Asker    Asker
	// Schedules says that the host awaits Session.Due and takes the prompts that it returns. Without it no schedule can be
	// set: a program of one turn would never come to it.
	Schedules bool
	// MaxSteps bounds the steps of a turn; 0 = 500. ChildSteps is the same for children; 0 = 50.
	MaxSteps, ChildSteps int
	// GateBudget bounds how long gates may take; 0 = middleware.GateBudget.
	GateBudget time.Duration
	// Now and NewID are the clock and the source of ids, for tests and replays.
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// Approver decides whether calls may run. It gets the asks of one step together and answers each, in order. An error
// denies them all. It returns when ctx ends.
type Approver interface {
	Approve(ctx context.Context, requests []Request) ([]Approval, error)
}

// Asker puts questions to a person. It returns when ctx ends.
type Asker interface {
	Ask(ctx context.Context, q toolview.Question) (toolview.Answer, error)
}

func (o Options) withDefaults() Options {
	if o.MaxSteps <= 0 {
		o.MaxSteps = 500
	}
	if o.ChildSteps <= 0 {
		o.ChildSteps = 50
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.ID == "" {
		o.ID = o.NewID()
	}
	return o
}
