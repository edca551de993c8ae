package message

// EventKind names what happened.
type EventKind string

const (
	// TurnStart opens a turn; Message is the user's.
	TurnStart EventKind = "turn_start"
	// TextDelta and ReasoningDelta carry Text as it streams in.
	TextDelta      EventKind = "text_delta"
	ReasoningDelta EventKind = "reasoning_delta"
	// ArgsDelta carries a piece of a call's arguments in Text, as it streams in; Use has the call's id and name. A call
	// that is in no Reply afterwards was begun and given up.
	ArgsDelta EventKind = "args_delta"
	// Reply carries the model's whole message of a step.
	Reply EventKind = "message"
	// CallStart and CallEnd frame one tool call: Use, then Result.
	CallStart EventKind = "tool_start"
	CallEnd   EventKind = "tool_end"
	// Progress is a running tool's or child's word, in Text.
	Progress EventKind = "progress"
	// Note is a notice for people: a diagnostic, a cache rewrite, a contained panic.
	Note EventKind = "notice"
	// ChildStart and ChildEnd frame a delegated agent's work; Agent names it, Parent is the id of the call that
	// started it. ChildEnd has its Result and the Usage of its turn, its own children's included. The end of one that works
	// in the background comes when it is done, in whichever turn runs then or next.
	ChildStart EventKind = "child_start"
	ChildEnd   EventKind = "child_end"
	// TurnEnd closes a turn; Reason is done, cancelled, limit or failed. Usage is the turn's, with that of every child
	// whose ChildEnd came in it; nil = the model told none.
	TurnEnd EventKind = "turn_end"
)

// Event is one thing that happened in a turn. It is a flat value; what it points at is not changed again. Events of
// a child carry its Agent and the Parent call; a main session's leave both empty.
type Event struct {
	Kind    EventKind `json:"kind"`
	Session string    `json:"session,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Step    int       `json:"step"`
	Text    string    `json:"text,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Use     *Use      `json:"use,omitempty"`
	Result  *Result   `json:"result,omitempty"`
	Message *Message  `json:"message,omitempty"`
	Usage   *Usage    `json:"usage,omitempty"`
}
