// Package humanintheloop lets the agent put a question to its user. It approves nothing: approval is another capability,
// and neither knows of the other.
package humanintheloop

import (
	"context"
	_ "embed"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "HumanInTheLoopMiddleware"

const askTool = "AskUserQuestion"

//go:embed AskUserQuestion.md
var askDoc string

// Options are none.
type Options struct{}

// New makes the middleware.
func New(Options) middleware.Middleware {
	asking := toolview.MustSet(tool(""))
	silent := toolview.MustSet(tool("nobody is there to answer"))
	var open func(context.Context, middleware.Env) (*middleware.Instance, error)
	open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		// A child may run where nobody looks although its parent can ask.
		inst := &middleware.Instance{Child: open}
		if !env.CanAsk {
			inst.Tools = silent
		}
		return inst, nil
	}
	return middleware.Middleware{
		Name:  Name,
		Doc:   "Lets the agent ask its user a question; approves nothing.",
		Tools: asking,
		Segments: []prompt.Segment{{
			ID: "12_ask_user", Zone: prompt.Live, Order: 120, Text: prompt.Text("12_ask_user"), Needs: []string{askTool},
		}},
		Open: open,
	}
}

func tool(unsupported string) toolview.Tool {
	return toolview.NewFlow(toolview.Tool{
		Decl: toolview.Decl{
			Name: askTool, Category: "asking",
			Aliases: []string{"ask_user_question", "ask_user", "ask_followup_question", "ask_question"},
		},
		Title:       "Ask the user",
		Doc:         strings.TrimSpace(askDoc),
		Effects:     toolview.Internal,
		Unsupported: unsupported,
	}, ask)
}
