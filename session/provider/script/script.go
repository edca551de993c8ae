// Package script is a model that plays a script: steps written beforehand, each of which may check what it was sent. It
// is what tests use; the program knows it as script:FILE.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// Step is one reply. A step without calls ends the turn.
type Step struct {
	Text  string `yaml:"text"`
	Calls []Call `yaml:"calls"`
	// Error makes the request fail with that text.
	Error  string `yaml:"error"`
	Expect Expect `yaml:"expect"`
}

// Call is one tool use of a reply. ID "" = call_<step>_<number>.
type Call struct {
	ID   string         `yaml:"id"`
	Tool string         `yaml:"tool"`
	Args map[string]any `yaml:"args"`
}

// Expect is what a step checks of its request; what is empty is not checked. A miss fails the request.
type Expect struct {
	// Tools and NoTools are names that are, and are not, in the tool array.
	Tools   []string `yaml:"tools"`
	NoTools []string `yaml:"no_tools"`
	// System, NoSystem, Last, NoLast, Tail and NoTail are texts that are, and are not, in the system prompt, the last message
	// and the tail.
	System   []string `yaml:"system"`
	NoSystem []string `yaml:"no_system"`
	Last     []string `yaml:"last"`
	NoLast   []string `yaml:"no_last"`
	Tail     []string `yaml:"tail"`
	NoTail   []string `yaml:"no_tail"`
}

// Script plays steps. Named agents have steps of their own; a fork plays on where its parent is. It is safe for
// concurrent use.
type Script struct {
	mu     sync.Mutex
	agents map[string][]Step
	at     map[string]int
	sent   []Sent
}

// Sent is a copy of what a request held.
type Sent struct {
	Agent  string
	System []string
	// Ends is the index of the last cached block, -1 = none.
	Ends     int
	Tools    []string
	Deferred []string
	Messages []*message.Message
	Tail     []string
}

// New makes a script of the main session's steps.
func New(steps ...Step) *Script { return For(map[string][]Step{"": steps}) }

// For makes a script of every agent's steps; "" is the main session.
func For(agents map[string][]Step) *Script {
	return &Script{agents: agents, at: map[string]int{}}
}

// Say is a step of a text alone.
func Say(text string) Step { return Step{Text: text} }

// Do is a step of calls: a name and a JSON object in turn.
func Do(pairs ...string) Step {
	var s Step
	for i := 0; i+1 < len(pairs); i += 2 {
		var args map[string]any
		if err := json.Unmarshal([]byte(pairs[i+1]), &args); err != nil {
			panic(fmt.Sprintf("script: arguments of %s: %v", pairs[i], err))
		}
		s.Calls = append(s.Calls, Call{Tool: pairs[i], Args: args})
	}
	return s
}

// Models is a model factory of the script, whatever the name.
func (s *Script) Models(string) (middleware.ModelFunc, error) { return s.Model, nil }

// Sent returns what every request so far held, in the order in which they came.
func (s *Script) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Model answers one request with the next step of its agent.
func (s *Script) Model(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sent := record(r)
	s.mu.Lock()
	n := s.at[sent.Agent]
	s.at[sent.Agent]++
	s.sent = append(s.sent, sent)
	steps := s.agents[sent.Agent]
	s.mu.Unlock()
	if n >= len(steps) {
		return nil, fmt.Errorf("script: agent %q has %d steps, and a request more came", sent.Agent, len(steps))
	}
	step := steps[n]
	if err := step.Expect.check(sent); err != nil {
		return nil, fmt.Errorf("script: agent %q, step %d: %w", sent.Agent, n+1, err)
	}
	if step.Error != "" {
		return nil, errors.New(step.Error)
	}
	return step.play(n, sink)
}

func (s *Step) play(n int, sink middleware.Sink) (*message.Message, error) {
	m := &message.Message{Role: message.Assistant, Model: "script", Stop: "end"}
	if s.Text != "" {
		for i, word := range strings.SplitAfter(s.Text, " ") {
			if word != "" || i == 0 {
				sink(message.Event{Kind: message.TextDelta, Text: word})
			}
		}
		m.Parts = append(m.Parts, message.Part{Kind: message.Text, Text: s.Text})
	}
	for i, c := range s.Calls {
		args := c.Args
		if args == nil {
			args = map[string]any{}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("script: arguments of %s: %w", c.Tool, err)
		}
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", n+1, i+1)
		}
		m.Stop = "tool_use"
		m.Parts = append(m.Parts, message.Part{Kind: message.ToolUse, Use: &message.Use{ID: id, Name: c.Tool, Args: raw}})
	}
	return m, nil
}

func record(r *middleware.Request) Sent {
	sent := Sent{Agent: r.View.Agent(), Ends: -1, Messages: slices.Clone(r.Messages)}
	for i, b := range r.System {
		sent.System = append(sent.System, b.Text)
		if b.EndsCache {
			sent.Ends = i
		}
	}
	for _, t := range r.View.Direct() {
		sent.Tools = append(sent.Tools, t.Name)
	}
	for e := range r.View.Deferred() {
		sent.Deferred = append(sent.Deferred, e.Tool.Name)
	}
	for _, c := range r.Tail {
		sent.Tail = append(sent.Tail, c.Text)
	}
	return sent
}

func (e *Expect) check(sent Sent) error {
	var errs []error
	tools := func(want bool, names []string) {
		for _, n := range names {
			if slices.Contains(sent.Tools, n) != want {
				errs = append(errs, fmt.Errorf("tool %s: in the tool array %v, expected %v", n, !want, want))
			}
		}
	}
	texts := func(where, text string, want bool, parts []string) {
		for _, p := range parts {
			if strings.Contains(text, p) != want {
				errs = append(errs, fmt.Errorf("%s: holds %q %v, expected %v", where, p, !want, want))
			}
		}
	}
	tools(true, e.Tools)
	tools(false, e.NoTools)
	system, tail, last := strings.Join(sent.System, "\n"), strings.Join(sent.Tail, "\n"), sent.last()
	texts("the system prompt", system, true, e.System)
	texts("the system prompt", system, false, e.NoSystem)
	texts("the last message", last, true, e.Last)
	texts("the last message", last, false, e.NoLast)
	texts("the tail", tail, true, e.Tail)
	texts("the tail", tail, false, e.NoTail)
	return errors.Join(errs...)
}

func (s *Sent) last() string {
	if len(s.Messages) == 0 {
		return ""
	}
	m := s.Messages[len(s.Messages)-1]
	text := m.Text()
	for _, r := range m.Results() {
		text += r.Text() + "\n"
	}
	return text
}
