package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// calls are what a server is doing for this session. The zero value is nothing.
type calls struct {
	mu   sync.Mutex
	last int
	busy []*errand // oldest first
}

// errand is one request that a turn waits for.
type errand struct {
	ctx   context.Context
	token string
	call  *toolview.Call // nil: a prompt, which is no call
	alive func()         // the server gave a sign of life
	said  time.Time
}

// errQuiet is why a request was given up.
var errQuiet = errors.New("the server said nothing for too long")

// begin makes a request known, so that what the server says and asks meanwhile reaches who waits. The returned context ends
// when the server is quiet for longer than it may be.
func (s *server) begin(ctx context.Context, c *toolview.Call) (context.Context, *errand, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	quiet := time.AfterFunc(s.Timeout, func() { cancel(fmt.Errorf("%w: %v", errQuiet, s.Timeout)) })
	e := &errand{ctx: ctx, call: c, alive: func() { quiet.Reset(s.Timeout) }}
	s.calls.mu.Lock()
	s.calls.last++
	e.token = "peri-" + strconv.Itoa(s.calls.last)
	s.calls.busy = append(s.calls.busy, e)
	s.calls.mu.Unlock()
	return ctx, e, func() {
		quiet.Stop()
		cancel(nil)
		s.calls.mu.Lock()
		defer s.calls.mu.Unlock()
		for i, b := range s.calls.busy {
			if b == e {
				s.calls.busy = append(s.calls.busy[:i], s.calls.busy[i+1:]...)
				break
			}
		}
	}
}

// chatty is how often a call may say how far it is.
const chatty = 200 * time.Millisecond

// progress passes on how far a call is. What comes more often than people can read is dropped.
func (s *server) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	s.calls.mu.Lock()
	var e *errand
	for _, b := range s.calls.busy {
		if b.token == token {
			e = b
		}
	}
	now := time.Now()
	if e == nil || e.ctx.Err() != nil || now.Sub(e.said) < chatty {
		s.calls.mu.Unlock()
		return
	}
	e.said = now
	s.calls.mu.Unlock()
	e.alive()
	text := clean(p.Message)
	if len(text) > 300 {
		text = text[:300]
	}
	if p.Total > 0 {
		text = fmt.Sprintf("%g of %g %s", p.Progress, p.Total, text)
	} else if text == "" {
		text = fmt.Sprintf("%g", p.Progress)
	}
	if e.call != nil {
		e.call.Progress(e.ctx, text)
	}
}

// waiting is the request that the server most likely asks about: the one that began last.
func (s *server) waiting() (*errand, bool) {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	if n := len(s.calls.busy); n > 0 {
		return s.calls.busy[n-1], true
	}
	return nil, false
}

// caller runs one tool of the server.
func (s *server) caller(tool string) func(context.Context, *toolview.Call) (*message.Result, error) {
	return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
		return s.asked(ctx, c, func(ctx context.Context, conn *conn, e *errand) (*message.Result, error) {
			args := c.Args()
			if len(args) == 0 {
				args = json.RawMessage("{}")
			}
			p := &sdk.CallToolParams{Name: tool, Arguments: args}
			p.SetProgressToken(e.token)
			r, err := conn.cs.CallTool(ctx, p)
			if err != nil {
				return nil, err
			}
			return s.result(c, r), nil
		})
	}
}

// asked makes one request for a call. What went wrong is a result that the model reads.
func (s *server) asked(ctx context.Context, c *toolview.Call, f func(context.Context, *conn, *errand) (*message.Result, error)) (*message.Result, error) {
	conn, err := s.connected(ctx)
	if err != nil {
		return message.Fail(fmt.Sprintf("`%s` was not run: %v.", c.Name(), err)), nil
	}
	inner, e, done := s.begin(ctx, c)
	defer done()
	r, err := f(inner, conn, e)
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return message.Fail(fmt.Sprintf("`%s` was cancelled.", c.Name())), nil
	case inner.Err() != nil:
		err = context.Cause(inner)
	case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, io.EOF):
		err = fmt.Errorf("the server ended, or the connection to it: what it did of the call is not known (%w)", err)
	}
	return message.Fail(fmt.Sprintf("`%s` failed at the server %s: %s", c.Name(), s.Name, clipped(s.told(err), 4000))), nil
}

func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
