package closuretest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// What the framework makes impossible cannot be planted in a suite. That the checks would report it is shown on records
// that no session made.

// fabricated is a trial of a suite with a gate, a text and a tool, with the owner of the text closed.
func fabricated(t *testing.T) *trial {
	t.Helper()
	text := middleware.Middleware{
		Name: "Text", Doc: "Has a text and a tool.", Segments: []prompt.Segment{{ID: "10_text", Text: "Some text."}},
		Tools: toolview.MustSet(toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "TextTool"}, Doc: "Does it."},
			func(context.Context, any, *toolview.Call, struct{}) (*message.Result, error) {
				return message.Say("ok"), nil
			})),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{}, nil
		},
	}
	l, leaks, err := begin(t.Context(), Config{Middlewares: []middleware.Middleware{text}, Turns: 1})
	require.NoError(t, err)
	require.Empty(t, leaks)
	tr := l.trial([]string{"Text"})
	tr.each(t.Context(), func(c check, found []Leak) { require.Empty(t, found, c.name) })
	return tr
}

func TestClosedMiddlewareThatWasOpenedIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.seen.led.events = append(tr.seen.led.events, happening{"open", "Text", 0})
	tr.check = NeverBuilt
	neverBuilt(t.Context(), tr)
	require.Equal(t, []Leak{{Check: NeverBuilt, Closed: "Text", Owner: "Text", Where: "Open", Text: "ran 1 times"}}, tr.take())
}

func TestWhatAnOverrideWouldBringBackIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.seen.gone = map[string]bool{"Text": true}
	open, err := tr.open(t.Context(), setup{}) // as if closing had done nothing
	require.NoError(t, err)
	defer open.end(nil)
	tr.check = NoResurrection
	tr.host(open)
	found := tr.take()
	require.Contains(t, found, Leak{Check: NoResurrection, Closed: "Text", Owner: "Text", Where: "tool TextTool", Text: "came back by unpause"})
	require.Contains(t, found, Leak{Check: NoResurrection, Closed: "Text", Owner: "Text", Where: "segment 10_text", Text: "appeared by the host"})
}

func TestGateThatAChildLostIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.check = Inherited
	parent := map[[2]string]middleware.Decision{{"Gate", "Tool"}: middleware.Ask, {"Other", "Tool"}: middleware.Pass, {"Gate", "Gone"}: middleware.Deny}
	tr.guarded("fork", parent, map[[2]string]middleware.Decision{{"Other", "Tool"}: middleware.Pass})
	require.Equal(t, []Leak{{Check: Inherited, Closed: "Text", Owner: "Gate", Where: "fork: gate", Text: "is not asked about `Tool`, and its parent's is"}}, tr.take())
}

func TestToolThatAChildGainedIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.check = Inherited
	parent, err := tr.open(t.Context(), setup{closed: tr.closed})
	require.NoError(t, err)
	defer parent.end(nil)
	wider, err := tr.open(t.Context(), setup{})
	require.NoError(t, err)
	defer wider.end(nil)
	tr.subset("fork", parent.Session, wider.Session)
	require.Contains(t, tr.take(), Leak{Check: Inherited, Closed: "Text", Owner: "Text", Where: "fork: tool TextTool", Text: "is visible, and its parent lacks it"})
}

func TestToolThatAStartedChildIsSentAndItsParentLacksIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.check = Inherited
	parent, err := tr.open(t.Context(), setup{closed: tr.closed})
	require.NoError(t, err)
	defer parent.end(nil)
	wider, err := tr.open(t.Context(), setup{})
	require.NoError(t, err)
	defer wider.end(nil)
	how := started{Prompt: "start", By: byWorkflow}
	sent := []request{{view: wider.View(), messages: []*message.Message{{Role: message.User, Parts: []message.Part{{Kind: message.Text, Text: "start it"}}}}}}
	tr.within(ownersOf(wider.View()), how, sent)
	require.Empty(t, tr.take())
	tr.within(ownersOf(parent.View()), how, sent)
	require.Equal(t, []Leak{{Check: Inherited, Closed: "Text", Owner: "Text", Where: "start: tool TextTool", Text: "is visible, and its parent lacks it"}}, tr.take())
	tr.within(ownersOf(wider.View()), how, nil)
	found := tr.take()
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "no request came of it")
}

func TestInstanceThatIsClosedOutOfOrderTwiceOrNeverIsReported(t *testing.T) {
	tr := fabricated(t)
	tr.check = Closes
	led := &ledger{}
	for i, owner := range []string{"A", "B", "C"} {
		led.in = append(led.in, instance{owner: owner, session: "s", raw: &middleware.Instance{}})
		led.events = append(led.events, happening{"open", owner, i})
	}
	led.events = append(led.events, happening{"close", "C", 2}, happening{"close", "A", 0}, happening{"close", "A", 0})
	tr.reversed(led)
	at := func(owner, text string) Leak {
		return Leak{Check: Closes, Closed: "Text", Owner: owner, Where: "Close", Text: text}
	}
	require.Equal(t, []Leak{at("A", "ran before that of B, which was opened later"), at("A", "ran more than once"), at("B", "did not run")}, tr.take())
}
