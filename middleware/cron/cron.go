// Package cron keeps the schedules of a session: prompts that are due again and again. It starts no turn and has no timer:
// a host that awaits Session.Due is handed each prompt at its time, and takes it or not.
package cron

import (
	"context"
	_ "embed"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "CronMiddleware"

var (
	//go:embed CronCreate.md
	createDoc string
	//go:embed CronList.md
	listDoc string
	//go:embed CronDelete.md
	deleteDoc string
)

// Options are none.
type Options struct{}

// New makes the middleware. Named children are without it: a child's prompt must not come to its parent, which may do
// more.
func New(Options) middleware.Middleware {
	return middleware.Middleware{
		Name: Name,
		Doc:  "Prompts that are due again and again while the session is open.",
		Deferred: toolview.MustSet(
			toolview.New(tool("CronCreate", "Set a schedule", createDoc, "cron_create"), create),
			toolview.New(tool("CronList", "Show the schedules", listDoc, "cron_list"), list),
			toolview.New(tool("CronDelete", "Remove a schedule", deleteDoc, "cron_delete"), remove),
		),
		RootOnly: true,
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			b, err := load(ctx, env)
			if err != nil {
				return nil, err
			}
			in := &middleware.Instance{State: b, Due: b.due}
			if !env.CanSchedule {
				in.Unsupported = "the program that runs this session takes no prompts by the clock"
			}
			return in, nil
		},
	}
}

func tool(name, title, doc string, aliases ...string) toolview.Tool {
	return toolview.Tool{
		Decl:  toolview.Decl{Name: name, Aliases: aliases, Family: "cron", Category: "planning", Private: true},
		Title: title, Doc: strings.TrimSpace(doc), Effects: toolview.Internal,
	}
}

type createArgs struct {
	Schedule string `json:"schedule" doc:"five fields, or @hourly, @daily, @weekly, @monthly, @yearly" min:"1" max:"200" alias:"cron"`
	Prompt   string `json:"prompt" doc:"what is to be done then" min:"1" max:"4000"`
}

type deleteArgs struct {
	ID string `json:"id" doc:"the id of the schedule" min:"1" max:"40"`
}

func create(ctx context.Context, b *book, _ *toolview.Call, in createArgs) (*message.Result, error) {
	text := strings.TrimSpace(in.Prompt)
	if text == "" {
		return message.Fail("Nothing was set: `prompt` is blank."), nil
	}
	e, refused, err := b.add(ctx, strings.Join(strings.Fields(in.Schedule), " "), text)
	switch {
	case err != nil:
		return nil, err
	case refused != "":
		return message.Fail("Nothing was set: " + refused), nil
	}
	return message.Say("Set as " + e.String()), nil
}

func list(_ context.Context, b *book, _ *toolview.Call, _ struct{}) (*message.Result, error) {
	all := b.all()
	if len(all) == 0 {
		return message.Say("Nothing is scheduled."), nil
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = e.String() + "\n  " + strings.ReplaceAll(e.Prompt, "\n", "\n  ")
	}
	return message.Say(strings.Join(lines, "\n")), nil
}

func remove(ctx context.Context, b *book, _ *toolview.Call, in deleteArgs) (*message.Result, error) {
	e, ok, err := b.drop(ctx, strings.TrimSpace(in.ID))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return message.Fail("Nothing was removed: there is no schedule " + in.ID + "."), nil
	}
	return message.Say("Removed: " + e.ID + " (" + e.Schedule + ")."), nil
}
