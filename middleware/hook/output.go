package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// output is what a hook may answer.
type output struct {
	Continue       *bool   `json:"continue"`
	StopReason     string  `json:"stopReason"`
	SystemMessage  string  `json:"systemMessage"`
	Decision       *choice `json:"decision"`
	Reason         string  `json:"reason"`
	SuppressOutput bool    `json:"suppressOutput"`
	Specific       *struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason"`
		Updated  json.RawMessage `json:"updatedInput"`
		Context  string          `json:"additionalContext"`
		// Answer is PermissionRequest's decision.
		Answer *struct {
			Behavior string          `json:"behavior"`
			Updated  json.RawMessage `json:"updatedInput"`
			Message  string          `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// choice is a top-level decision: a word.
type choice string

// said is what one hook said, in our words.
type said struct {
	verdict verdict
	reason  string
	updated json.RawMessage
	context string
	message string // for whoever watches
	halt    bool
}

type verdict uint8

const (
	nothing verdict = iota
	allow
	ask
	deny // block, for events that block
)

// read understands the standard output of a hook that ended well, or the body of a server's answer. strict refuses what
// is no JSON; otherwise that is context.
func read(event string, raw []byte, strict bool) (said, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	switch {
	case len(raw) == 0:
		return said{}, nil
	case raw[0] != '{' && strict:
		return said{}, fmt.Errorf("printed what is no JSON object (%s): messages go to standard error", short(raw))
	case raw[0] != '{':
		return said{context: string(raw)}, nil
	}
	var o output
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&o); err != nil {
		return said{}, fmt.Errorf("printed JSON that cannot be read: %w", err)
	}
	if d.More() {
		return said{}, errors.New("printed more than one JSON object")
	}
	return o.said(event)
}

func (o *output) said(event string) (s said, err error) {
	s = said{reason: o.Reason, message: o.SystemMessage, halt: o.Continue != nil && !*o.Continue}
	if s.halt && o.StopReason != "" {
		s.reason = o.StopReason
	}
	if o.Decision != nil {
		switch *o.Decision {
		case "approve", "allow":
			s.verdict = allow
		case "block", "deny":
			s.verdict = deny
		case "ask":
			s.verdict = ask
		case "":
		default:
			return said{}, fmt.Errorf("decision %q: write approve or block", string(*o.Decision))
		}
	}
	if o.Specific == nil {
		return s, nil
	}
	p := o.Specific
	if p.Event != "" && p.Event != event {
		return said{}, fmt.Errorf("answered for %s when it was asked about %s", p.Event, event)
	}
	s.context, s.updated = p.Context, p.Updated
	if p.Reason != "" {
		s.reason = p.Reason
	}
	word := p.Decision
	if a := p.Answer; a != nil {
		word, s.updated = a.Behavior, a.Updated
		if a.Message != "" {
			s.reason = a.Message
		}
	}
	switch word {
	case "allow":
		s.verdict = max(s.verdict, allow)
	case "ask":
		s.verdict = max(s.verdict, ask)
	case "deny":
		s.verdict = deny
	case "", "defer":
	default:
		return said{}, fmt.Errorf("permissionDecision %q: write allow, ask or deny", word)
	}
	if string(s.updated) == "null" {
		s.updated = nil
	}
	if s.updated != nil && s.updated[0] != '{' {
		return said{}, errors.New("updatedInput is no object")
	}
	return s, nil
}

func short(b []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b[:min(len(b), 200)]), "")), " ")
	if len(b) > 200 {
		s += "…"
	}
	return s
}
