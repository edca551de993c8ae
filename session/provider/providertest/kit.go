// Package providertest is the contract of a model adapter. One call of Run checks what every model does for a session; an
// adapter with a vendor behind it also proves its wire, on a server that takes nothing which the vendor would refuse.
package providertest

import (
	"testing"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

// Subject is an adapter under test.
type Subject struct {
	// Play makes a model that answers with replies, one a request.
	Play func(t testing.TB, tune Tuning, replies ...wire.Reply) Played
	// Inexact says that the model words its texts by itself.
	Inexact bool
	// Marks says that the API is told where a cached prefix ends.
	Marks bool
}

// Tuning is what the kit sets of an adapter's options.
type Tuning struct {
	Retry    exchange.Policy
	Continue int
	// Key overrides the server's.
	Key string
}

// Played is a model at work.
type Played struct {
	Model middleware.ModelFunc
	// Prompt is what has the replies come; "" = anything does.
	Prompt string
	// Server is the vendor; nil = there is none.
	Server *wire.Server
}

// Run checks an adapter. Each check is a subtest that is named for what holds.
func Run(t *testing.T, s Subject) {
	for _, c := range general {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
	if s.Play(t, Tuning{}).Server == nil {
		return
	}
	for _, c := range vendors {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

type check struct {
	name string
	run  func(t *testing.T, s Subject)
}

var general = []check{
	{"a text streams in and is the answer", streamsText},
	{"calls come apart, with their own arguments", makesCalls},
	{"a request is left as it was", leavesRequest},
	{"deltas come on the caller's goroutine", sinksOnCaller},
	{"a request ends with its context", endsWithContext},
	{"a model serves many sessions at once", concurrent},
}

var vendors = []check{
	{"why it stopped is told in four words", stops},
	{"usage counts what the cache read and wrote", counts},
	{"reasoning is kept, and replayed as the API wants it", replaysReasoning},
	{"arguments stream in", streamsArguments},
	{"a stream that breaks is an interruption once something was shown, and is sent again before", breaks},
	{"an error inside a stream is told as what it is", failsInStream},
	{"a request is sent again after a wait that the vendor may name", retries},
	{"waiting has an end", givesUp},
	{"errors have types", types},
	{"the key is in no error", hidesKey},
	{"an answer that was cut off is continued", continues},
	{"an answer that stays cut off is kept as it is", staysCut},
	{"a call that was cut in two is not made", dropsCutCall},
	{"an empty answer is none", refusesEmpty},
	{"every kind of history is taken", takesHistory},
	{"images and documents go in", takesMedia},
	{"the tail stands last and is gone the next time", tail},
	{"the same request is the same bytes", sameBytes},
	{"what a store has kept is the same bytes", storedBytes},
	{"a prefix that was sent is sent again", prefix},
	{"a prefix that was cached is read", reads},
	{"schemas are shown as the API takes them", schemas},
	{"a view that is gone takes what was written for it along", forgets},
}

// answer asks a model and gathers its deltas.
func answer(t testing.TB, p Played, r *middleware.Request) (*message.Message, []message.Event, error) {
	t.Helper()
	var events []message.Event
	m, err := p.Model(t.Context(), r, func(e message.Event) { events = append(events, e) })
	return m, events, err
}

func texts(events []message.Event, kind message.EventKind) string {
	out := ""
	for _, e := range events {
		if e.Kind == kind {
			out += e.Text
		}
	}
	return out
}
