package goal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

const (
	storeKey = "goal"
	// patience is how many times in a row a turn may end without anything new having been done.
	patience = 2
	// mostSeen bounds what is remembered of earlier calls.
	mostSeen = 10_000
)

// pursuit is the goal of one session and how the work on it goes. It is safe for concurrent use.
type pursuit struct {
	rounds int
	store  middleware.Store // nil: in memory
	notice func(string)

	mu   sync.Mutex
	goal string // "" = none is open
	made int    // continuations of the prompt at hand
	idle int    // how many ends in a row came without anything new
	news bool   // something new was done since the last end
	seen map[[sha256.Size]byte]bool
}

// kept is what is stored.
type kept struct {
	Goal string `json:"goal"`
}

// load brings a goal back. One that cannot be read costs the goal, not the session.
func load(ctx context.Context, env middleware.Env) (*pursuit, error) {
	p := &pursuit{store: env.Store, notice: env.Notice}
	if env.Store == nil {
		return p, nil
	}
	raw, ok, err := env.Store.Load(ctx, storeKey)
	if err != nil {
		return nil, fmt.Errorf("goal: load: %w", err)
	}
	var k kept
	if ok {
		if err := json.Unmarshal(raw, &k); err != nil {
			p.tell(fmt.Sprintf("the stored goal cannot be read (%v): none is open", err))
		}
	}
	p.goal = k.Goal
	return p, nil
}

func (p *pursuit) tell(text string) {
	if p.notice != nil {
		p.notice(text)
	}
}

func (p *pursuit) get() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.goal
}

// set opens a goal, or closes it with "". What cannot be stored is not set either.
func (p *pursuit) set(ctx context.Context, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store != nil {
		raw, err := json.Marshal(kept{text})
		if err == nil {
			err = p.store.Save(ctx, storeKey, raw)
		}
		if err != nil {
			return fmt.Errorf("goal: store: %w", err)
		}
	}
	p.goal, p.idle, p.news, p.seen = text, 0, true, nil
	return nil
}

// begin is a new prompt of the user: what bounds the work begins anew.
func (p *pursuit) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made, p.idle, p.news, p.seen = 0, 0, false, nil
}

// saw learns of a call that ran. What failed, or did the same with the same outcome before, is nothing new.
func (p *pursuit) saw(c *toolview.Call, r *message.Result) {
	if r == nil || r.Error || c.Name() == goalTool {
		return
	}
	raw, err := json.Marshal([]any{c.Name(), string(c.Args()), r.Parts, r.Structured})
	if err != nil {
		return // a result that is no JSON cannot be in a transcript
	}
	sum := sha256.Sum256(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.goal == "" || p.seen[sum] || len(p.seen) >= mostSeen {
		return
	}
	if p.seen == nil {
		p.seen = map[[sha256.Size]byte]bool{}
	}
	p.seen[sum], p.news = true, true
}

// more is asked when a turn would end: the text that continues it, or "".
func (p *pursuit) more(view *toolview.View) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.goal == "" || !view.HasAny([]string{goalTool}) {
		return "" // without the tool the goal could never be closed
	}
	if p.idle++; p.news {
		p.idle = 0
	}
	p.news = false
	switch {
	case p.made >= p.rounds:
		p.tell(fmt.Sprintf("the goal stays open: this prompt was continued %d times, which is as often as may be", p.made))
		return ""
	case p.idle >= patience:
		p.tell("the goal stays open: nothing new was done, so that the turn ends")
		return ""
	}
	p.made++
	return fmt.Sprintf("The goal is still open: %s\n\nGo on with what is missing (continuation %d of at most %d). If you have checked that it is met, "+
		"close it with `%s` and `done: true`. If you cannot go on without the user, say what you need: without new work the turn ends.",
		p.goal, p.made, p.rounds, goalTool)
}
