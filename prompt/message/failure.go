package message

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What keeps a model from answering. A Failure is one of these, for errors.Is.
var (
	// ErrContextLength: the request is longer than the model takes.
	ErrContextLength = errors.New("the conversation is longer than the model takes")
	// ErrOverload: too many requests, or a vendor without capacity.
	ErrOverload = errors.New("the model is overloaded or was asked too often")
	// ErrAuth: no key, or one that was refused.
	ErrAuth = errors.New("the key was refused")
	// ErrBadRequest: the request was refused for what it says; sending it again does not help.
	ErrBadRequest = errors.New("the request was refused")
	// ErrUnavailable: nobody answered, or the server failed.
	ErrUnavailable = errors.New("the model cannot be reached")
	// ErrInterrupted: the answer broke off after a part of it had been shown.
	ErrInterrupted = errors.New("the answer broke off")
	// ErrRefused: the model would not answer, and said nothing.
	ErrRefused = errors.New("the model refused to answer")
	// ErrEmpty: the answer held neither text nor a call.
	ErrEmpty = errors.New("the answer was empty")
)

// Failure is why a model gave no answer. It holds no key and nothing of the request.
type Failure struct {
	// Provider is who was asked ("anthropic"), Kind one of the errors above.
	Provider string
	Kind     error
	// Status is the HTTP status; 0 = there was none.
	Status int
	// Text is the vendor's own word.
	Text string
	// RetryAfter is how long the vendor asks to wait; 0 = it does not say.
	RetryAfter time.Duration
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", f.Provider, f.Kind)
	if f.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", f.Status)
	}
	if f.Text != "" {
		b.WriteString(": " + f.Text)
	}
	return b.String()
}

func (f *Failure) Unwrap() error { return f.Kind }
