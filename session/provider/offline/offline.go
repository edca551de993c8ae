// Package offline is a model without a network: deterministic, for demonstrations and tests. A line `call TOOL JSON` in
// the prompt becomes a tool call; consecutive lines are one step, a blank line starts the next; $1, $2, … in the JSON
// stand for the texts of the results so far. What is left is answered by a short account of what the model was given.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// Model answers one request. It holds no state, so that any number of sessions share it.
func Model(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prompt, step, results := read(r.Messages)
	steps := parse(prompt)
	if step < len(steps) {
		m := &message.Message{Role: message.Assistant, Model: "offline", Stop: "tool_use"}
		for i, c := range steps[step] {
			m.Parts = append(m.Parts, message.Part{Kind: message.ToolUse, Use: &message.Use{
				ID: fmt.Sprintf("call_%d_%d_%d", len(r.Messages), step+1, i+1), Name: c.tool, Args: fill(c.args, results),
			}})
		}
		return m, nil
	}
	text := account(r, len(steps) > 0, results)
	sink(message.Event{Kind: message.TextDelta, Text: text})
	m := message.Of(message.Assistant, text)
	m.Model, m.Stop = "offline", "end"
	return m, nil
}

type call struct {
	tool string
	args string
}

// read finds the last prompt, how many steps have answered it, and the results that they had.
func read(h []*message.Message) (prompt string, step int, results []string) {
	for _, m := range h {
		switch m.Role {
		case message.User:
			prompt, step, results = m.Text(), 0, nil
		case message.Assistant:
			step++
		case message.Tool:
			for _, r := range m.Results() {
				results = append(results, r.Text())
			}
		}
	}
	return prompt, step, results
}

// parse reads the steps of a prompt.
func parse(prompt string) [][]call {
	var steps [][]call
	open := false
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(line)
		rest, is := strings.CutPrefix(line, "call ")
		if !is {
			open = open && line != ""
			continue
		}
		tool, args, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		if !open {
			steps = append(steps, nil)
			open = true
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], call{tool, args})
	}
	return steps
}

var reference = regexp.MustCompile(`\$[0-9]+`)

// fill puts results into arguments, escaped for the JSON string that they stand in.
func fill(args string, results []string) json.RawMessage {
	out := reference.ReplaceAllStringFunc(args, func(ref string) string {
		n, err := strconv.Atoi(ref[1:])
		if err != nil || n < 1 || n > len(results) {
			return ref
		}
		quoted, err := json.Marshal(results[n-1])
		if err != nil {
			return ref
		}
		return string(quoted[1 : len(quoted)-1])
	})
	return json.RawMessage(out)
}

// mostShown bounds how much of one result the account repeats, in bytes.
const mostShown = 8 << 10

func account(r *middleware.Request, called bool, results []string) string {
	segments := 0
	for _, b := range r.System {
		segments += len(b.Segments)
	}
	deferred := 0
	for range r.View.Deferred() {
		deferred++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The offline model was given %d tools (%d more to be found), %d segments, messages: %d, notes behind them: %d.",
		len(r.View.Direct()), deferred, segments, len(r.Messages), len(r.Tail))
	if !called {
		b.WriteString(" It cannot think: write a line `call TOOL JSON` to have a tool called.")
		return b.String()
	}
	for i, text := range results {
		if len(text) > mostShown {
			text = strings.ToValidUTF8(text[:mostShown], "") + "\n…"
		}
		fmt.Fprintf(&b, "\n$%d: %s", i+1, text)
	}
	return b.String()
}
