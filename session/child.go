package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// children are the child sessions of one session, running and finished.
type children struct {
	mu     sync.Mutex
	byID   map[string]*child
	made   int
	closed bool
	wg     sync.WaitGroup
}

type child struct {
	s    *Session
	name string
	// done is closed when the latest background run ended; result is its outcome. Both are guarded by children.mu.
	done   chan struct{}
	result *message.Result
}

// add keeps a child until its parent closes. One that comes too late is closed at once.
func (c *children) add(ctx context.Context, s *Session, name string) (*child, error) {
	k := &child{s: s, name: name}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(ErrClosed, s.Close(ctx))
	}
	if c.byID == nil {
		c.byID = map[string]*child{}
	}
	c.byID[s.id] = k
	return k, nil
}

func (c *children) find(id string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.byID[id]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("there is no agent run %q in this session", id)
}

func (c *children) nextID(parent string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return parent + "." + strconv.Itoa(c.made)
}

func (c *children) close(ctx context.Context) error {
	c.wg.Wait()
	c.mu.Lock()
	c.closed = true
	all := make([]*child, 0, len(c.byID))
	for _, k := range c.byID {
		all = append(all, k)
	}
	c.mu.Unlock()
	errs := make([]error, len(all))
	for i, k := range all {
		errs[i] = k.s.Close(ctx)
	}
	return errors.Join(errs...)
}

// spawn runs, continues or collects a child for a flow. What the model should read is a Result.
func (s *Session) spawn(ctx context.Context, rt Runtime, r *Ready, sp toolview.Spawn) (*message.Result, error) {
	if sp.Collect != "" {
		return s.collect(ctx, sp)
	}
	k, err := s.childFor(ctx, rt, sp)
	if err != nil {
		return message.Fail(err.Error()), nil
	}
	if sp.Background {
		return s.background(k, sp.Prompt), nil
	}
	start := message.Event{Kind: message.ChildStart, Session: k.s.id, Agent: k.name, Parent: r.Use.ID, Text: sp.Description}
	rt.Emit(start)
	res := k.run(ctx, sp.Prompt, func(e message.Event) {
		if e.Parent == "" {
			e.Parent = r.Use.ID
		}
		rt.Emit(e)
	})
	end := start
	end.Kind, end.Result = message.ChildEnd, res
	rt.Emit(end)
	return res, nil
}

func (s *Session) childFor(ctx context.Context, rt Runtime, sp toolview.Spawn) (*child, error) {
	if sp.Resume != "" {
		return s.kids.find(sp.Resume)
	}
	var history []*message.Message
	if sp.Fork {
		history = s.before(rt)
	}
	k, err := s.child(ctx, sp, history)
	if err != nil {
		return nil, err
	}
	name := sp.Agent
	if sp.Fork {
		name = "fork"
	}
	return s.kids.add(ctx, k, name)
}

// before is the transcript up to the reply whose calls are running: a fork starts from the bytes that were last sent.
func (s *Session) before(rt Runtime) []*message.Message {
	switch rt := rt.(type) {
	case *local:
		return rt.step.Messages
	case worker:
		return rt.step.Messages
	}
	return complete(s.Messages())
}

// complete cuts a trailing reply whose calls have no results.
func complete(h []*message.Message) []*message.Message {
	if n := len(h); n > 0 && len(h[n-1].Uses()) > 0 {
		return h[:n-1]
	}
	return h
}

// child assembles a child session. It is the one path for named agents, forks and whatever runs in the background: the
// parent's frozen state and view, its chain's children, and lists of its own that only narrow.
func (s *Session) child(ctx context.Context, sp toolview.Spawn, history []*message.Message) (*Session, error) {
	o := s.opt
	o.ID = s.kids.nextID(s.id)
	k := newSession(o, s.frozen)
	k.parent, k.people, k.modelName, k.place = s, s.people, s.modelName, s.place
	k.agent = middleware.Agent{Name: sp.Agent, Fork: sp.Fork, Mode: sp.Mode, Rules: sp.Rules, Depth: s.agent.Depth + 1}
	k.history = append(slices.Clone(history), make([]*message.Message, 0, 16)...)
	k.steps = s.opt.ChildSteps
	if sp.MaxTurns > 0 {
		k.steps = min(k.steps, sp.MaxTurns)
	}
	if sp.Model != "" && sp.Model != "inherit" {
		k.modelName = sp.Model
	}
	var err error
	if err = errors.Join(s.requires(&sp), k.lists(&sp)); err != nil {
		return nil, fmt.Errorf("agent %s (%s): %w", sp.Agent, sp.Origin, err)
	}
	k.journal.open(o.Store, k.id)
	k.ctx, k.cancel = context.WithCancel(s.ctx)
	if k.chain, err = s.chain.Child(ctx, k.env(), k.journal.store); err != nil {
		k.cancel()
		return nil, fmt.Errorf("agent %s: %w", sp.Agent, err)
	}
	k.base = s.base
	if !sp.Fork {
		k.base = agentBase(s.base, k.chain, sp)
	}
	if err := k.ready(nil); err != nil {
		return nil, errors.Join(fmt.Errorf("agent %s (%s): %w", sp.Agent, sp.Origin, err), k.Close(ctx))
	}
	if err := k.journal.add(ctx, Entry{Kind: Created, Frozen: s.frozen, Parent: s.id}); err != nil {
		return nil, errors.Join(err, k.Close(ctx))
	}
	return k, nil
}

// agentBase is the prompt of a named child: its own body, and of the parent's Live segments those whose owner it has.
func agentBase(parent *prompt.Base, chain *middleware.Chain, sp toolview.Spawn) *prompt.Base {
	kept := make([]prompt.Rendered, 0, len(parent.Segments()))
	for _, r := range parent.Segments() {
		if l, ok := chain.Link(r.Owner); ok && l.Instance != nil && l.Fate.Status == middleware.Live {
			kept = append(kept, r)
		}
	}
	base := prompt.NewBase(kept)
	if sp.Body == "" {
		return base
	}
	return base.ForAgent(sp.Agent, sp.Body, meta.Origin{Layer: "agent", File: sp.Origin})
}

// Fork makes a child that has this session's whole chain, prompt and transcript, and goes its own way from there. It
// shares the chain's instances and closes with the session at the latest.
func (s *Session) Fork(ctx context.Context) (*Session, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	k, err := s.child(ctx, toolview.Spawn{Fork: true}, complete(s.Messages()))
	if err != nil {
		return nil, err
	}
	k.steps = s.steps
	for _, m := range k.history {
		if err := k.journal.replay(ctx, m); err != nil {
			return nil, errors.Join(err, k.Close(ctx))
		}
	}
	if _, err := s.kids.add(ctx, k, "fork"); err != nil {
		return nil, err
	}
	return k, nil
}

// Agent makes a child of a named agent without running it, as a spawn would.
func (s *Session) Agent(ctx context.Context, name string) (*Session, error) {
	_, _, policy := s.snapshot()
	sp, ok := s.chain.Agent(name, policy.Paused)
	if !ok {
		return nil, fmt.Errorf("session: no agent %q: %w", name, ErrNotFound)
	}
	k, err := s.child(ctx, sp, nil)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if _, err := s.kids.add(ctx, k, name); err != nil {
		return nil, err
	}
	return k, nil
}

// run takes one turn of the child and makes its answer a result.
func (k *child) run(ctx context.Context, prompt string, forward func(message.Event)) *message.Result {
	if !k.s.turn.begin() {
		return message.Fail(fmt.Sprintf("agent run %s is still busy", k.s.id))
	}
	defer k.s.rest(ctx)
	if k.s.closed.Load() {
		return message.Fail(ErrClosed.Error())
	}
	err := k.s.take(ctx, Text(prompt), func(e message.Event, err error) bool {
		if err == nil {
			forward(e)
		}
		return true
	})
	text := "(no answer)"
	if h := k.s.Messages(); len(h) > 0 && h[len(h)-1].Role == message.Assistant {
		text = h[len(h)-1].Text()
	}
	res := message.Say(text)
	if err != nil {
		res = message.Fail(fmt.Sprintf("%s did not finish: %v", k.name, err))
	}
	res.Parts = append(res.Parts, message.Part{Kind: message.Text, Text: "\n[agent run " + k.s.id + "]"})
	res.Structured, err = json.Marshal(map[string]string{"id": k.s.id, "agent": k.name})
	if err != nil {
		return message.Fail(err.Error())
	}
	return res
}

// background starts a run that lives as long as the session and is collected by its id.
func (s *Session) background(k *child, prompt string) *message.Result {
	s.kids.mu.Lock()
	defer s.kids.mu.Unlock()
	if s.closed.Load() {
		return message.Fail(ErrClosed.Error())
	}
	done := make(chan struct{})
	k.done, k.result = done, nil
	s.kids.wg.Go(func() {
		res := k.run(s.ctx, prompt, func(message.Event) {})
		s.kids.mu.Lock()
		k.result = res
		s.kids.mu.Unlock()
		close(done)
	})
	return message.Say(fmt.Sprintf("Started %s in the background as agent run %s.", k.name, k.s.id))
}

// collect returns a background child's result.
func (s *Session) collect(ctx context.Context, sp toolview.Spawn) (*message.Result, error) {
	k, err := s.kids.find(sp.Collect)
	if err != nil {
		return message.Fail(err.Error()), nil
	}
	s.kids.mu.Lock()
	done := k.done
	s.kids.mu.Unlock()
	if done == nil {
		return message.Fail(fmt.Sprintf("agent run %s did not run in the background: its result is where it was called", sp.Collect)), nil
	}
	if sp.Wait {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-done:
		s.kids.mu.Lock()
		defer s.kids.mu.Unlock()
		return k.result, nil
	default:
		return message.Say(fmt.Sprintf("Agent run %s is still running.", sp.Collect)), nil
	}
}

// person lets one request at a time reach a person, in the whole tree of sessions.
func (s *Session) person(ctx context.Context, ask func() error) (err error) {
	if err := s.people.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.people.Release(1)
	// A panic of the program's approver or asker is no answer.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("session: asking failed: panic: %v", p)
		}
	}()
	return ask()
}
