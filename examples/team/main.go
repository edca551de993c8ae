// Team runs a coordinator that has a change reviewed from three sides and what was found verified, offline: first at
// once, then in the background, where one reviewer hangs and is cancelled, and last as a workflow, which is stopped and
// goes on in another session without asking anybody twice.
//
//	go run ./examples/team
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/subagent"
)

//go:embed review.star
var review []byte

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "team:", err)
		os.Exit(1)
	}
}

// coordinator is what the main session's model says, step by step. Agents have ids in the order of their starts.
func coordinator() *script.Script {
	task := func(id int) string { return fmt.Sprintf(`{"id":"team.%d","wait":true}`, id) }
	review := func(side string) string {
		return `{"agent":"reviewer","prompt":"review ` + side + `","background":true}`
	}
	flow := script.Do("ExecuteExtraTool", `{"name":"Workflow","arguments":{"name":"review"}}`)
	return script.New(
		// At once: three in one call, then one that builds on them.
		script.Do("Agent", `{"tasks":[{"agent":"reviewer","prompt":"review correctness"},{"agent":"reviewer","prompt":"review security"},{"agent":"reviewer","prompt":"review tests"}]}`),
		script.Do("Agent", `{"agent":"verifier","prompt":"verify what was found"}`),
		script.Say("Reviewed at once."),
		// In the background: start, do something else, collect.
		script.Do("Agent", review("correctness")), script.Do("Agent", review("for ever")), script.Do("Agent", review("tests")),
		script.Do("Agent", `{"agent":"verifier","prompt":"verify what was found","background":true}`),
		script.Do("AgentResult", task(5), "AgentResult", task(6), "AgentResult", task(7), "AgentResult", task(8)),
		script.Say("Reviewed in the background."),
		// As a workflow: the call whose turn is stopped, and the same call again.
		flow, flow,
		script.Say("Reviewed by a workflow."),
	)
}

// team answers for everybody, and counts what agents answered.
type team struct {
	coordinator *script.Script
	mu          sync.Mutex
	answered    map[string]int
}

func (t *team) models(string) (middleware.ModelFunc, error) {
	return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
		agent := r.View.Agent()
		if agent == "" {
			return t.coordinator.Model(ctx, r, sink)
		}
		prompt := r.Messages[len(r.Messages)-1].Text()
		m := message.Of(message.Assistant, "nothing was found.")
		switch side, is := strings.CutPrefix(prompt, "review "); {
		case side == "for ever":
			<-ctx.Done()
			return nil, ctx.Err()
		case is:
			m = message.Of(message.Assistant, side+": one finding.")
		case agent == "verifier":
			m = message.Of(message.Assistant, "the findings hold.")
		}
		t.mu.Lock()
		t.answered[agent]++
		t.mu.Unlock()
		m.Usage = &message.Usage{Input: 100, Output: 10}
		return m, nil
	}, nil
}

func run(ctx context.Context, out io.Writer) (err error) {
	root, err := os.MkdirTemp("", "team-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	flows := filepath.Join(root, ".peri", "workflows")
	if err := errors.Join(os.MkdirAll(flows, 0o755), os.WriteFile(filepath.Join(flows, "review.star"), review, 0o600)); err != nil {
		return err
	}
	// reviewer and verifier are among the built-in agents.
	catalog, _ := subagent.Load(subagent.LoadOptions{})
	suite, err := builtin.Suite(builtin.Options{SubAgent: subagent.Options{Catalog: catalog}})
	if err != nil {
		return err
	}
	t := &team{coordinator: coordinator(), answered: map[string]int{}}
	o := session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: root},
		ID:        "team", Models: t.models, Store: &memory.Store{},
	}
	s, err := session.New(ctx, o)
	if err != nil {
		return err
	}
	err = t.act(ctx, out, s)
	if err = errors.Join(err, s.Close(ctx)); err != nil {
		return err
	}
	// The journal is all that the next session has of this one.
	if s, err = session.Resume(ctx, o, "team"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	return t.turn(ctx, out, s, "Go on.", nil)
}

// act takes the turns of the first session.
func (t *team) act(ctx context.Context, out io.Writer, s *session.Session) error {
	if err := t.turn(ctx, out, s, "Have the change reviewed.", nil); err != nil {
		return err
	}
	// The host loses patience with the reviewer that hangs when the coordinator begins to wait for it.
	hangs := func(e message.Event) (bool, error) {
		if e.Kind == message.CallStart && e.Use.Name == "AgentResult" && strings.Contains(string(e.Use.Args), `"team.6"`) {
			return false, s.CancelChild("team.6")
		}
		return false, nil
	}
	if err := t.turn(ctx, out, s, "Have it reviewed beside other work.", hangs); err != nil {
		return err
	}
	// The workflow is stopped when its reviewers have reported and the verifier is about to begin.
	verifying := func(e message.Event) (bool, error) { return e.Kind == message.ChildStart && e.Agent == "verifier", nil }
	return t.turn(ctx, out, s, "Have it reviewed by the workflow.", verifying)
}

// turn takes one turn, prints what its own calls brought, and what it cost with all who worked in it. watch may stop it.
func (t *team) turn(ctx context.Context, out io.Writer, s *session.Session, prompt string, watch func(message.Event) (bool, error)) error {
	fmt.Fprintf(out, "> %s\n", prompt)
	for e, err := range s.Prompt(ctx, session.Text(prompt)) {
		if err != nil {
			return err
		}
		if watch != nil {
			stop, err := watch(e)
			if err != nil {
				return err
			}
			if stop {
				fmt.Fprintln(out, "stopped")
				break
			}
		}
		switch own := e.Session == s.ID(); {
		case own && e.Kind == message.CallEnd && e.Parent == "":
			fmt.Fprintln(out, e.Result.Text())
		case own && e.Kind == message.Reply && len(e.Message.Uses()) == 0:
			fmt.Fprintln(out, e.Message.Text())
		}
		if e.Kind == message.TurnEnd && e.Session == s.ID() && e.Usage != nil {
			fmt.Fprintf(out, "cost: %d tokens in, %d out\n", e.Usage.Input, e.Usage.Output)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(out, "answers so far: reviewer %d, verifier %d\n\n", t.answered["reviewer"], t.answered["verifier"])
	return nil
}
