package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func asBlocked(err error, to *errBlocked) bool { return errors.As(err, to) }

// preToolUse asks the hooks about calls, one after the other; each sees what those before it made of the arguments.
func (s *state) preToolUse(ctx context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	for i, c := range calls {
		out[i] = s.decide(ctx, PreToolUse, c)
	}
}

// decide joins what the hooks of an event say about a call. A hook that cannot be heard has denied.
func (s *state) decide(ctx context.Context, event string, c *toolview.Call) middleware.Verdict {
	joined := middleware.Verdict{Decision: middleware.Pass}
	args := c.Args()
	for _, h := range s.due(event, names(c.Tool())...) {
		got, err := s.tell(ctx, h, s.payload(event, map[string]any{
			"tool_name": c.Name(), "tool_input": args, "tool_use_id": c.ID(),
		}))
		v := s.verdict(h, got, err)
		if v.Decision == middleware.Deny {
			return v
		}
		if got.updated != nil {
			args = got.updated
			joined.Args = args
			if joined.Decision == middleware.Allow {
				joined.Decision, joined.Reason, joined.Rule = middleware.Pass, "", "" // it allowed another call
			}
		}
		if v.Decision < joined.Decision {
			v.Args = joined.Args
			joined = v
		}
		s.note(got.context)
	}
	return joined
}

// verdict is what one hook's answer means.
func (s *state) verdict(h *compiled, got said, err error) middleware.Verdict {
	v := middleware.Verdict{Decision: middleware.Pass, Rule: "hook", Origin: h.Origin}
	who := fmt.Sprintf("the %s hook at %s", h.Event, place(h))
	var blocked errBlocked
	switch {
	case asBlocked(err, &blocked):
		v.Decision, v.Reason = middleware.Deny, who+" refused it: "+blocked.reason
	case err != nil:
		s.failed(h, err)
		v.Decision, v.Reason = middleware.Deny, fmt.Sprintf("%s %v, and what decides and cannot be heard has refused", who, err)
	case got.halt:
		s.halt(got.reason)
		v.Decision, v.Reason = middleware.Deny, who+" stopped this turn: "+orElse(got.reason, "it gave no reason")
	case got.verdict == deny:
		v.Decision, v.Reason = middleware.Deny, who+" refused it: "+orElse(got.reason, "it gave no reason")
	case got.verdict == ask:
		v.Decision, v.Reason = middleware.Ask, who+" wants it asked about: "+orElse(got.reason, "it gave no reason")
	case got.verdict == allow:
		v.Decision, v.Reason = middleware.Allow, who+" allowed it"
	default:
		v.Rule = ""
	}
	return v
}

// asked tells hooks that a person is about to be asked. They may answer in that person's place.
func (s *state) asked(ctx context.Context, c *toolview.Call, asked middleware.Verdict) middleware.Verdict {
	v := s.decide(ctx, PermissionRequest, c)
	if v.Decision != middleware.Deny && !(v.Decision == middleware.Allow && asked.Mode) {
		s.observe(ctx, Notification, []string{"permission_prompt"}, map[string]any{
			"notification_type": "permission_prompt", "message": c.Name() + " needs approval: " + asked.Reason,
		})
	}
	return v
}

// wrapTool tells hooks of what leaves gave, before the model is told.
func (s *state) wrapTool(next middleware.ToolFunc) middleware.ToolFunc {
	return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
		res, err := next(ctx, c)
		if err != nil || res == nil {
			s.after(ctx, c, message.Fail(fmt.Sprint(err)))
			return res, err
		}
		notes := s.after(ctx, c, res)
		if len(notes) == 0 {
			return res, nil
		}
		told := *res
		told.Parts = append(told.Parts[:len(told.Parts):len(told.Parts)], message.Part{
			Kind: message.Text, Text: "\nA hook of the user's says: " + strings.Join(notes, "\n"),
		})
		return &told, nil
	}
}

// flowed tells hooks of what tools gave that work in the loop.
func (s *state) flowed(ctx context.Context, c *toolview.Call, r *message.Result) {
	if c.Tool().Flow == nil {
		return
	}
	for _, n := range s.after(ctx, c, r) {
		s.note(n)
	}
}

// after runs the hooks behind a call and returns what they say to the model.
func (s *state) after(ctx context.Context, c *toolview.Call, r *message.Result) (notes []string) {
	event, more := PostToolUse, map[string]any{"tool_name": c.Name(), "tool_input": c.Args(), "tool_use_id": c.ID()}
	if r.Error {
		event = PostToolUseFailure
		more["error"] = r.Text()
	} else {
		more["tool_response"] = response(r)
	}
	for _, got := range s.observe(ctx, event, names(c.Tool()), more) {
		if got.verdict == deny {
			notes = append(notes, got.reason)
		}
		if got.context != "" {
			notes = append(notes, got.context)
		}
	}
	return notes
}

// response is a result as hooks read it.
func response(r *message.Result) any {
	m := map[string]any{"text": r.Text()}
	if json.Valid(r.Structured) {
		m["structured"] = r.Structured
	}
	return m
}

// batch tells hooks that all calls of a step have their results.
func (s *state) batch(ctx context.Context, step *middleware.Step, uses []*message.Use, results []*message.Result) {
	calls := make([]map[string]any, 0, len(uses))
	for i, u := range uses {
		one := map[string]any{"tool_name": orElse(u.Tool, u.Name), "tool_use_id": u.ID}
		if json.Valid(u.Args) {
			one["tool_input"] = u.Args
		}
		if i < len(results) && results[i] != nil {
			one["tool_response"] = results[i].Text()
		}
		calls = append(calls, one)
	}
	for _, got := range s.observe(ctx, PostToolBatch, nil, map[string]any{"tool_calls": calls, "step": step.N}) {
		if got.verdict == deny {
			s.note(got.reason)
		}
		s.note(got.context)
	}
}

// start tells hooks that a session, or a child's, begins. What they say opens its first prompt.
func (s *state) start(ctx context.Context) error {
	event, word, more := SessionStart, "startup", map[string]any{"source": "startup"}
	switch {
	case s.agent.Fork:
		return nil
	case s.named():
		event, word, more = SubagentStart, strings.ToLower(s.agent.Name), nil
	}
	s.began(ctx, event, word, more)
	return nil
}

// began runs the hooks of a session's beginning and keeps what they say for its next prompt.
func (s *state) began(ctx context.Context, event, word string, more map[string]any) {
	for _, got := range s.observe(ctx, event, []string{word}, more) {
		s.note(got.context)
	}
}

func (s *state) end(ctx context.Context) {
	s.observe(ctx, SessionEnd, []string{"other"}, map[string]any{"reason": "other"})
}

// input asks hooks about a prompt and adds what they have to say. A hook that cannot be heard has refused it.
func (s *state) input(ctx context.Context, in *middleware.Input) error {
	s.mu.Lock()
	s.halted, s.stopped = "", false
	resumed := s.resumed
	s.resumed = false
	s.mu.Unlock()
	if resumed {
		s.began(ctx, SessionStart, "resume", map[string]any{"source": "resume"})
	}
	if !s.named() {
		payload := s.payload(UserPromptSubmit, map[string]any{"prompt": in.Text()})
		for _, h := range s.due(UserPromptSubmit) {
			got, err := s.tell(ctx, h, payload)
			if v := s.verdict(h, got, err); v.Decision == middleware.Deny {
				return errors.New(v.Reason)
			}
			s.note(got.context)
		}
	}
	for _, text := range s.notes() {
		in.Parts = append(in.Parts, message.Part{Kind: message.Text, Text: "\n\nA hook of the user's says: " + text})
	}
	return nil
}

// stop tells hooks that a turn would end. One that blocks makes it go on, with its reason as the prompt.
func (s *state) stop(ctx context.Context, step *middleware.Step) (string, error) {
	event, words := Stop, []string(nil)
	if s.named() {
		event, words = SubagentStop, []string{strings.ToLower(s.agent.Name)}
	}
	s.mu.Lock()
	again, halted := s.stopped, s.halted != ""
	s.mu.Unlock()
	if halted {
		return "", nil
	}
	last := ""
	if n := len(step.Messages); n > 0 {
		last = step.Messages[n-1].Text()
	}
	for _, got := range s.observe(ctx, event, words, map[string]any{"stop_hook_active": again, "last_assistant_message": last}) {
		if got.verdict != deny || got.halt {
			continue
		}
		s.mu.Lock()
		s.stopped = true
		s.mu.Unlock()
		return orElse(got.reason, "A hook of the user's says that this is not finished."), nil
	}
	return "", nil
}
