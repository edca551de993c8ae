package middleware

import (
	"context"

	"github.com/metaharness/peri/prompt/message"
)

// RouteDecl is the name of a slash command, without the slash, and what it is for.
type RouteDecl struct {
	Name string
	Doc  string
	// Args hints at what may follow the name; "" = nothing.
	Args string
	// From says who has it, where an owner has commands of several: a plugin, a server. `from:name` reaches it also when
	// another has the bare name.
	From string
	// By is the middleware that brought it along for its owner; "" = its owner has it itself.
	By string
}

// Route is a slash command at work.
type Route struct {
	RouteDecl
	Run func(ctx context.Context, args string) (RouteReply, error)
}

// RouteReply is what a route makes of a prompt: either a text that answers it without a model, or a prompt that takes
// its place. Parts are what goes with such a prompt.
type RouteReply struct {
	Text   string         `json:"text,omitempty"`
	Prompt string         `json:"prompt,omitempty"`
	Parts  []message.Part `json:"parts,omitempty"`
}

// RunRoute runs a route, contained.
func RunRoute(ctx context.Context, owner string, r Route, args string) (reply RouteReply, err error) {
	err = contain(owner, "route "+r.Name, func() (err error) {
		reply, err = r.Run(ctx, args)
		return err
	})
	return reply, err
}
