package closuretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metaharness/peri/middleware"
)

// Closes reports what outlives its session.
const Closes = "closes"

// The labels that the goroutines of a session carry, and those that an Open started.
const (
	goroutineLabel = "closuretest"
	ownerLabel     = "closuretest-owner"
)

func closes(ctx context.Context, t *trial) {
	t.quiet(ctx, "session", func(ctx context.Context) { t.whole(ctx) })
	t.quiet(ctx, "failed creation", func(ctx context.Context) {
		for i := range t.list {
			t.broken(ctx, i)
		}
	})
}

// whole takes a session with children through its life.
func (t *trial) whole(ctx context.Context) {
	s, err := t.open(ctx, setup{})
	if err != nil {
		t.failed("session", err)
		return
	}
	err = s.turn(prompted)
	if _, e := s.Fork(s.ctx); e != nil {
		err = errors.Join(err, e)
	}
	if _, e := s.Agent(s.ctx, agentFree); e != nil {
		err = errors.Join(err, e)
	}
	if err = s.end(err); err != nil {
		t.failed("session", err)
	}
	t.reversed(s.led)
	var all []instance
	s.led.read(func() { all = append(all, s.led.in...) })
	for _, in := range all {
		if in.raw == nil || in.raw.Close == nil {
			continue
		}
		if err := in.raw.Close(ctx); err != nil {
			t.leak(in.owner, "Close", "fails when it is called again: %v", err)
		}
	}
}

// errPlanted is why the kit's own Open fails.
var errPlanted = errors.New("closuretest: this Open is to fail")

// broken creates a session in which the Open before the i-th middleware fails.
func (t *trial) broken(ctx context.Context, i int) {
	bad := middleware.Middleware{
		Name: "ClosuretestFails", Doc: "Fails.",
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) { return nil, errPlanted },
	}
	suite, err := middleware.NewSuite(slices.Insert(slices.Clone(t.list), i, bad)...)
	if err != nil {
		t.failed("suite", err)
		return
	}
	s, err := t.open(ctx, setup{suite: suite})
	if !errors.Is(err, errPlanted) {
		t.leak("", "failed creation", "ended with %v", err)
		return
	}
	t.reversed(s.led)
}

// reversed checks that each instance was closed once, and those of one session in reverse.
func (t *trial) reversed(led *ledger) {
	led.read(func() {
		open := map[string][]int{} // by session
		for _, e := range led.events {
			in := &led.in[e.n]
			if e.what != "close" {
				if in.raw != nil {
					open[in.session] = append(open[in.session], e.n)
				}
				continue
			}
			stack := open[in.session]
			switch at := slices.Index(stack, e.n); {
			case at < 0:
				t.leak(e.owner, "Close", "ran more than once")
			case at != len(stack)-1:
				t.leak(e.owner, "Close", "ran before that of %s, which was opened later", led.in[stack[len(stack)-1]].owner)
				fallthrough
			default:
				open[in.session] = slices.Delete(stack, at, at+1)
			}
		}
		for _, stack := range open {
			for _, n := range stack {
				t.leak(led.in[n].owner, "Close", "did not run")
			}
		}
	})
}

// settling bounds how long goroutines may take to notice that their session is closed.
const settling = 2 * time.Second

// quiet runs f and reports the goroutines that were started in it and stay.
func (t *trial) quiet(ctx context.Context, what string, f func(context.Context)) {
	// Unique in the process: other runs of the kit may be at work.
	id := t.dir + "#" + strconv.Itoa(int(t.copies.Add(1)))
	pprof.Do(ctx, pprof.Labels(goroutineLabel, id), f)
	deadline := time.Now().Add(settling)
	var left []stray
	for left = strays(id); len(left) > 0 && time.Now().Before(deadline); left = strays(id) {
		for range 100 {
			runtime.Gosched()
		}
	}
	for _, g := range left {
		t.leak(g.owner, what, "leaves a goroutine behind in %s", g.at)
	}
}

// stray is a goroutine that outlived its session.
type stray struct{ owner, at string }

var labelled = regexp.MustCompile(`"` + ownerLabel + `":"([^"]*)"`)

// strays reads the goroutine profile: labels are inherited, so that other sessions and tests do not count.
func strays(id string) []stray {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []stray{{at: err.Error()}}
	}
	var out []stray
	for record := range strings.SplitSeq(b.String(), "\n\n") {
		if !strings.Contains(record, fmt.Sprintf("%q:%q", goroutineLabel, id)) {
			continue
		}
		g := stray{at: "an unknown function"}
		if m := labelled.FindStringSubmatch(record); m != nil {
			g.owner = m[1]
		}
		for line := range strings.SplitSeq(record, "\n") {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "#" {
				g.at, _, _ = strings.Cut(f[2], "+")
			}
		}
		out = append(out, g)
	}
	return out
}
