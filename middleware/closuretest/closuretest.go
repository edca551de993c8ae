// Package closuretest is the contract kit of middlewares: one call closes every middleware of a suite in turn, and on
// request every pair, and reports whatever stays behind. It runs scripted sessions in memory and calls no tool but its
// own and those that are marked toolview.Internal.
package closuretest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// Way is one call that names another tool.
type Way struct{ Tool, Args string }

// Allowance excuses leaks. Empty fields match everything, Text a part; Why is needed.
type Allowance struct{ Check, Closed, Owner, Where, Text, Why string }

func (a *Allowance) excuses(l *Leak) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return same(a.Check, l.Check) && same(a.Closed, l.Closed) && same(a.Owner, l.Owner) && same(a.Where, l.Where) &&
		strings.Contains(l.Text, a.Text)
}

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

// Explanation is a check and what it proves, in one line.
type Explanation struct{ Check, Text string }

// Checks lists the checks in the order in which they run.
func Checks() []Explanation {
	out := []Explanation{
		{Suite, "the middlewares form a suite"},
		{Opens, "every session of the kit opens, takes its turns and closes"},
	}
	for _, c := range checks() {
		out = append(out, Explanation{c.name, c.explain})
	}
	return append(out, Explanation{Allowances, "every allowance has a reason and excuses a leak"})
}

// Names of what is reported outside the checks proper.
const (
	Suite      = "suite"
	Opens      = "opens"
	Allowances = "allowances"
)

// when says for which closed sets a check runs.
type when uint8

const (
	open when = 1 << iota // everything is open
	one                   // one middleware is closed
	two                   // a pair is closed
)

// check is one named property of a suite.
type check struct {
	name, explain string
	when          when
	run           func(context.Context, *trial)
}

func checks() []check {
	return []check{
		{Declared, "what an open session shows was declared by its owner", open | one, declared},
		{Exact, "closing removes exactly what the closed own, and survivors keep their order", one | two, exact},
		{Silent, "no text of another owner names what is absent", open | one | two, silent},
		{NeverBuilt, "a closed middleware is not opened", one | two, neverBuilt},
		{Unreachable, "a closed tool or route is answered like a misspelt one, by every way", one, unreachable},
		{NoResurrection, "no override and no host switch brings a closed middleware back", open | one, noResurrection},
		{Inherited, "children gain nothing and lose no gate", open | one, inherited},
		{Tails, "a contribution is in the tail and nowhere else, and leaves with its owner", open | one, tails},
		{Isolated, "two sessions of one suite do not see each other", open | one, isolated},
		{Frozen, "digest and prompt outlive turns, a resume and changed files", open, frozen},
		{StableOrder, "the system prompt and the tools are the same bytes in every step, creation and fork", open | one, stableOrder},
		{Closes, "what was opened is closed once, in reverse, and leaves no goroutine", open, closes},
		{Answers, "a gate answers for every call", open, answers},
		{Arguments, "what a tool wrapper runs is what was judged", open, arguments},
	}
}

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
	l := Leak{Check: t.check, Closed: strings.Join(t.closed, "+"), Owner: owner, Where: where, Text: fmt.Sprintf(format, args...)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.leaks, l) {
		t.leaks = append(t.leaks, l)
	}
}

// failed reports that the kit could not look.
func (t *trial) failed(what string, err error) {
	was := t.check
	t.check = Opens
	t.leak("", what, "%v", err)
	t.check = was
}

func (t *trial) kind() when { return []when{open, one, two}[len(t.closed)] }

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
		if c.when&t.kind() == 0 {
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

// Run looks at a suite and fails t for every leak, in subtests named <closed>/<check>.
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
	var found ledgerOfLeaks
	t.Run("closed", func(t *testing.T) {
		for _, closed := range l.sets() {
			name := strings.Join(closed, "+")
			if name == "" {
				name = "nothing"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l.trial(closed).each(t.Context(), func(c check, leaks []Leak) {
					t.Run(c.name, func(t *testing.T) {
						for _, leak := range found.excuse(cfg.Allowed, leaks) {
							t.Error(leak)
						}
					})
				})
			})
		}
	})
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
	var found ledgerOfLeaks
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

// ledgerOfLeaks remembers which allowances excused something.
type ledgerOfLeaks struct {
	mu   sync.Mutex
	used map[int]bool
}

// excuse drops the leaks that an allowance with a reason meets and returns the others, sorted.
func (f *ledgerOfLeaks) excuse(allowed []Allowance, leaks []Leak) []Leak {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Leak
	for _, l := range leaks {
		i := slices.IndexFunc(allowed, func(a Allowance) bool { return a.Why != "" && a.excuses(&l) })
		if i < 0 {
			out = append(out, l)
			continue
		}
		if f.used == nil {
			f.used = map[int]bool{}
		}
		f.used[i] = true
	}
	slices.SortStableFunc(out, func(a, b Leak) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Text, b.Text))
	})
	return out
}

func (f *ledgerOfLeaks) unused(allowed []Allowance) []Leak {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Leak
	for i, a := range allowed {
		switch {
		case a.Why == "":
			out = append(out, Leak{Check: Allowances, Where: fmt.Sprintf("Allowed[%d]", i), Text: "has no Why"})
		case !f.used[i]:
			out = append(out, Leak{Check: Allowances, Where: fmt.Sprintf("Allowed[%d]", i), Text: "excuses no leak: remove it"})
		}
	}
	return out
}
