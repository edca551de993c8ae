package closuretest

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// ledger is what the watched middlewares of one session, children included, did. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	events []happening
	in     []instance
	asked  []asked
	tails  []prompt.Contribution
	moved  []string // owners of tool wrappers that ran another call than the judged one
}

// happening is an Open, Child or Close.
type happening struct {
	what, owner string
	n           int // the instance
}

// instance is what Open or Child returned, before it was watched.
type instance struct {
	owner, session string

	raw    *middleware.Instance
	parent *middleware.Instance // of a child's
}

// asked is one answer of a gate.
type asked struct {
	owner, tool, agent string
	verdict            middleware.Verdict
	panicked           bool
}

type ledgerKey struct{}

func ledgerOf(ctx context.Context, or *ledger) *ledger {
	if l, ok := ctx.Value(ledgerKey{}).(*ledger); ok {
		return l
	}
	return or
}

// read gives f the ledger while nobody writes to it.
func (l *ledger) read(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// opened counts how often a middleware's Open or Child ran.
func (l *ledger) opened(owner string) (n int) {
	l.read(func() {
		for _, e := range l.events {
			if e.owner == owner && e.what != "close" {
				n++
			}
		}
	})
	return n
}

// watched is the same middleware with everything that it does in a ledger.
func watched(m middleware.Middleware) middleware.Middleware {
	start := m.Open
	if start == nil {
		return m
	}
	m.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		led := ledgerOf(ctx, &ledger{})
		return led.start(ctx, "open", nil, env, start)
	}
	return m
}

type opening = func(context.Context, middleware.Env) (*middleware.Instance, error)

// start runs an Open or Child and watches what it returns. Goroutines that it starts carry its owner's name.
func (l *ledger) start(ctx context.Context, what string, parent *middleware.Instance, env middleware.Env, open opening) (in *middleware.Instance, err error) {
	n := 0
	l.read(func() {
		n = len(l.in)
		l.in = append(l.in, instance{owner: env.Owner, session: env.Session, parent: parent})
		l.events = append(l.events, happening{what, env.Owner, n})
	})
	pprof.Do(ctx, pprof.Labels(ownerLabel, env.Owner), func(context.Context) { in, err = open(ctx, env) })
	if in == nil {
		return nil, err
	}
	l.read(func() { l.in[n].raw = in })
	return l.watch(env.Owner, n, in), err
}

// watch is a copy of an instance whose hooks are recorded. What is nil stays nil.
func (l *ledger) watch(owner string, n int, raw *middleware.Instance) *middleware.Instance {
	in := *raw
	if child := raw.Child; child != nil {
		in.Child = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return ledgerOf(ctx, l).start(ctx, "child", raw, env, child)
		}
	}
	in.Close = func(ctx context.Context) error {
		l.read(func() { l.events = append(l.events, happening{"close", owner, n}) })
		if raw.Close == nil {
			return nil
		}
		return raw.Close(ctx)
	}
	if contribute := raw.Contribute; contribute != nil {
		in.Contribute = func(ctx context.Context, s *middleware.Step, t *prompt.Tail) error {
			before := len(t.Parts())
			err := contribute(ctx, s, t)
			if err == nil {
				added := t.Parts()[before:]
				l.read(func() { l.tails = append(l.tails, added...) })
			}
			return err
		}
	}
	if gate := raw.Hooks.Gate; gate != nil {
		in.Hooks.Gate = l.gate(owner, gate)
	}
	if wrap := raw.Hooks.WrapTool; wrap != nil {
		in.Hooks.WrapTool = l.wrapTool(owner, wrap)
	}
	return &in
}

type gate = func(context.Context, []*toolview.Call, []middleware.Verdict)

func (l *ledger) gate(owner string, judge gate) gate {
	return func(ctx context.Context, calls []*toolview.Call, out []middleware.Verdict) {
		panicked := true
		defer func() {
			l.read(func() {
				for i, c := range calls {
					l.asked = append(l.asked, asked{owner, c.Name(), c.Agent(), out[i], panicked})
				}
			})
		}()
		judge(ctx, calls, out)
		panicked = false
	}
}

type wrapTool = func(middleware.ToolFunc) middleware.ToolFunc

type wrappedCall struct{}

// wrapTool notes a wrapper that hands another call on than it was given.
func (l *ledger) wrapTool(owner string, wrap wrapTool) wrapTool {
	return func(next middleware.ToolFunc) middleware.ToolFunc {
		key := &wrappedCall{}
		inner := wrap(func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
			if given, ok := ctx.Value(key).(*toolview.Call); !ok || given != c {
				l.read(func() {
					if !slices.Contains(l.moved, owner) {
						l.moved = append(l.moved, owner)
					}
				})
			}
			return next(ctx, c)
		})
		if inner == nil {
			return nil
		}
		return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
			return inner(context.WithValue(ctx, key, c), c)
		}
	}
}
