package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// children are the child sessions of one session, running and finished.
type children struct {
	mu     sync.Mutex
	byID   map[string]*child
	made   int
	known  bool // made counts those of earlier processes too
	closed bool
	wg     sync.WaitGroup
	// loading lets one child at a time be taken from the store, so that none is there twice.
	loading sync.Mutex
}

type child struct {
	s    *Session
	name string
	of   *children
	// loaded says that the child is from an earlier process.
	loaded bool
	// done is closed when the latest background run ended; result is its outcome. stop cancels the run at hand. They are
	// guarded by of.mu.
	done   chan struct{}
	result *message.Result
	stop   context.CancelCauseFunc
}

// add keeps a child until its parent closes. One that comes too late is closed at once.
func (c *children) add(ctx context.Context, s *Session, name string) (*child, error) {
	k := &child{s: s, name: name, of: c}
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

func (c *children) find(id string) (*child, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.byID[id]
	return k, ok
}

// forget drops a child that was closed, unless another has taken its place.
func (c *children) forget(k *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[k.s.id] == k {
		delete(c.byID, k.s.id)
	}
}

// all are the children in no order.
func (c *children) all() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*child, 0, len(c.byID))
	for _, k := range c.byID {
		out = append(out, k)
	}
	return out
}

// nextChildID is an id that no child has, also none of an earlier process.
func (s *Session) nextChildID(ctx context.Context) (string, error) {
	c := &s.kids
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.resumed && !c.known && s.opt.Store != nil {
		ids, err := s.opt.Store.List(ctx)
		if err != nil {
			return "", fmt.Errorf("the store does not say which agent runs there are: %w", err)
		}
		for _, id := range ids {
			if rest, ok := strings.CutPrefix(id, s.id+"."); ok {
				if n, err := strconv.Atoi(rest); err == nil {
					c.made = max(c.made, n)
				}
			}
		}
	}
	c.known = true
	c.made++
	return s.id + "." + strconv.Itoa(c.made), nil
}

func (c *children) close(ctx context.Context) error {
	c.wg.Wait()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	all := c.all()
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
	if !k.s.turn.begin() {
		return message.Fail(fmt.Sprintf("agent run %s is still busy", k.s.id)), nil
	}
	over := ctx
	if sp.Background {
		over = s.ctx
	}
	over = k.cancellable(over)
	start := message.Event{Kind: message.ChildStart, Session: k.s.id, Agent: k.name, Parent: r.Use.ID, Text: sp.Description}
	rt.Emit(start)
	if sp.Background {
		return s.background(over, k, sp.Prompt, start), nil
	}
	end := k.run(over, sp.Prompt, start, func(e message.Event) {
		if e.Parent == "" {
			e.Parent = r.Use.ID
		}
		rt.Emit(e)
	})
	turnOf(rt).spend(end.Usage)
	rt.Emit(end)
	return end.Result, nil
}

func (s *Session) childFor(ctx context.Context, rt Runtime, sp toolview.Spawn) (*child, error) {
	if sp.Resume != "" {
		return s.awake(ctx, sp.Resume)
	}
	b := birth{spawn: sp}
	if sp.Fork {
		b.history = turnOf(rt).step.Messages // the bytes that were last sent
		b.from = len(b.history)
	}
	k, err := s.child(ctx, b)
	if err != nil {
		return nil, err
	}
	return s.kids.add(ctx, k, nameOf(sp))
}

func nameOf(sp toolview.Spawn) string {
	if sp.Fork {
		return "fork"
	}
	return sp.Agent
}

// turnOf is the turn behind the runtime of one of its calls.
func turnOf(rt Runtime) *local {
	if w, ok := rt.(worker); ok {
		return w.local
	}
	return rt.(*local) // nothing else makes children
}

// run takes one turn of the child, which its caller has begun and made cancellable, and makes its answer the event that
// ends it.
func (k *child) run(ctx context.Context, prompt string, end message.Event, forward func(message.Event)) message.Event {
	end.Kind, end.Text = message.ChildEnd, ""
	defer k.s.rest(ctx)
	defer k.park()
	defer k.finished()
	if k.s.closed.Load() {
		end.Result = message.Fail(ErrClosed.Error())
		return end
	}
	if err := k.s.tree.ensure(ctx); err != nil {
		end.Result = message.Fail(fmt.Sprintf("%s was not started: %v", k.name, err))
		return end
	}
	err := k.s.take(ctx, Text(prompt), func(e message.Event, err error) bool {
		if err != nil {
			return true
		}
		if e.Kind == message.TurnEnd && e.Session == k.s.id {
			end.Usage, end.Reason = e.Usage, e.Reason
		}
		forward(e)
		return true
	})
	end.Result = k.outcome(err)
	k.leave(ctx, end.Result)
	return end
}

// park lets a child that holds something of its own, such as a server, close when its work is done: what it could be
// continued from is in the store. Without one, or while agents that it started still work, it closes with its parent.
func (k *child) park() {
	if k.s.opt.Store == nil || !k.s.chain.Holds() {
		return
	}
	for _, below := range k.s.kids.all() {
		k.s.kids.mu.Lock()
		busy := below.stop != nil
		k.s.kids.mu.Unlock()
		if busy {
			return
		}
	}
	k.s.closed.Store(true) // as its turn ends, it closes
}

// outcome is what the parent is told of a turn.
func (k *child) outcome(err error) *message.Result {
	text := "(no answer)"
	if h := k.s.Messages(); len(h) > 0 && h[len(h)-1].Role == message.Assistant {
		text = h[len(h)-1].Text()
	}
	res := message.Say(text)
	if err != nil {
		res = message.Fail(fmt.Sprintf("%s did not finish: %v", k.name, err))
	}
	res.Parts = append(res.Parts, message.Part{Kind: message.Text, Text: "\n[agent run " + k.s.id + "]"})
	if res.Structured, err = json.Marshal(made{ID: k.s.id, Agent: k.name, Text: res.Parts[0].Text}); err != nil {
		return message.Fail(err.Error())
	}
	return res
}

// made is what a program can read of a child's result: Text is its report, Worktree where its changes are.
type made struct {
	ID       string `json:"id"`
	Agent    string `json:"agent"`
	Text     string `json:"text"`
	Worktree string `json:"worktree,omitempty"`
}

// leave ends a child's stay in its worktree, and names what it leaves there.
func (k *child) leave(ctx context.Context, res *message.Result) {
	kept, err := k.s.tree.settle(ctx)
	if err != nil {
		k.s.notice("", err.Error())
	}
	if kept == "" {
		return
	}
	res.Parts = append(res.Parts, message.Part{Kind: message.Text, Text: "\n[what it changed is in the worktree " + kept + "]"})
	if raw, err := json.Marshal(made{ID: k.s.id, Agent: k.name, Text: res.Parts[0].Text, Worktree: kept}); err == nil {
		res.Structured = raw
	}
}

// cancellable is the context of the run that is about to begin; finished ends it.
func (k *child) cancellable(ctx context.Context) context.Context {
	ctx, stop := context.WithCancelCause(ctx)
	k.of.mu.Lock()
	k.stop = stop
	k.of.mu.Unlock()
	return ctx
}

func (k *child) finished() {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	k.stop(nil)
	k.stop = nil
}

// CancelChild ends what one child, or a child of one, is doing, and nothing else. Its result says so, and it can be
// continued by its id. A child that does nothing is an error.
func (s *Session) CancelChild(id string) error {
	for _, k := range s.kids.all() {
		switch {
		case k.s.id == id:
			k.of.mu.Lock()
			stop := k.stop
			k.of.mu.Unlock()
			if stop == nil {
				return fmt.Errorf("session: agent run %s does nothing that could be cancelled", id)
			}
			stop(errStopped)
			return nil
		case strings.HasPrefix(id, k.s.id+"."):
			return k.s.CancelChild(id)
		}
	}
	return fmt.Errorf("session: no agent run %q: %w", id, ErrNotFound)
}
