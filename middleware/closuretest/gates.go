package closuretest

import (
	"context"
	"fmt"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Answers reports gates that say nothing: the framework takes that for a denial without a reason.
const Answers = "answers"

func answers(ctx context.Context, t *trial) {
	s, err := t.open(ctx, setup{})
	if err != nil {
		t.failed("session", err)
		return
	}
	t.judged(s.led, s.ctx, s.Session)
	if k, err := s.Agent(s.ctx, agentFree); err == nil {
		t.judged(s.led, s.ctx, k)
	}
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
	var all []asked
	s.led.read(func() { all = append(all, s.led.asked...) })
	for _, a := range all {
		switch v := a.verdict; {
		case a.panicked:
			t.leak(a.owner, "gate", "panicked about a call of `%s`", a.tool)
		case v.Decision > middleware.Pass:
			t.leak(a.owner, "gate", "gave the verdict %d about a call of `%s`, which there is not", v.Decision, a.tool)
		case v.Decision == middleware.Deny && v.Reason == "" && v.Rule == "":
			t.leak(a.owner, "gate", "gave no verdict about a call of `%s`, or denied it without a reason", a.tool)
		}
	}
}

// Arguments reports tool wrappers that run another call than the one that was judged: the framework refuses to run it.
const Arguments = "arguments"

func arguments(ctx context.Context, t *trial) {
	s, err := t.open(ctx, setup{})
	if err != nil {
		t.failed("session", err)
		return
	}
	view := s.View()
	var all []instance
	s.led.read(func() { all = append(all, s.led.in...) })
	for _, in := range all {
		if in.raw == nil || in.raw.Hooks.WrapTool == nil {
			continue
		}
		for e := range view.All() {
			if c, ok := sampleCall(view, e.Tool, "closuretest"); ok {
				if err := wrapOnce(s, &in, c); err != nil {
					t.leak(in.owner, "wrap tool", "failed around `%s`: %v", e.Tool.Name, err)
				}
			}
		}
	}
	s.led.read(func() {
		for _, owner := range s.led.moved {
			t.leak(owner, "wrap tool", "ran another call than the one that was judged")
		}
	})
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
}

// wrapOnce runs one wrapper around a leaf that does nothing.
func wrapOnce(s *subject, in *instance, c *toolview.Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	run := s.led.wrapTool(in.owner, in.raw.Hooks.WrapTool)(func(context.Context, *toolview.Call) (*message.Result, error) {
		return message.Say("ok"), nil
	})
	_, err = run(s.ctx, c)
	return err
}
