package session

import (
	"errors"
	"fmt"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Judge makes a call of each use through the step's view, and asks the gates about them together.
func (rt *local) Judge(_ *Step, by *Ready, uses []*message.Use, out []Ready) {
	view := rt.step.View
	calls := make([]*toolview.Call, 0, len(uses))
	at := make([]int, 0, len(uses))
	for i, u := range uses {
		r := &out[i]
		r.Use, r.Name = u, u.Name
		var call *toolview.Call
		if by == nil {
			call, r.Refused = view.Call(u.ID, u.Name, u.Args)
		} else {
			r.Parent = by.Use.ID
			call, r.Refused = view.Inner(u.ID, toolview.Inner{Name: u.Name, Args: u.Args})
		}
		if call != nil {
			calls, at = append(calls, call), append(at, i)
		}
	}
	if len(calls) == 0 {
		return
	}
	verdicts := make([]middleware.Verdict, len(calls))
	rt.judge.Calls(rt.ctx, calls, verdicts)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for k, i := range at {
		r, c := &out[i], calls[k]
		r.Name, r.Flow, r.Verdict, r.Call = c.Name(), c.Tool().Flow != nil, verdicts[k], len(rt.calls)
		rt.calls = append(rt.calls, c)
	}
}

func (rt *local) callOf(r *Ready) (*toolview.Call, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if r.Call < 0 || r.Call >= len(rt.calls) {
		return nil, fmt.Errorf("session: no call %d in this step", r.Call)
	}
	return rt.calls[r.Call], nil
}

// errNobody is why an ask is denied when there is no approver.
var errNobody = errors.New("this call needs approval, and nobody is there to give it")

// Decide puts the asks of a step to the approver.
func (rt *local) Decide(asks []*Ready) ([]Approval, error) {
	if rt.s.opt.Approver == nil {
		return nil, errNobody
	}
	requests := make([]Request, len(asks))
	for i, r := range asks {
		c, err := rt.callOf(r)
		if err != nil {
			return nil, err
		}
		// Subjects are shown as far as they can be told; the gates have judged them.
		subjects, _ := c.Subjects()
		requests[i] = Request{
			ID: c.ID(), Agent: rt.s.agent.Name, Tool: c.Name(), Owner: c.Owner(), Args: c.Args(),
			Effects: c.Tool().Effects.String(), Subjects: subjects, Reason: r.Verdict.Reason, Rule: r.Verdict.Rule,
			Grants: r.Verdict.Grants,
		}
	}
	var answers []Approval
	err := rt.s.person(rt.ctx, func() (err error) {
		answers, err = rt.s.opt.Approver.Approve(rt.ctx, requests)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("it was not approved: %w", err)
	}
	rt.keep(asks, answers)
	return answers, nil
}

// keep tells who keeps answers of those that hold for longer than once.
func (rt *local) keep(asks []*Ready, answers []Approval) {
	for i, r := range asks {
		if i >= len(answers) || !answers[i].Allow || len(r.Verdict.Grants) == 0 {
			continue
		}
		if scope := answers[i].Scope; scope == ForSession || scope == Always {
			if c, err := rt.callOf(r); err == nil {
				rt.s.chain.Approved(rt.ctx, c, r.Verdict, scope)
			}
		}
	}
}

// Ask puts a flow's question to a person.
func (rt *local) Ask(_ *Ready, q toolview.Question) (toolview.Answer, error) {
	return rt.s.ask(rt.ctx, q)
}

// Starts asks the owner of the agents for its calls.
func (rt *local) Starts(tasks []toolview.Task) ([]toolview.Inner, error) {
	_, _, policy := rt.s.snapshot()
	starter, ok := rt.s.chain.Starter(policy.Paused)
	if !ok {
		return nil, errors.New("nothing in this session starts agents")
	}
	out := make([]toolview.Inner, len(tasks))
	for i, t := range tasks {
		var err error
		if out[i], err = starter.Start(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Tool runs a leaf through the chain's wrappers.
func (rt *local) Tool(_ *Step, r *Ready) (*message.Result, error) {
	c, err := rt.callOf(r)
	if err != nil {
		return nil, err
	}
	res, err := rt.s.chain.Tool(rt.ctx, c)
	rt.observe(c, res, err)
	return res, err
}

// Flow runs a tool that works through its host.
func (rt *local) Flow(_ *Step, r *Ready, h toolview.Host) (res *message.Result, err error) {
	c, err := rt.callOf(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, middleware.Fault{Owner: c.Owner(), Hook: "tool " + c.Name(), Err: fmt.Errorf("panic: %v", p)}
		}
		rt.observe(c, res, err)
	}()
	return c.Tool().Flow(rt.ctx, c, h)
}

// observe tells the observers what became of a call, and people of a failure of the framework's own.
func (rt *local) observe(c *toolview.Call, res *message.Result, err error) {
	var f middleware.Fault
	if errors.As(err, &f) {
		rt.s.fault(f)
	}
	if err != nil {
		res = message.Fail(err.Error())
	}
	if res != nil {
		rt.s.chain.Result(rt.ctx, c, res)
	}
}
