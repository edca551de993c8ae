// Package hook is the middleware of the hooks that users configure, in Claude Code's documented shape: commands that read
// an event as JSON, and servers that it is posted to, around prompts, calls and turns.
//
// A hook that decides (PreToolUse, PermissionRequest, UserPromptSubmit) and cannot be heard has refused: a crash, a
// timeout, a program that is not there and output that makes no sense deny. One that observes and fails is reported.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
)

// Name is the middleware's key.
const Name = "HookMiddleware"

// Options are the hooks of all layers, in the order in which they run. They are the session's policy: frozen and stored
// with it.
type Options struct {
	Hooks []Entry `json:"hooks,omitempty"`
	// Mode is the session's permission mode, for hooks to read.
	Mode string `json:"mode,omitempty"`
	// Brought says that agents or others may bring hooks, so that it is at work also without any of the settings'.
	Brought bool `json:"brought,omitempty"`
}

// Entry is one hook of one event.
type Entry struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	// Type is command, http or prompt; the last cannot be run here, and refuses where it would decide.
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Env is more of a command's environment, NAME=value.
	Env []string `json:"env,omitempty"`
	// Timeout is in seconds; 0 = the default.
	Timeout float64 `json:"timeout,omitempty"`
	// Async does not wait, and so decides nothing; Once runs for the first event of a session alone.
	Async  bool        `json:"async,omitempty"`
	Once   bool        `json:"once,omitempty"`
	Origin meta.Origin `json:"origin,omitzero"`
}

// The events.
const (
	PreToolUse         = "PreToolUse"
	PermissionRequest  = "PermissionRequest"
	PostToolUse        = "PostToolUse"
	PostToolUseFailure = "PostToolUseFailure"
	PostToolBatch      = "PostToolBatch"
	UserPromptSubmit   = "UserPromptSubmit"
	SessionStart       = "SessionStart"
	SessionEnd         = "SessionEnd"
	Stop               = "Stop"
	SubagentStart      = "SubagentStart"
	SubagentStop       = "SubagentStop"
	Notification       = "Notification"
)

// matched says of every event that is fired whether a matcher counts, and by what.
var matched = map[string]string{
	PreToolUse: "the tool's name", PermissionRequest: "the tool's name", PostToolUse: "the tool's name",
	PostToolUseFailure: "the tool's name", SessionStart: "startup or resume", SessionEnd: "the reason",
	SubagentStart: "the agent's name", SubagentStop: "the agent's name", Notification: "its type",
	PostToolBatch: "", UserPromptSubmit: "", Stop: "",
}

// decides reports whether a hook of the event can refuse something that has not happened yet.
func decides(event string) bool {
	return event == PreToolUse || event == PermissionRequest || event == UserPromptSubmit
}

// New is the middleware. A hook that could not run is an error that names its place; all are reported together.
//
// It has a gate: what a hook with `continue: false` stopped stays stopped until the next prompt, in children too. The
// hooks' own verdicts come by its rewriter, since gates must not wait for programs; that one denies as well, so that
// closing this middleware opens something and wants trust.
func New(o Options) (middleware.Middleware, error) {
	if _, err := compile(o.Hooks); err != nil {
		return middleware.Middleware{}, err
	}
	policy, err := json.Marshal(o)
	if err != nil {
		return middleware.Middleware{}, fmt.Errorf("hook: %w", err)
	}
	return middleware.Middleware{
		Name:   Name,
		Doc:    "Runs the hooks that the user configured around prompts, calls and turns.",
		Gates:  true,
		Policy: policy,
		Open:   open,
	}, nil
}

func open(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	if len(env.Policy) == 0 {
		return nil, errors.New("hook: the session has no policy for it")
	}
	var o Options
	if err := json.Unmarshal(env.Policy, &o); err != nil {
		return nil, fmt.Errorf("hook: the session's policy: %w", err)
	}
	more, err := brought(env)
	if err != nil {
		return nil, err
	}
	hooks, err := compile(append(o.Hooks, more...))
	if err != nil {
		return nil, err
	}
	return newState(env, o, hooks).instance(), nil
}

// Unfired lists what of the hooks does nothing in this version, or not all that it says.
func (o Options) Unfired() []meta.Diagnostic {
	var out []meta.Diagnostic
	for _, e := range o.Hooks {
		by, fired := matched[e.Event]
		d := meta.Diagnostic{Severity: meta.SeverityWarning, Key: "hooks." + e.Event, Origin: e.Origin}
		switch {
		case !fired:
			d.Code, d.Message = "hook_not_fired", e.Event+" is not fired by this version: its hooks never run"
		case e.Type == "prompt" && decides(e.Event):
			d.Code, d.Message = "hook_not_run", "prompt hooks are not run by this version: this one refuses whatever it would have decided"
			d.Suggestion = "write a command that decides, or remove it"
		case e.Type == "prompt":
			d.Code, d.Message = "hook_not_run", "prompt hooks are not run by this version, and this one has no effect"
		case e.Async && decides(e.Event):
			d.Code, d.Message = "hook_async", "an async hook is not waited for, and so decides nothing"
		case by == "" && e.Matcher != "" && e.Matcher != "*":
			d.Code, d.Message = "hook_matcher", e.Event+" has nothing to match: this hook runs every time"
		default:
			continue
		}
		out = append(out, d)
	}
	return out
}
