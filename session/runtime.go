package session

import (
	"encoding/json"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Runtime is the turn loop's only way to anything outside it. What crosses it is plain data, so that a loop can also run
// as a replayable workflow of a durable engine. The loop calls it on one goroutine; within Parallel, each f has a
// Runtime of its own.
type Runtime interface {
	// Input looks up a route, runs the prompt hooks and records the prompt. An Input that comes back with an Answer
	// has been answered without a model.
	Input(Input) (Input, error)
	// Prepare takes the snapshot of a step: view, system, history and tail.
	Prepare(step int) (*Step, error)
	// Model sends the step and records the reply.
	Model(*Step) (*message.Message, error)
	// Judge makes a Ready of each use. by is the flow that made them, nil for the model's own.
	Judge(s *Step, by *Ready, uses []*message.Use, out []Ready)
	// Decide puts the asks of a step to the approver, as one request.
	Decide(asks []*Ready) ([]Approval, error)
	// Ask puts a flow's question to a person.
	Ask(*Ready, toolview.Question) (toolview.Answer, error)
	// Starts are the calls by which tasks are handed to agents.
	Starts([]toolview.Task) ([]toolview.Inner, error)
	// Tool runs a leaf, Flow a tool that works through its host, Child a child session.
	Tool(*Step, *Ready) (*message.Result, error)
	Flow(*Step, *Ready, toolview.Host) (*message.Result, error)
	Child(*Ready, toolview.Spawn) (*message.Result, error)
	// Parallel runs f for 0 … n-1, beside each other, and returns when all have returned.
	Parallel(n int, f func(Runtime, int))
	// End records the results of a step, one for each use, and says whether another step follows. Without results
	// the turn would end, and the stop hooks are asked.
	End(step int, results []*message.Result) (more bool, err error)
	Emit(message.Event)
	NewID() string
	// Err is why the turn cannot go on; nil while it can.
	Err() error
}

// Input is a user's prompt.
type Input struct {
	Parts []message.Part `json:"parts"`
	// Answer is set by a route that answers by itself.
	Answer *message.Message `json:"answer,omitempty"`
	// Owner is the middleware whose schedule the prompt is of; "" = a user's. Such a prompt is no slash command.
	Owner string `json:"owner,omitempty"`
}

// Text is a prompt of one text.
func Text(text string) Input {
	return Input{Parts: []message.Part{{Kind: message.Text, Text: text}}}
}

// Step is the handle of a step; the runtime keeps what it stands for.
type Step struct {
	N int `json:"n"`
}

// Ready is a use that has been resolved and judged.
type Ready struct {
	Use *message.Use `json:"use"`
	// Name is the real tool, Call the runtime's number for the call; Refused is set instead when there is none.
	Name    string          `json:"name,omitempty"`
	Call    int             `json:"call"`
	Flow    bool            `json:"flow,omitempty"`
	Refused *message.Result `json:"refused,omitempty"`
	// Parent is the use of the flow that made the call; "" = the model's own.
	Parent  string             `json:"parent,omitempty"`
	Verdict middleware.Verdict `json:"verdict"`
}

// Approval is a person's answer to a request to run a call.
type Approval struct {
	Allow bool `json:"allow"`
	// Scope is how long an approval holds: Once, "" like it, ForSession or Always. For longer than once it holds for
	// what the request's Grants say; a request without them is approved once whatever Scope says.
	Scope string `json:"scope,omitempty"`
	// Message tells the model why not.
	Message string `json:"message,omitempty"`
}

// The scopes of an approval.
const (
	Once       = "once"
	ForSession = "session"
	Always     = "always"
)

// Request is a call that waits for approval, as a person should see it: what runs is what is shown.
type Request struct {
	ID string `json:"id"`
	// Agent is the child that makes the call; "" = the main session.
	Agent    string             `json:"agent,omitempty"`
	Tool     string             `json:"tool"`
	Owner    string             `json:"owner"`
	Args     json.RawMessage    `json:"args"`
	Effects  string             `json:"effects,omitempty"`
	Subjects []toolview.Subject `json:"subjects,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Rule     string             `json:"rule,omitempty"`
	// Grants are the rules that an approval for longer than once sets down for this agent; none = it can be approved
	// once alone.
	Grants []string `json:"grants,omitempty"`
}

// slash cuts a prompt of the form /name args. A first word with a second slash is a path and no command.
func slash(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args, _ = strings.Cut(rest, " ")
	name = strings.TrimRight(name, "\r\n")
	if name == "" || strings.ContainsAny(name, "/\n\t") {
		return "", "", false
	}
	return name, strings.TrimSpace(args), true
}
