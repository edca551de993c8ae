// Package settingsedit lets the agent propose a change of the settings. It is off unless the meta map says true, and no
// mode, rule or hook runs it without a person.
package settingsedit

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "SettingsEditMiddleware"

const toolName = "SettingsEdit"

//go:embed SettingsEdit.md
var doc string

// Options say how settings are edited.
type Options struct {
	// Edit makes an edit and says how it went; nil = every edit is answered with that there is no way.
	Edit func(context.Context, Request) Reply `json:"-"`
}

// Request is one edit, of a key or of a skill.
type Request struct {
	Action string `json:"action" doc:"what to do" enum:"enable,disable"`
	Key    string `json:"key,omitempty" doc:"a meta key, e.g. WebMiddleware" max:"128"`
	Skill  string `json:"skill,omitempty" doc:"a skill's id, or its name when no other has it" max:"256"`
	Layer  string `json:"layer,omitempty" doc:"whose settings; default: the project's for a key, the user's for a skill" enum:"global,project,local"`
	Effect string `json:"effect,omitempty" doc:"of a skill that is disabled: deny it, or ask before it is loaded; default: deny" enum:"deny,ask"`
	DryRun bool   `json:"dry_run,omitempty" doc:"change nothing, and say what would change"`
}

// Reply is what came of it: a text to read, and the report as JSON.
type Reply struct {
	OK     bool
	Text   string
	Report json.RawMessage
}

// editor is the session's state: how settings are edited.
type editor func(context.Context, Request) Reply

// New makes the middleware.
func New(o Options) middleware.Middleware {
	tool := toolview.Tool{
		Decl:    toolview.Decl{Name: toolName, Category: "settings", Private: true},
		Title:   "Edit settings",
		Doc:     strings.TrimSpace(doc),
		Effects: toolview.Edits,
	}
	if o.Edit == nil {
		o.Edit = func(context.Context, Request) Reply { return Reply{Text: "This program gave no way to edit settings."} }
	}
	return middleware.Middleware{
		Name:     Name,
		Doc:      "Lets the agent propose changes of the settings; a person is always asked.",
		Off:      true,
		Gates:    true,
		Deferred: toolview.MustSet(toolview.New(tool, edit)),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{State: editor(o.Edit), Hooks: middleware.Hooks{Gate: ask}}, nil
		},
	}
}

// ask wants a person for every edit. It is no mode's ask, so that nothing but an answer satisfies it, and it has no
// grants, so that an answer is for this once.
func ask(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	for i, c := range calls {
		out[i] = middleware.Verdict{Decision: middleware.Pass}
		if c.Owner() == Name {
			out[i] = middleware.Verdict{Decision: middleware.Ask, Reason: "it changes settings, about which a person is always asked"}
		}
	}
}

func edit(ctx context.Context, e editor, _ *toolview.Call, in Request) (*message.Result, error) {
	reply := e(ctx, in)
	r := message.Say(reply.Text)
	if !reply.OK {
		r = message.Fail(reply.Text)
	}
	r.Structured = reply.Report
	return r, nil
}
