package session

import (
	"strconv"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Run is the turn loop. It holds no context, clock, randomness or goroutine and reaches nothing but its runtime.
func Run(rt Runtime, in Input) error {
	in, err := rt.Input(in)
	if err != nil || in.Answer != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := rt.Err(); err != nil {
			return err
		}
		more, err := step(rt, n)
		if err != nil || !more {
			return err
		}
	}
}

func step(rt Runtime, n int) (more bool, err error) {
	s, err := rt.Prepare(n)
	if err != nil {
		return false, err
	}
	reply, err := rt.Model(s)
	if err != nil {
		return false, err
	}
	return rt.End(n, calls(rt, s, nil, reply.Uses()))
}

// calls judges uses, asks about them in one request, runs what may run and returns one result for each, in order.
func calls(rt Runtime, s *Step, by *Ready, uses []*message.Use) []*message.Result {
	if len(uses) == 0 {
		return nil
	}
	ready := make([]Ready, len(uses))
	rt.Judge(s, by, uses, ready)
	decide(rt, ready)
	results := make([]*message.Result, len(uses))
	if len(uses) == 1 {
		results[0] = call(rt, s, &ready[0])
		return results
	}
	rt.Parallel(len(uses), func(rt Runtime, i int) { results[i] = call(rt, s, &ready[i]) })
	return results
}

// decide turns every ask into an allow or a deny.
func decide(rt Runtime, ready []Ready) {
	var asks []*Ready
	for i := range ready {
		if ready[i].Refused == nil && ready[i].Verdict.Decision == middleware.Ask {
			asks = append(asks, &ready[i])
		}
	}
	if len(asks) == 0 {
		return
	}
	answers, err := rt.Decide(asks)
	for i, r := range asks {
		r.Verdict.Decision = middleware.Deny
		switch {
		case err != nil:
			r.Verdict.Reason = err.Error()
		case i >= len(answers):
			r.Verdict.Reason = "the approver gave no answer"
		case answers[i].Allow:
			r.Verdict.Decision = middleware.Allow
		default:
			r.Verdict.Reason = "the user rejected it"
			if answers[i].Message != "" {
				r.Verdict.Reason += ": " + answers[i].Message
			}
		}
	}
}

// call runs one judged use and always has a result for it.
func call(rt Runtime, s *Step, r *Ready) *message.Result {
	rt.Emit(message.Event{Kind: message.CallStart, Step: s.N, Parent: r.Parent, Use: r.Use})
	res := outcome(rt, s, r)
	rt.Emit(message.Event{Kind: message.CallEnd, Step: s.N, Parent: r.Parent, Use: r.Use, Result: res})
	return res
}

func outcome(rt Runtime, s *Step, r *Ready) *message.Result {
	var got *message.Result
	err := rt.Err()
	switch {
	case r.Refused != nil:
		got, err = r.Refused, nil
	case err != nil:
	case r.Verdict.Decision < middleware.Allow:
		got = message.Fail("Not run: " + r.Verdict.Reason + ".")
	case r.Flow:
		got, err = rt.Flow(s, r, &host{rt: rt, step: s, by: r})
	default:
		got, err = rt.Tool(s, r)
	}
	switch {
	case err != nil:
		got = message.Fail("`" + r.Name + "` failed: " + err.Error())
	case got == nil:
		got = message.Fail("`" + r.Name + "` returned nothing")
	}
	// A tool may hand the same result to many callers, so that the id goes into a copy.
	res := *got
	res.UseID = r.Use.ID
	return &res
}

// host is what a flow reaches: the loop again, for its inner calls.
type host struct {
	rt   Runtime
	step *Step
	by   *Ready
	made int
}

func (h *host) Dispatch(inner []toolview.Inner) []*message.Result {
	uses := make([]*message.Use, len(inner))
	for i, in := range inner {
		h.made++
		uses[i] = &message.Use{ID: h.by.Use.ID + "." + strconv.Itoa(h.made), Name: in.Name, Args: in.Args}
	}
	return calls(h.rt, h.step, h.by, uses)
}

func (h *host) Delegate(tasks []toolview.Task) []*message.Result {
	inner, err := h.rt.Starts(tasks)
	if err == nil {
		return h.Dispatch(inner)
	}
	results := make([]*message.Result, len(tasks))
	for i := range results {
		results[i] = message.Fail("Not started: " + err.Error() + ".")
	}
	return results
}

func (h *host) Spawn(s toolview.Spawn) (*message.Result, error) { return h.rt.Child(h.by, s) }

func (h *host) Ask(q toolview.Question) (toolview.Answer, error) { return h.rt.Ask(h.by, q) }
