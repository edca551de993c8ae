package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// birth is what a child is made of, besides its parent.
type birth struct {
	spawn toolview.Spawn
	// history is what it begins with, from how many messages of that are its parent's and stay in its journal.
	history []*message.Message
	from    int
	// id and past are those of a child that is loaded again.
	id   string
	past *past
}

// child assembles a child session. It is the one path for named agents, forks and whatever runs in the background, new or
// loaded: the parent's frozen state and view, its chain's children, and lists of its own that only narrow.
func (s *Session) child(ctx context.Context, b birth) (_ *Session, err error) {
	sp := &b.spawn
	o := s.opt
	if o.ID = b.id; o.ID == "" {
		if o.ID, err = s.nextChildID(ctx); err != nil {
			return nil, err
		}
	}
	k := newSession(o, s.frozen)
	if err := errors.Join(s.requires(sp), k.lists(sp)); err != nil {
		return nil, unmade(sp, err)
	}
	if k.tree, err = s.isolate(ctx, sp, k.id); err != nil {
		return nil, unmade(sp, err)
	}
	k.born(s, &b)
	k.journal.open(o.Store, k.id)
	k.ctx, k.cancel = context.WithCancel(s.ctx)
	if k.chain, err = s.chain.Child(ctx, k.env(), k.journal.store); err != nil {
		k.cancel()
		_, left := k.tree.settle(ctx)
		return nil, errors.Join(fmt.Errorf("agent %s: %w", sp.Agent, err), left)
	}
	k.base = s.base
	if !sp.Fork {
		k.base = agentBase(s.base, k.chain, sp, k.tree)
	}
	var order []string
	if b.past != nil {
		order = b.past.order
	}
	if err := k.ready(order); err != nil {
		return nil, errors.Join(unmade(sp, err), k.Close(ctx))
	}
	if b.past != nil {
		err = k.settlePast(ctx)
	} else {
		kept := *sp
		kept.Prompt = "" // it is in the turn
		err = k.journal.add(ctx, Entry{Kind: Created, Frozen: s.frozen, Parent: s.id, Spawn: &kept, From: b.from})
	}
	if err != nil {
		return nil, errors.Join(err, k.Close(ctx))
	}
	return k, nil
}

func unmade(sp *toolview.Spawn, err error) error {
	if sp.Fork {
		return fmt.Errorf("fork: %w", err)
	}
	return fmt.Errorf("agent %s (%s): %w", sp.Agent, sp.Origin, err)
}

// born gives a child what is its parent's, and what its definition says.
func (k *Session) born(s *Session, b *birth) {
	sp := &b.spawn
	k.parent, k.people, k.modelName, k.place, k.gits = s, s.people, s.modelName, s.place, s.gits
	k.agent = middleware.Agent{Name: sp.Agent, Fork: sp.Fork, Mode: sp.Mode, Rules: sp.Rules, Extras: sp.Extras, Depth: s.agent.Depth + 1}
	k.history = slices.Clone(b.history)
	k.steps = s.opt.ChildSteps
	if sp.MaxTurns > 0 {
		k.steps = min(k.steps, sp.MaxTurns)
	}
	if sp.Model != "" && sp.Model != "inherit" {
		k.modelName = sp.Model
	}
	if k.tree != nil {
		k.opt.Root = k.tree.root
	}
	if b.past != nil {
		k.resumed, k.host, k.journal.values = true, b.past.host, b.past.values
	}
}

// kid finds a child by its id: one of this process, or one that its journal brings back. It comes back as a child, with
// the definition that it was made by and under all that binds its parent now.
func (s *Session) kid(ctx context.Context, id string) (*child, error) {
	s.kids.loading.Lock()
	defer s.kids.loading.Unlock()
	if k, ok := s.kids.find(id); ok {
		return k, nil
	}
	unknown := fmt.Errorf("there is no agent run %q in this session", id)
	if s.opt.Store == nil || !strings.HasPrefix(id, s.id+".") {
		return nil, unknown
	}
	entries, err := s.opt.Store.Load(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, unknown
	case err != nil:
		return nil, fmt.Errorf("agent run %s: %w", id, err)
	}
	past, err := read(entries)
	if err != nil {
		return nil, fmt.Errorf("agent run %s: %w", id, err)
	}
	if past.parent != s.id || past.spawn == nil {
		return nil, unknown
	}
	above := s.Messages()
	if past.from > len(above) {
		return nil, fmt.Errorf("agent run %s: it began from %d messages of a session that has %d", id, past.from, len(above))
	}
	k, err := s.child(ctx, birth{spawn: *past.spawn, history: append(above[:past.from:past.from], past.history...), id: id, past: past})
	if err != nil {
		return nil, err
	}
	c, err := s.kids.add(ctx, k, nameOf(*past.spawn))
	if err != nil {
		return nil, err
	}
	c.loaded = true
	return c, nil
}

// awake is the child of an id, taken from the store again when it was parked.
func (s *Session) awake(ctx context.Context, id string) (*child, error) {
	k, err := s.kid(ctx, id)
	if err != nil || !k.s.closed.Load() || s.closed.Load() {
		return k, err
	}
	if err := k.s.Close(ctx); err != nil {
		return nil, fmt.Errorf("agent run %s: %w", id, err)
	}
	s.kids.forget(k)
	return s.kid(ctx, id)
}

// agentBase is the prompt of a named child: its own body, and of the parent's Live segments those whose owner it has.
func agentBase(parent *prompt.Base, chain *middleware.Chain, sp *toolview.Spawn, tree *worktree) *prompt.Base {
	kept := make([]prompt.Rendered, 0, len(parent.Segments()))
	for _, r := range parent.Segments() {
		if l, ok := chain.Link(r.Owner); ok && l.Instance != nil && l.Fate.Status == middleware.Live {
			kept = append(kept, r)
		}
	}
	base := prompt.NewBase(kept)
	body := sp.Body
	if tree != nil {
		body = strings.TrimSpace(body + "\n\n" + tree.text())
	}
	if body == "" {
		return base
	}
	return base.ForAgent(sp.Agent, body, meta.Origin{Layer: "agent", File: sp.Origin})
}

// Fork makes a child that has this session's whole chain, prompt and transcript, and goes its own way from there. It
// shares the chain's instances and closes with the session at the latest.
func (s *Session) Fork(ctx context.Context) (*Session, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	k, err := s.child(ctx, birth{spawn: toolview.Spawn{Fork: true}, history: complete(s.Messages())})
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

// complete cuts a trailing reply whose calls have no results.
func complete(h []*message.Message) []*message.Message {
	if n := len(h); n > 0 && len(h[n-1].Uses()) > 0 {
		return h[:n-1]
	}
	return h
}

// Agent makes a child of a named agent without running it, as a spawn would.
func (s *Session) Agent(ctx context.Context, name string) (*Session, error) {
	_, _, policy := s.snapshot()
	sp, ok := s.chain.Agent(name, policy.Paused)
	if !ok {
		return nil, fmt.Errorf("session: no agent %q: %w", name, ErrNotFound)
	}
	k, err := s.child(ctx, birth{spawn: sp})
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if _, err := s.kids.add(ctx, k, name); err != nil {
		return nil, err
	}
	return k, nil
}
