// Package exchange makes one answer of as many requests as it takes: what fails before anything was shown is sent again,
// what was cut off by the output limit is continued, and what is empty is no answer. It knows no vendor.
package exchange

import (
	"context"
	"errors"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// Ask sends one request and returns the answer, or a *message.Failure. more goes after the request's own messages. A reply
// that was cut off has the Stop "length".
type Ask func(ctx context.Context, more []*message.Message, sink middleware.Sink) (*message.Message, error)

// Exchange is how a provider's answers are got. It is a plain value.
type Exchange struct {
	Provider string
	Retry    Policy
	// Continue is how often an answer that the output limit cut off is continued; 0 = 3, negative = never.
	Continue int
}

// The words that ask for the rest of an answer.
const (
	goOn    = "Your answer was cut off by the output limit. Continue exactly where it ends, without repeating anything."
	goSmall = "Your answer was cut off by the output limit in the middle of a call of `"
	smaller = "`, which was not made. Make it in smaller pieces."
)

// Run gets one answer.
func (x Exchange) Run(ctx context.Context, ask Ask, sink middleware.Sink) (*message.Message, error) {
	budget := x.Continue
	if budget == 0 {
		budget = 3
	}
	whole, err := x.attempt(ctx, ask, nil, sink)
	if err != nil {
		return nil, err
	}
	cut := trim(whole)
	for ; whole.Stop == stopLength && budget > 0 && len(whole.Uses()) == 0; budget-- {
		more := continuation(whole, cut)
		next, err := x.attempt(ctx, ask, more, sink)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			// What has been shown is kept; the reader sees by Stop that it is not all.
			break
		}
		cut = trim(next)
		join(whole, next)
	}
	if !says(whole) {
		return nil, &message.Failure{Provider: x.Provider, Kind: message.ErrEmpty, Text: "it was cut off by the output limit before it said anything"}
	}
	return whole, nil
}

// attempt sends one request until it is answered, has shown something, or has failed for good.
func (x Exchange) attempt(ctx context.Context, ask Ask, more []*message.Message, sink middleware.Sink) (*message.Message, error) {
	p := x.Retry.withDefaults()
	for n := 0; ; n++ {
		shown := false
		reply, err := ask(ctx, more, func(e message.Event) {
			shown = shown || e.Kind == message.TextDelta || e.Kind == message.ReasoningDelta
			sink(e)
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && reply.Stop != stopLength && !says(reply) {
			f := &message.Failure{Provider: x.Provider, Kind: message.ErrEmpty}
			if reply.Stop == "refusal" {
				f.Kind = message.ErrRefused
			}
			err = f
		}
		if err == nil {
			return reply, nil
		}
		if shown {
			return nil, broken(x.Provider, err)
		}
		d, ok := p.delay(n, err)
		if !ok || n+1 >= p.Attempts {
			return nil, err
		}
		if err := p.Wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// broken says of a failure that a part of the answer had been shown. A refusal keeps its kind: nothing broke off.
func broken(provider string, err error) error {
	if !passing(err) || errors.Is(err, message.ErrEmpty) {
		return err
	}
	b := message.Failure{Provider: provider}
	var f *message.Failure
	if errors.As(err, &f) {
		b = *f
	}
	b.Kind = message.ErrInterrupted
	return &b
}

const stopLength = "length"

// says reports whether a message is worth a place in a transcript.
func says(m *message.Message) bool {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case message.Reasoning:
		case message.Text:
			if !blank(p.Text) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}
