// Package middleware is the contract of a capability. A Middleware is one constant value that owns prompt segments,
// direct and deferred tools, hooks and routes; a Suite is the ordered list of all that could exist; a Chain is what
// one session opened of it. A closed middleware is never opened, so nothing that it owned is anywhere.
package middleware

import (
	"context"
	"encoding/json"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Middleware is one capability. It is a constant: a zero field means that there is no such thing, and state lives only
// in what Open and Child return.
type Middleware struct {
	// Name is the meta key; Aliases are accepted for it. Upstream are names that another harness uses for it, which
	// are answered with this one.
	Name, Doc string
	Aliases   []string
	Upstream  []string
	// Off closes it unless the meta map says true.
	Off bool
	// Segments are known even when it is closed, so that an override of a closed one is no unknown key.
	Segments []prompt.Segment
	// Tools and Deferred are its static tools, built once and shared by every session.
	Tools, Deferred *toolview.Set
	// Dynamic is the prefix that the name of a tool published by a source must carry ("mcp__") unless the static sets
	// declare it; "" = declared names only.
	Dynamic string
	// Routes are the names and docs of its slash commands. RouteFamily allows more, whose names only Open knows.
	Routes      []RouteDecl
	RouteFamily bool
	// Requires closes it with any of these; they stand earlier in the suite.
	Requires []string
	// After asserts the suite's order; it never reorders.
	After []string
	// RootOnly leaves it out of named children; forks keep it. It can bring no gate and no rewriter.
	RootOnly bool
	// Gates says that it brings a gate: it cannot be paused, and closing it wants trust. Open fails when what it
	// brings differs.
	Gates bool
	// Policy is what its options fix for the life of a session: it is in the session's digest, stored with it, and
	// handed to Open in Env.Policy on a resume as on the first day.
	Policy json.RawMessage
	// Extras are what it brings for those behind it to run, out of its frozen policy: a folder's hooks, servers, agents.
	// They are there while it is live. It runs before any Open behind it, and is to do nothing but read the policy.
	Extras func(policy json.RawMessage) ([]toolview.Extra, error)
	// Open starts it for one session. nil = it has nothing but its constants.
	Open func(context.Context, Env) (*Instance, error)
}

// Instance is a middleware at work in one session. A child session shares it unless Child makes another.
type Instance struct {
	// State reaches its own tools as Call.State.
	State any
	// Tools and Deferred publish tools in the place of the static sets; nil leaves those as they are.
	Tools, Deferred toolview.Source
	// BroughtTools and Brought publish, direct and deferred, what a child's own definition brought: its parent's view need
	// not hold it, and the deny lists of all above bind it all the same.
	BroughtTools, Brought toolview.Source
	// Unsupported is why its precondition does not hold; all that it brings but its gates is absent then.
	Unsupported string
	// Vars fills the placeholders of its own Live segments, once.
	Vars  map[string]string
	Hooks Hooks
	// Routes runs the declared routes, by name. LiveRoutes are further ones that come and go, of a middleware with a
	// RouteFamily. It never blocks, and is safe for concurrent use.
	Routes     []Route
	LiveRoutes func() []Route
	// Contribute adds to one request. It runs on the loop's goroutine and is not to block.
	Contribute func(context.Context, *Step, *prompt.Tail) error
	// Agents says who may be spawned by name.
	Agents Agents
	// Due takes out a prompt that is due at now; "" = none, and next is when to ask again, zero = not before Env.Wake. The
	// session asks while its host awaits such prompts; a middleware starts no turn itself. It may run beside its tools.
	Due func(now time.Time) (prompt string, next time.Time)
	// Facts tells what no other field shows: agents, skills, servers.
	Facts func() []Fact
	// Diagnostics tells what is wrong with it at the moment. It never blocks, and is safe for concurrent use.
	Diagnostics func() []meta.Diagnostic
	// Written names the files of users whose text reaches a model by it: absolute, from the project's root, or from the
	// user's home with ~ in front. Agents' files are told by Agents.
	Written []string
	// Tune takes new values of the settings that may change while the session lives, by settings key. It checks a value
	// and returns what puts it in force, for this instance and those that came from its Child: a change of several
	// settings is made whole or not at all. It may run beside the instance's tools.
	Tune map[string]func(value json.RawMessage) (apply func(), err error)
	// Child makes the instance of a child session; nil = the child shares this one.
	Child func(context.Context, Env) (*Instance, error)
	// Close releases what Open took. It may be called more than once.
	Close func(context.Context) error
}

// Hooks are what a middleware does around the loop. Each runs with its panic contained and attributed to its owner.
type Hooks struct {
	// Gate is a pure judge of calls and may run twice; it must not block. out arrives all Deny, so that a gate that
	// errs, panics, is late or forgets a call has denied it.
	Gate func(ctx context.Context, calls []*toolview.Call, out []Verdict)
	// Rewrite runs once for every call, in chain order, each seeing what those before it made of the arguments. It may
	// set new arguments, deny, ask, or allow what a mode alone asked about. out arrives all Deny here too: Pass leaves
	// a call as it is.
	Rewrite func(ctx context.Context, calls []*toolview.Call, out []Verdict)
	// Asked runs once for a call that a person is about to be asked about, v being the verdict that asks. It may deny, or
	// allow what a mode alone asks about, in that person's place, also with other arguments, which are judged first; Pass
	// leaves it to the person. It runs where Rewrite does; a panic denies.
	Asked func(ctx context.Context, call *toolview.Call, v Verdict) Verdict
	// Approved learns that a person approved a call for longer than this once: v is the verdict that asked, with the
	// rules that it said it would grant, and scope how long. An error is reported; the call runs all the same.
	Approved func(ctx context.Context, call *toolview.Call, v Verdict, scope string) error
	// WrapModel and WrapTool are composed once per chain, the first middleware outermost. WrapTool is around leaves
	// and may replace a result, never the call.
	WrapModel func(ModelFunc) ModelFunc
	WrapTool  func(ToolFunc) ToolFunc

	// Start runs before a session's first turn and End when it closes.
	Start func(context.Context) error
	End   func(context.Context)
	// Input sees a user's prompt before the first step and may add parts to it; an error refuses the turn.
	Input func(context.Context, *Input) error
	// Reply and Result observe. Result runs for every call that ran, on the goroutine of the call: several may run at
	// once.
	Reply  func(context.Context, *Step, *message.Message)
	Result func(context.Context, *toolview.Call, *message.Result)
	// Batch observes that every call of a step has its result, uses and results being of the same length.
	Batch func(ctx context.Context, s *Step, uses []*message.Use, results []*message.Result)
	// Stop runs when a turn would end; a text that it returns continues the turn as the user's.
	Stop func(context.Context, *Step) (string, error)
	// History may replace what the model is sent of the conversation. One owner of a chain may have it.
	History func(context.Context, *Step, []*message.Message) ([]*message.Message, error)
}

// Agents is who may be spawned by name.
type Agents interface {
	// Agent completes a spawn by the named definition.
	Agent(name string) (toolview.Spawn, bool)
	// List is the roster in a fixed order.
	List() []AgentInfo
}

// Starter is an Agents whose owner has a tool that starts agents. Start is the call of it that a task stands for, so
// that there is one way to start an agent, under the rules of that tool, whoever asks for it.
type Starter interface {
	Agents
	Start(toolview.Task) (toolview.Inner, error)
}

// AgentInfo is one entry of a roster.
type AgentInfo struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc,omitempty"`
	Origin string   `json:"origin"`
	File   string   `json:"file,omitempty"`
	Tools  []string `json:"tools"`
	// By is the middleware that brought it along, when that is another than the one whose roster it is in.
	By string `json:"by,omitempty"`
}

// Step is what hooks are told of the step at hand. Its slices are shared and not to be changed.
type Step struct {
	Session, Agent string
	N              int
	View           *toolview.View
	Messages       []*message.Message
}

// Input is a user's prompt.
type Input struct {
	Parts []message.Part `json:"parts"`
	// Owner is the middleware whose schedule the prompt is of, "" = a user's. A model may have written it: what a user's
	// prompt may reach past the rules, it may not.
	Owner string `json:"owner,omitempty"`
	// Call runs a tool for the prompt as if the model had called it: resolved by the view that holds now, judged, asked
	// about and run. It is called on the hook's own goroutine; nil = there is no turn to run it in.
	Call func(toolview.Inner) *message.Result `json:"-"`
}

// Text is the concatenation of the input's text.
func (in *Input) Text() string { return (&message.Message{Parts: in.Parts}).Text() }

// Request is what one step sends to a model. It is valid for one call and its slices are shared.
type Request struct {
	Model  string
	System []prompt.Block
	// View holds the tools; View.Direct is the tool array in wire order.
	View     *toolview.View
	Messages []*message.Message
	// Tail goes after the last message and is stored nowhere.
	Tail []prompt.Contribution
}

// Sink takes the deltas of a streamed reply. It is called on the goroutine that called the model.
type Sink func(message.Event)

// ModelFunc is one request to a model. It is safe for concurrent use.
type ModelFunc func(context.Context, *Request, Sink) (*message.Message, error)

// ToolFunc runs one judged call.
type ToolFunc func(context.Context, *toolview.Call) (*message.Result, error)

// Fact is one thing that a session has. Surface is its kind, Owner the middleware that it hangs off. By is the one that
// brought it along for its owner to run, with which it leaves too; "" = the owner itself.
type Fact struct {
	Surface string `json:"surface"`
	Name    string `json:"name"`
	Owner   string `json:"owner"`
	Doc     string `json:"doc,omitempty"`
	Detail  string `json:"detail,omitempty"`
	By      string `json:"by,omitempty"`
}
