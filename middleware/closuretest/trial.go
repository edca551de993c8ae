package closuretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// trial is one closed set under examination.
type trial struct {
	*lab
	closed []string
	// seen is a session with the set closed, base one with nothing closed.
	seen, base *look

	check string
	mu    sync.Mutex
	leaks []Leak
}

func (t *trial) leak(owner, where, format string, args ...any) {
	t.add(Leak{Check: t.check, Owner: owner, Where: where, Text: fmt.Sprintf(format, args...)})
}

// failed reports that the kit could not look.
func (t *trial) failed(what string, err error) {
	t.add(Leak{Check: Opens, Where: what, Text: err.Error()})
}

// add keeps one of each leak; it is safe for concurrent use.
func (t *trial) add(l Leak) {
	l.Closed = strings.Join(t.closed, "+")
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.leaks, l) {
		t.leaks = append(t.leaks, l)
	}
}

func (t *trial) kind() when { return []when{open, one, two}[len(t.closed)] }

// runs reports whether a check fits the closed set, and is about a project's settings if those are looked at.
func (t *trial) runs(c *check) bool {
	if t.own == nil {
		return c.when&t.kind() != 0
	}
	return c.projects && (c.when&t.kind() != 0 || len(t.closed) == 0 && c.when&one != 0)
}

// each runs the checks that fit the closed set; report is called behind each with what it found.
func (t *trial) each(ctx context.Context, report func(check, []Leak)) {
	if t.seen == nil {
		turns := t.turns()
		if len(t.closed) > 1 {
			turns = 1
		}
		seen, err := t.look(ctx, turns, t.closed...)
		if err != nil {
			t.failed("session", err)
			report(check{name: Opens}, t.take())
			return
		}
		t.seen = seen
	}
	for _, c := range checks() {
		if !t.runs(&c) {
			continue
		}
		t.check = c.name
		c.run(ctx, t)
		report(c, t.take())
	}
}

func (t *trial) take() []Leak {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.leaks
	t.leaks = nil
	return out
}
