package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metaharness/peri/toolview"
)

// GateBudget is how long the gates of a chain may take together before they have denied.
const GateBudget = 5 * time.Second

// Judge asks a chain's gates and rewriters about calls. Gates run on goroutines of its own, so that one that hangs costs
// a denial and not the turn. It is safe for concurrent use and lives for one turn.
type Judge struct {
	chain  *Chain
	budget time.Duration

	mu     sync.Mutex
	idle   []*bench
	closed bool
}

// NewJudge makes a judge; budget 0 means GateBudget.
func (c *Chain) NewJudge(budget time.Duration) *Judge {
	if budget <= 0 {
		budget = GateBudget
	}
	return &Judge{chain: c, budget: budget}
}

// Close lets the judge's goroutines end. A hanging gate's ends when the gate returns.
func (j *Judge) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.idle {
		close(b.jobs)
	}
	j.idle, j.closed = nil, true
}

// Calls judges calls together: all gates on the calls as they came, the rewriters in order, and all gates again on what
// changed. It puts rewritten calls into calls and the joined verdicts into out, which has the same length.
func (j *Judge) Calls(ctx context.Context, calls []*toolview.Call, out []Verdict) {
	j.gates(ctx, calls, out)
	if len(j.chain.hooks.rewrites) > 0 {
		j.rewritten(ctx, calls, out)
	}
	if len(j.chain.hooks.asked) == 0 {
		return
	}
	for i := range calls {
		for k := range j.chain.hooks.asked {
			if out[i].Decision == Ask {
				j.asked(ctx, &j.chain.hooks.asked[k], &calls[i], &out[i])
			}
		}
	}
}

// asked lets one hook answer in the place of the person who would be asked.
func (j *Judge) asked(ctx context.Context, h *owned[func(context.Context, *toolview.Call, Verdict) Verdict], call **toolview.Call, out *Verdict) {
	var v Verdict
	err := contain(h.owner, "asked", func() error { v = h.f(ctx, *call, *out); return nil })
	j.chain.report(err)
	if v = silence(h.owner, v); err != nil {
		v = Verdict{Reason: h.owner + " failed to judge the call"}
	}
	if v.Decision != Deny && v.Args != nil {
		changed, bad := (*call).With(v.Args)
		if bad != nil {
			*out = Verdict{Reason: h.owner + " rewrote the call: " + bad.Text()}
			return
		}
		fresh := []Verdict{{}}
		j.gates(ctx, []*toolview.Call{changed}, fresh)
		// Somebody asked about the call as it was: no gate's allow of the new one takes that back.
		*call, out.Grants = changed, fresh[0].Grants
		if fresh[0].Decision <= Ask {
			*out = join(*out, fresh[0])
		}
	}
	switch {
	case v.Decision == Deny:
		v.Args = nil
		*out = v
	case v.Decision == Allow && out.Decision == Ask && out.Mode:
		out.Decision = Allow
	}
}

// rewritten lets the rewriters see the calls, and the gates those that changed.
func (j *Judge) rewritten(ctx context.Context, calls []*toolview.Call, out []Verdict) {
	before := append([]*toolview.Call(nil), calls...)
	said := make([]Verdict, len(calls))
	for i := range said {
		said[i] = Verdict{Decision: Pass}
	}
	for i := range j.chain.hooks.rewrites {
		j.rewrite(ctx, &j.chain.hooks.rewrites[i], calls, out, said)
	}
	j.again(ctx, before, calls, out)
	for i := range calls {
		// A rewriter's allow satisfies an ask that a mode alone made, and nothing else; its own ask or deny joins.
		if out[i].Decision == Ask && out[i].Mode && said[i].Decision == Allow {
			out[i].Decision = Allow
		}
		if said[i].Decision < Allow {
			out[i] = join(out[i], said[i])
		}
	}
}

// again judges the calls that a rewriter changed a second time.
func (j *Judge) again(ctx context.Context, before, calls []*toolview.Call, out []Verdict) {
	var at []int
	var changed []*toolview.Call
	for i := range calls {
		if calls[i] != before[i] {
			at, changed = append(at, i), append(changed, calls[i])
		}
	}
	if len(at) == 0 {
		return
	}
	fresh := make([]Verdict, len(at))
	j.gates(ctx, changed, fresh)
	for k, i := range at {
		out[i] = fresh[k]
	}
}

// rewrite lets one rewriter see the calls that nothing has denied yet.
func (j *Judge) rewrite(ctx context.Context, h *owned[func(context.Context, []*toolview.Call, []Verdict)], calls []*toolview.Call, out, said []Verdict) {
	var at []int
	var seen []*toolview.Call
	for i := range calls {
		if out[i].Decision != Deny && said[i].Decision != Deny {
			at, seen = append(at, i), append(seen, calls[i])
		}
	}
	if len(seen) == 0 {
		return
	}
	got := make([]Verdict, len(seen))
	err := contain(h.owner, "rewrite", func() error { h.f(ctx, seen, got); return nil })
	j.chain.report(err)
	for k, i := range at {
		v := got[k]
		if err != nil {
			v = Verdict{Reason: h.owner + " failed to judge the call"}
		}
		if v.Decision != Deny && v.Args != nil {
			call, bad := calls[i].With(v.Args)
			if bad != nil {
				v = Verdict{Reason: h.owner + " rewrote the call: " + bad.Text()}
			} else {
				calls[i] = call
				if said[i].Decision == Allow {
					// What an earlier rewriter allowed was another call.
					said[i] = Verdict{Decision: Pass}
				}
			}
		}
		v.Args = nil
		said[i] = strictest(said[i], silence(h.owner, v))
	}
}

// strictest joins what rewriters say: deny, ask, allow, pass.
func strictest(a, b Verdict) Verdict {
	if b.Decision < a.Decision {
		return b
	}
	return a
}

// gates asks every gate about every call.
func (j *Judge) gates(ctx context.Context, calls []*toolview.Call, out []Verdict) {
	if len(j.chain.hooks.gates) == 0 {
		for i := range out {
			out[i] = Verdict{Decision: Pass}
		}
		return
	}
	b := j.bench()
	b.ctx, b.given = ctx, append(b.given[:0], calls...)
	b.out = append(b.out[:0], out...)
	b.jobs <- struct{}{}
	b.timer.Reset(j.budget)
	select {
	case <-b.done:
		b.timer.Stop()
		copy(out, b.out)
		j.rest(b)
	case <-b.timer.C:
		j.abandon(b, out, fmt.Sprintf("gave no verdict within %s", j.budget))
	case <-ctx.Done():
		b.timer.Stop()
		j.abandon(b, out, "gave no verdict before the turn ended")
	}
}

// rest keeps a bench for the next calls.
func (j *Judge) rest(b *bench) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		close(b.jobs)
		return
	}
	j.idle = append(j.idle, b)
}

// abandon leaves a bench to the late gate, with all that it may still write to, and denies.
func (j *Judge) abandon(b *bench, out []Verdict, why string) {
	close(b.jobs)
	late := j.chain.hooks.gates[b.at.Load()].owner
	j.chain.report(Fault{late, "gate", errors.New(why)})
	for i := range out {
		out[i] = Verdict{Reason: late + " " + why}
	}
}

// bench is one goroutine on which gates run, with its own buffers.
type bench struct {
	jobs    chan struct{}
	done    chan struct{}
	timer   *time.Timer
	at      atomic.Int32
	ctx     context.Context // of the one job at hand
	given   []*toolview.Call
	out     []Verdict
	calls   []*toolview.Call // what one gate sees: it may do with the slice what it likes
	scratch []Verdict
}

func (j *Judge) bench() *bench {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.idle); n > 0 {
		b := j.idle[n-1]
		j.idle = j.idle[:n-1]
		return b
	}
	b := &bench{jobs: make(chan struct{}, 1), done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	b.timer.Stop()
	go func() {
		for range b.jobs {
			b.run(j.chain)
			b.done <- struct{}{}
		}
	}()
	return b
}

func (b *bench) run(c *Chain) {
	for i := range b.out {
		b.out[i] = Verdict{Decision: Pass}
	}
	for g := range c.hooks.gates {
		b.at.Store(int32(g))
		b.calls = append(b.calls[:0], b.given...)
		b.scratch = slices.Grow(b.scratch[:0], len(b.given))[:len(b.given)]
		clear(b.scratch)
		h := &c.hooks.gates[g]
		if !b.ask(c, h) {
			for i := range b.scratch {
				b.scratch[i] = Verdict{Reason: h.owner + " failed to judge the call"}
			}
		}
		for i := range b.out {
			b.out[i] = join(b.out[i], silence(h.owner, b.scratch[i]))
		}
	}
}

// ask runs one gate, contained.
func (b *bench) ask(c *Chain, h *owned[func(context.Context, []*toolview.Call, []Verdict)]) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			c.report(Fault{h.owner, "gate", fmt.Errorf("panic: %v", p)})
			ok = false
		}
	}()
	h.f(b.ctx, b.calls, b.scratch)
	return true
}

// silence gives the denial of a gate that said nothing its reason.
func silence(owner string, v Verdict) Verdict {
	if v.Decision == Deny && v.Reason == "" {
		v.Reason = owner + " gave no verdict"
		if v.Rule != "" {
			v.Reason = owner + " denies it"
		}
	}
	if v.Decision > Pass {
		return Verdict{Reason: owner + " gave an unknown verdict"}
	}
	return v
}
