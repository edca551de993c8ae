// Package builtin is THE ordered list of built-in middlewares, and the one place that turns settings into their options.
package builtin

import (
	"errors"
	"fmt"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/agentsmd"
	"github.com/metaharness/peri/middleware/atmention"
	"github.com/metaharness/peri/middleware/clock"
	"github.com/metaharness/peri/middleware/code"
	"github.com/metaharness/peri/middleware/cron"
	"github.com/metaharness/peri/middleware/defaultprompt"
	"github.com/metaharness/peri/middleware/gitattribution"
	"github.com/metaharness/peri/middleware/goal"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/middleware/humanintheloop"
	"github.com/metaharness/peri/middleware/lang"
	"github.com/metaharness/peri/middleware/lsp"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/middleware/memory"
	"github.com/metaharness/peri/middleware/openapi"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/middleware/plugin"
	"github.com/metaharness/peri/middleware/ptc"
	"github.com/metaharness/peri/middleware/settingsedit"
	"github.com/metaharness/peri/middleware/skillpreload"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/middleware/todo"
	"github.com/metaharness/peri/middleware/toolsearch"
	"github.com/metaharness/peri/middleware/web"
	"github.com/metaharness/peri/middleware/workspace"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/subagent/workflow"
)

// Options are those of every built-in middleware that has some. The zero value is what empty settings give.
type Options struct {
	DefaultPrompt defaultprompt.Options
	Lang          lang.Options
	AgentsMd      agentsmd.Options
	Plugin        plugin.Options
	Skills        skills.Options
	Hook          hook.Options
	Permission    permission.Options
	SubAgent      subagent.Options
	Workspace     workspace.Options
	Web           web.Options
	Memory        memory.Options
	MCP           mcp.Options
	OpenAPI       openapi.Options
	LSP           lsp.Options
	Ptc           ptc.Options
	SettingsEdit  settingsedit.Options
	// More are a program's own middlewares. They stand behind the built-in ones and before the tool search, so that
	// their deferred tools are found like any other.
	More []middleware.Middleware
}

// Suite is the built-in middlewares in their order. Every option that is refused is reported at once.
func Suite(o Options) (*middleware.Suite, error) {
	gate, err := permission.New(o.Permission)
	hooks, wrong := hook.New(o.Hook)
	served, unfit := mcp.New(o.MCP)
	api, bad := openapi.New(o.OpenAPI)
	languages, unknown := lsp.New(o.LSP)
	plugins, torn := plugin.New(o.Plugin)
	err = errors.Join(err, wrong, torn, o.Web.Check(), o.Memory.Check(), unfit, bad, unknown)
	if err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	list := []middleware.Middleware{
		// Texts first: none of these has a tool, so that where they stand decides nothing but the order in which they
		// open, and what a session is told reads from the general to the particular.
		defaultprompt.New(o.DefaultPrompt), // what every session is told before anything else
		lang.New(o.Lang),                   // how to write, which holds for all that follows
		agentsmd.New(o.AgentsMd),           // the project's word behind the program's

		plugins, // before everyone who runs what they bring
		// Know-how, behind the project's own word and in front of whatever acts on a prompt.
		skills.New(o.Skills),                     // its slash commands make prompts; what narrows tools speaks before who judges them
		skillpreload.New(skillpreload.Options{}), // builds on the former, which begins the turn first

		// What changes or accompanies a prompt, before anything that acts on it.
		atmention.New(atmention.Options{}),           // attaches files to the prompt; the first to see it, and it runs no tool
		gitattribution.New(gitattribution.Options{}), // watches what those who act have edited, and says how a commit names it
		todo.New(todo.Options{}),                     // its reminder opens the tail, before those of what does the work
		clock.New(clock.Options{}),                   // touches nothing; among the harmless tools that lead the tool array

		// Whoever judges or asks stands before whoever acts: its gate is heard first and its wrapper is outermost.
		hooks, // the user's own; before approval, so that what a hook made of a call is what a person is shown
		gate,  // approval; in front of every tool that can change something outside the session
		humanintheloop.New(humanintheloop.Options{}), // asking; behind approval, and neither knows of the other

		// Delegation before action: what it hands out is the chain around it, gates included, and its own calls are judged
		// like any other.
		subagent.New(o.SubAgent),

		// Those who act.
		workspace.New(o.Workspace), // the project's files and commands: what most sessions use most
		web.New(o.Web),             // the world outside, behind the project's own files
		code.New(code.Options{}),   // what the project is made of, beside those who work on it; a text and no tool
		memory.New(o.Memory),       // what earlier sessions left, behind what can be looked up afresh
		served,                     // what others' programs can do, behind what is built in
		api,                        // what the user's own services offer, behind what everybody has
		languages,                  // what programs know of the project's code, behind the files themselves
		cron.New(cron.Options{}),   // prompts by the clock, which a host takes; acts only when it does

		// What combines the above: by its own calls, each of which is judged and run like a model's.
		workflow.New(workflow.Options{Depth: o.SubAgent.Depth, Multitask: o.SubAgent.Multitask}), // agents by a script, within delegation's own limits
		ptc.New(o.Ptc),           // tools by a program; behind everything that it may call
		goal.New(goal.Options{}), // keeps the above at it: asked whether a turn is over behind the user's own hooks
	}
	list = append(list, settingsedit.New(o.SettingsEdit)) // changes what later sessions are; behind all that works in this one
	list = append(list, o.More...)                        // a program's own, behind what it builds upon
	// Last of the tool owners: what it finds is everything before it.
	list = append(list, toolsearch.New())
	suite, err := middleware.NewSuite(list...)
	if err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	return suite, nil
}
