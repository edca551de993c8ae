// Package closuretest is the contract kit of middlewares: one call closes every middleware of a suite in turn, and on
// request every pair, and reports whatever stays behind. It runs scripted sessions in memory and calls no tool but its
// own and those that are marked toolview.Internal.
package closuretest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/metaharness/peri/middleware"
)

// Config says what is looked at. Middlewares alone is needed.
type Config struct {
	// Middlewares is the suite in chain order. The values are shared by all sessions of the kit, as a program's are.
	Middlewares []middleware.Middleware
	// Root is a folder whose copies the sessions work in; "" = empty folders.
	Root string
	// Pairs closes every pair too.
	Pairs bool
	// Only names the middlewares that are closed in turn; nil = all. With everything open is always looked at.
	Only []string
	// Turns is how many turns each session takes; 0 = 12. The sessions of pairs take one.
	Turns int
	// Ways are further tools by which a model may name a tool, such as one that runs code: it returns the arguments
	// with which each names the given tool. Finders and forwarders are found by themselves.
	Ways func(tool string) []Way
	// Allowed are the known exceptions, each with its reason. One that meets nothing is reported.
	Allowed []Allowance
}

// Way is one call that names another tool: the tool that is called, and its arguments, a JSON object.
type Way struct{ Tool, Args string }

// Leak is one thing that is where it should not be, or is not where it should.
type Leak struct {
	// Check is the name of the check that found it.
	Check string
	// Closed are the middlewares that were closed, joined by "+"; "" = everything was open.
	Closed string
	// Owner is the middleware that the thing hangs off; "" = unknown.
	Owner string
	// Where is the surface, text or hook, Text what is wrong with it.
	Where, Text string
}

// String is the leak as one line.
func (l Leak) String() string {
	closed := l.Closed
	if closed == "" {
		closed = "nothing"
	}
	s := fmt.Sprintf("%s: with %s closed: ", l.Check, closed)
	if l.Owner != "" {
		s += l.Owner + ": "
	}
	if l.Where != "" {
		s += l.Where + ": "
	}
	return s + l.Text
}

// Run looks at a suite and fails t for every leak, in subtests named closed/<closed>/<check>.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	l, first, err := begin(t.Context(), cfg)
	if l != nil {
		t.Cleanup(func() { os.RemoveAll(l.dir) })
	}
	for _, leak := range first {
		t.Error(leak)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(first) > 0 {
		return
	}
	var found excuses
	var looked atomic.Int64
	sets := l.sets()
	t.Run("closed", func(t *testing.T) {
		for _, closed := range sets {
			name := strings.Join(closed, "+")
			if name == "" {
				name = "nothing"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l.trial(closed).each(t.Context(), func(c check, leaks []Leak) {
					leaks = found.excuse(cfg.Allowed, leaks)
					t.Run(c.name, func(t *testing.T) {
						for _, leak := range leaks {
							t.Error(leak)
						}
					})
				})
				looked.Add(1)
			})
		}
	})
	if looked.Load() < int64(len(sets)) {
		return // -run left some out, which an allowance may be for
	}
	for _, leak := range found.unused(cfg.Allowed) {
		t.Error(leak)
	}
}

// Check looks at a suite and returns every leak, in a fixed order. The error says why it could not be looked at.
func Check(ctx context.Context, cfg Config) ([]Leak, error) {
	l, out, err := begin(ctx, cfg)
	if l != nil {
		defer os.RemoveAll(l.dir)
	}
	if err != nil || len(out) > 0 {
		return out, err
	}
	sets := l.sets()
	leaks := make([][]Leak, len(sets))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				l.trial(sets[i]).each(ctx, func(_ check, found []Leak) { leaks[i] = append(leaks[i], found...) })
			}
		})
	}
	for i := range sets {
		next <- i
	}
	close(next)
	wg.Wait()
	var found excuses
	for _, some := range leaks {
		out = append(out, found.excuse(cfg.Allowed, some)...)
	}
	return append(out, found.unused(cfg.Allowed)...), ctx.Err()
}

// sets are the closed sets to look at: nothing, each middleware, and each pair.
func (l *lab) sets() [][]string {
	names := l.cfg.Only
	if names == nil {
		for _, m := range l.cfg.Middlewares {
			names = append(names, m.Name)
		}
	}
	out := [][]string{nil}
	for _, n := range names {
		out = append(out, []string{n})
	}
	if l.cfg.Pairs {
		for i := range names {
			for _, n := range names[i+1:] {
				out = append(out, []string{names[i], n})
			}
		}
	}
	return out
}

func (l *lab) trial(closed []string) *trial {
	t := &trial{lab: l, closed: closed, base: l.base}
	if len(closed) == 0 {
		t.seen = l.base
	}
	return t
}
