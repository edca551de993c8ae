package closuretest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// Inherited reports what a child has and its parent lacks, and gates that a child's calls escape.
const Inherited = "inherited"

func inherited(ctx context.Context, t *trial) {
	s, err := t.open(ctx, setup{closed: t.closed})
	if err != nil {
		t.failed("session", err)
		return
	}
	var parent map[[2]string]middleware.Decision
	if t.own == nil {
		parent = t.judged(s.led, s.ctx, s.Session)
	}
	for _, who := range []string{"fork", agentFree, agentListed} {
		var k *session.Session
		if who == "fork" {
			k, err = s.Fork(s.ctx)
		} else {
			k, err = s.Agent(s.ctx, who)
		}
		if err != nil {
			t.failed(who, err)
			continue
		}
		t.subset(who, s.Session, k)
		if t.own != nil {
			continue // gates are silent here: they may be the user's commands
		}
		t.guarded(who, parent, t.judged(s.led, s.ctx, k))
	}
	t.born(s.led)
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
	if t.own != nil {
		return
	}
	t.begun(ctx)
}

// starts are the ways in which a call starts a child: by itself, by an inner call as a program makes it, and by the
// roster's own call as a workflow makes it, unless the roster has nobody (delegate ""). A fork goes on in its parent's
// script, so that forks come last.
func starts(delegate string) []started {
	all := []started{
		{Agent: agentFree, Prompt: "start 1, an agent"},
		{Agent: agentFree, Prompt: "start 2, an agent in the background", Background: true},
		{Agent: agentFree, Prompt: "start 3, an agent by a program", By: byProgram},
		{Agent: delegate, Prompt: "start 4, an agent by a workflow", By: byWorkflow},
		{Prompt: "start 5, a fork in the background", Background: true},
	}
	if delegate == "" {
		all = slices.DeleteFunc(all, func(s started) bool { return s.By == byWorkflow })
	}
	return all
}

// begun checks what children that calls start are sent: the same as those that the host makes.
func (t *trial) begun(ctx context.Context) {
	delegate, err := t.delegate(ctx)
	if err != nil {
		t.failed("session", err)
		return
	}
	var steps []script.Step
	for _, how := range starts(delegate) {
		steps = append(steps, script.Do(startTool, jsonOf(how)))
	}
	s, err := t.open(ctx, setup{closed: t.closed, steps: steps})
	if err != nil {
		t.failed("session", err)
		return
	}
	above := ownersOf(s.View())
	err = s.turn(prompted)
	for _, how := range starts(delegate) {
		t.within(above, how, s.sent.requests())
	}
	if err := s.end(err); err != nil {
		t.failed("session", err)
	}
}

// delegate names an agent that the suite's own way of starting agents can start: the first of its roster that can be made,
// the kit's own where the suite has no such way, "" where its roster has nobody.
func (t *trial) delegate(ctx context.Context) (string, error) {
	s, err := t.open(ctx, setup{closed: t.closed})
	if err != nil {
		return "", err
	}
	name := agentFree
	if by, ok := s.Chain().Starter(nil); ok {
		name = ""
		for _, a := range by.List() {
			if _, err := s.Agent(s.ctx, a.Name); err == nil {
				name = a.Name
				break
			}
		}
	}
	return name, s.end(nil)
}

// ownersOf are the tools of a view with their owners.
func ownersOf(v *toolview.View) map[string]string {
	out := map[string]string{}
	for e := range v.All() {
		out[e.Tool.Name] = e.Owner
	}
	return out
}

// within checks that what a child was sent is its parent's, and that it was sent something.
func (t *trial) within(above map[string]string, how started, sent []request) {
	n := 0
	for _, r := range sent {
		if last := r.messages[len(r.messages)-1]; last.Role != message.User || !strings.HasPrefix(last.Text(), how.Prompt) {
			continue
		}
		n++
		for e := range r.view.All() {
			if above[e.Tool.Name] != e.Owner {
				t.leak(e.Owner, how.Prompt+": tool "+e.Tool.Name, "is visible, and its parent lacks it")
			}
		}
	}
	if n == 0 {
		t.failed(how.Prompt, errors.New("no request came of it"))
	}
}

// subset checks that a child sees nothing that its parent does not.
func (t *trial) subset(who string, parent, child *session.Session) {
	above := ownersOf(parent.View())
	for e := range child.View().All() {
		if above[e.Tool.Name] != e.Owner {
			t.leak(e.Owner, who+": tool "+e.Tool.Name, "is visible, and its parent lacks it")
		}
	}
	for _, f := range child.Surface() {
		if t.seen.gone[f.Owner] {
			t.leak(f.Owner, who+": "+f.Surface+" "+f.Name, "is there, and its owner is closed")
		}
	}
	if t.own == nil && who != "fork" && len(names(child.View())) == 0 {
		t.leak("", who, "sees no tool at all, so that its narrowness shows nothing")
	}
}

// born checks what Child returned: it opens nothing that is closed, and publishes no more than its parent does. The
// framework drops such tools from the child's view; that they are published is the leak.
func (t *trial) born(led *ledger) {
	var all []instance
	led.read(func() { all = append(all, led.in...) })
	for _, in := range all {
		if in.parent == nil || in.raw == nil {
			continue
		}
		if t.seen.gone[in.owner] {
			t.leak(in.owner, "Child", "ran, and its middleware is closed")
		}
		m, _ := t.suite.Lookup(in.owner)
		for _, band := range []struct {
			child, parent toolview.Source
			static        *toolview.Set
		}{{in.raw.Tools, in.parent.Tools, m.Tools}, {in.raw.Deferred, in.parent.Deferred, m.Deferred}} {
			if band.child == nil {
				continue
			}
			above := band.static
			if band.parent != nil {
				above = band.parent.Tools()
			}
			for _, tool := range band.child.Tools().All() {
				if _, ok := above.Lookup(tool.Name); !ok {
					t.leak(in.owner, "tool "+tool.Name, "is published for a child alone; the framework dropped it")
				}
			}
		}
	}
}

// judged asks the gates of a session about sample calls of every visible tool, and returns the strictest answer of each
// gate by owner and tool.
func (t *trial) judged(led *ledger, ctx context.Context, s *session.Session) map[[2]string]middleware.Decision {
	view := s.View()
	var calls []*toolview.Call
	for e := range view.All() {
		if c, ok := sampleCall(view, e.Tool, "closuretest"); ok {
			calls = append(calls, c)
		}
	}
	from := 0
	led.read(func() { from = len(led.asked) })
	judge := s.Chain().NewJudge(0)
	defer judge.Close()
	for _, c := range calls {
		judge.Calls(ctx, []*toolview.Call{c}, make([]middleware.Verdict, 1))
	}
	out := map[[2]string]middleware.Decision{}
	led.read(func() {
		for _, a := range led.asked[from:] {
			key := [2]string{a.owner, a.tool}
			if d, ok := out[key]; !ok || a.verdict.Decision < d {
				out[key] = a.verdict.Decision
			}
		}
	})
	return out
}

// guarded checks that every gate of the parent judges the child's calls no more mildly.
func (t *trial) guarded(who string, parent, child map[[2]string]middleware.Decision) {
	tools := map[string]bool{}
	for key := range child {
		tools[key[1]] = true
	}
	for key, was := range parent {
		owner, tool := key[0], key[1]
		now, ok := child[key]
		switch {
		case !tools[tool] && len(child) > 0:
			// The child does not have the tool.
		case !ok:
			t.leak(owner, who+": gate", "is not asked about `%s`, and its parent's is", tool)
		case now > was:
			t.leak(owner, who+": gate", "says %s of `%s`, and %s to its parent", now, tool, was)
		}
	}
}
