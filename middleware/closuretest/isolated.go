package closuretest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Isolated reports what one session sees of another.
const Isolated = "isolated"

// The words that each session leaves wherever it can: in prompts and in the arguments of its Internal tools.
const (
	red   = "ClosuretestRed"
	blue  = "ClosuretestBlue"
	green = "ClosuretestGreen"
)

// isolated lets a session with everything open and one with the set closed take turns, first one after the other and
// then at once, and looks for the words of each in the other and in one that is created afterwards.
func isolated(ctx context.Context, t *trial) {
	var all []*subject
	begin := func(closed []string) *subject {
		root, err := t.folder()
		if err == nil {
			var s *subject
			if s, err = t.open(ctx, setup{closed: closed, root: root}); err == nil {
				all = append(all, s)
				return s
			}
		}
		t.failed("session", err)
		return nil
	}
	defer func() {
		for _, s := range all {
			if err := s.end(nil); err != nil {
				t.failed("session", err)
			}
		}
	}()
	first, second := begin(nil), begin(t.closed)
	if first == nil || second == nil {
		return
	}
	t.apart(first.led, second.led)
	t.use(second, blue)
	before := second.sent.requests()[0].prefix()
	t.use(first, red)
	t.use(second, blue)
	t.together(first, second)
	t.foreign("another session", t.use(second, blue), red)
	t.foreign("another session", t.use(first, red), blue)
	if third := begin(t.closed); third != nil {
		seen := t.use(third, green)
		t.foreign("an earlier session", seen, red)
		t.foreign("an earlier session", seen, blue)
	}
	for _, r := range second.sent.requests() {
		if now := r.prefix(); now != before {
			t.leak("", "system prompt and tools", "changed while another session ran: %s", difference(before, now))
		}
	}
}

// together runs both at once; the race detector sees what they share without a lock.
func (t *trial) together(a, b *subject) {
	var wg sync.WaitGroup
	for s, word := range map[*subject]string{a: red, b: blue} {
		wg.Go(func() {
			for range 3 {
				t.use(s, word)
			}
		})
	}
	wg.Wait()
}

// trace is a text that a session showed.
type trace struct{ owner, where, text string }

// patience bounds one call of an Internal tool.
const patience = 5 * time.Second

// use takes a turn, runs every Internal tool with the word in its arguments, and returns all that the session shows.
func (t *trial) use(s *subject, word string) []trace {
	if err := s.turn(word); err != nil {
		t.failed("turn", err)
	}
	var out []trace
	view := s.View()
	for e := range view.All() {
		if e.Tool.Run == nil || !e.Tool.Effects.Has(toolview.Internal) {
			continue
		}
		c, ok := sampleCall(view, e.Tool, word)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		r, err := s.Chain().Tool(ctx, c)
		cancel()
		if err != nil {
			r = message.Fail(err.Error())
		}
		out = append(out, trace{e.Owner, "result of " + e.Tool.Name, jsonOf(r)})
	}
	for e := range view.All() {
		out = append(out, trace{e.Owner, "tool " + e.Tool.Name, jsonOf(wire([]*toolview.Tool{e.Tool}))})
	}
	for _, f := range s.Surface() {
		out = append(out, trace{f.Owner, f.Surface + " " + f.Name, jsonOf(f)})
	}
	for _, r := range s.Base().Segments() {
		out = append(out, trace{r.Owner, "segment " + r.ID, r.Text})
	}
	sent := s.sent.requests()
	for _, r := range sent[max(0, len(sent)-1):] {
		out = append(out, trace{"", "system prompt", r.text()}, trace{"", "messages", jsonOf(r.messages)})
		for _, c := range r.tail {
			out = append(out, trace{c.Owner, "contribution", c.Text})
		}
	}
	return out
}

func (t *trial) foreign(whose string, seen []trace, word string) {
	for _, x := range seen {
		if strings.Contains(x.text, word) {
			t.leak(x.owner, x.where, "shows what %s was told", whose)
		}
	}
}

// apart checks that two sessions hold no mutable value together. A Set is immutable.
func (t *trial) apart(a, b *ledger) {
	of := map[string]*middleware.Instance{}
	a.read(func() {
		for _, in := range a.in {
			if in.parent == nil && in.raw != nil {
				of[in.owner] = in.raw
			}
		}
	})
	b.read(func() {
		for _, in := range b.in {
			other := of[in.owner]
			if in.parent != nil || in.raw == nil || other == nil {
				continue
			}
			for where, pair := range map[string][2]any{
				"Instance": {in.raw, other}, "State": {in.raw.State, other.State},
				"Tools": {in.raw.Tools, other.Tools}, "Deferred": {in.raw.Deferred, other.Deferred},
			} {
				if shared(pair[0], pair[1]) {
					t.leak(in.owner, where, "is the same %s in two sessions", fmt.Sprintf("%T", pair[0]))
				}
			}
		}
	})
}

// shared reports whether two values are one that could be changed through either.
func shared(a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	if _, constant := a.(*toolview.Set); constant {
		return false
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Pointer:
		// All values without a size may stand at one address.
		return x.Pointer() == y.Pointer() && x.Pointer() != 0 && x.Type().Elem().Size() > 0
	case reflect.Map, reflect.Chan:
		return x.Pointer() == y.Pointer() && x.Pointer() != 0
	case reflect.Slice:
		return x.Len() > 0 && y.Len() > 0 && x.Pointer() == y.Pointer()
	}
	return false
}
