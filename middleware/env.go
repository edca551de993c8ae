package middleware

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"time"

	"github.com/metaharness/peri/toolview"
)

// Env is what a session lends a middleware. It reaches nothing of other middlewares and cannot make loop events.
type Env struct {
	// Session is the id of the session, Owner the middleware that Env was lent to.
	Session, Owner string
	// Agent says whose session it is; zero for a main session.
	Agent Agent
	// Project is where the session works.
	Project Project
	// Policy is the Middleware.Policy that was frozen when the session was created.
	Policy json.RawMessage
	// BuiltInSubagents is the policy key of the same name.
	BuiltInSubagents bool
	// Model is the name of the session's model.
	Model string
	// CanAsk and CanApprove say whether somebody is there to answer questions, and to approve calls.
	CanAsk, CanApprove bool
	// CanSchedule says whether the host awaits prompts that are due by the clock. Wake tells it that what Instance.Due
	// says has changed; it may be called from any goroutine.
	CanSchedule bool
	Wake        func()
	// Resumed says that the session existed before.
	Resumed bool
	// Store keeps values of this middleware with the session; other middlewares have others.
	Store Store
	// Now and NewID are the session's clock and source of ids.
	Now   func() time.Time
	NewID func() string
	// Notice tells whoever watches the session something; it never reaches a model.
	Notice func(text string)

	log     *slog.Logger
	brought []toolview.Extra // by the middlewares before this one
	taken   *[]string        // the kinds of extras that somebody asked for
}

// Agent identifies a child.
type Agent struct {
	Name string
	// Fork says that it is a fork of its parent and no named agent.
	Fork bool
	// Mode is the permission mode that its definition asks for; "" = its parent's.
	Mode string
	// Rules are the definition's ruleset: what it says to ask about is for the approval gate to ask.
	Rules []toolview.Ruling
	// Extras are what the definition brings; Env.Extras hands them out.
	Extras []toolview.Extra
	// Depth counts the agents above it.
	Depth int
}

// Project is a read-only look at the session's folder. FS refuses links that leave it.
type Project struct {
	Root string
	FS   fs.FS
}

// Store keeps small values by key. It is safe for concurrent use.
type Store interface {
	Load(ctx context.Context, key string) ([]byte, bool, error)
	Save(ctx context.Context, key string, value []byte) error
}

// Log is the session's logger with the owner's name on every line.
func (e *Env) Log() *slog.Logger {
	if e.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.log.With("middleware", e.Owner)
}

// WithLog is the same Env with another logger.
func (e Env) WithLog(l *slog.Logger) Env {
	e.log = l
	return e
}
