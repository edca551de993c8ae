package middleware

import (
	"encoding/json"

	"github.com/metaharness/peri/meta"
)

// Decision is what a gate says of a call. The strictest is the least, so that the zero value denies and joining is
// taking the smaller.
type Decision uint8

const (
	Deny Decision = iota
	Ask
	Allow
	Pass
)

func (d Decision) String() string {
	switch d {
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "pass"
}

// Verdict is a decision with its reason.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Reason is what the model reads of a denial, and a person of a request.
	Reason string `json:"reason,omitempty"`
	// Rule and Origin name what decided, when something written did.
	Rule   string      `json:"rule,omitempty"`
	Origin meta.Origin `json:"origin,omitzero"`
	// Mode marks an Ask that comes from a permission mode alone: a rewriter's Allow can satisfy it.
	Mode bool `json:"mode,omitempty"`
	// Grants are the rules that an answer for longer than this call would set down, as whoever asks reads them; none = it
	// can be approved for this once alone.
	Grants []string `json:"grants,omitempty"`
	// Args, from a rewriter, replaces the call's arguments.
	Args json.RawMessage `json:"args,omitempty"`
}

// join keeps the stricter of two verdicts; of equals the earlier, except that an ask which a mode alone made gives
// way to one that somebody wrote.
func join(a, b Verdict) Verdict {
	if b.Decision < a.Decision || b.Decision == Ask && a.Decision == Ask && a.Mode && !b.Mode {
		return b
	}
	return a
}
