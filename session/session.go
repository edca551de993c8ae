package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Session is one conversation with a frozen set of capabilities. Its methods are safe for concurrent use; one turn runs
// at a time.
type Session struct {
	id        string
	opt       Options
	frozen    *Frozen
	chain     *middleware.Chain
	base      *prompt.Base
	model     middleware.ModelFunc
	modelName string
	steps     int

	parent *Session
	agent  middleware.Agent
	frame  *toolview.Frame // the settings' lists, or the agent's own
	place  toolview.Place
	notes  []meta.Diagnostic

	journal journal

	turn     turns
	wrap     func(Runtime) Runtime // around every turn's runtime; tests set it
	history  []*message.Message
	started  bool            // a turn was taken by this process
	smuggled map[string]bool // what was told of dropped tools; the turn's goroutine alone looks
	resumed  bool

	mu      sync.Mutex // guards what follows
	deriver *toolview.Deriver
	shown   *toolview.View // what the last step was sent
	policy  *toolview.Policy
	above   *toolview.Policy // the parent's policy that policy was made from
	host    Switches
	reach   reach
	system  system

	tuning  sync.Mutex // one change of live settings at a time
	posted  posted
	waking  waking // of who awaits Due
	kids    children
	people  *semaphore.Weighted // one request to a person at a time, in the whole tree
	gits    *sync.Mutex         // one git at a time, in the whole tree
	tree    *worktree           // where a child works that has a place of its own
	ctx     context.Context     // ends when the session closes; background children live in it
	cancel  context.CancelFunc
	closed  atomic.Bool
	closing sync.Once
	shutErr error
}

// ErrBusy is what Prompt answers while another turn runs, ErrClosed what a closed session answers.
var (
	ErrBusy   = errors.New("session: a turn is running")
	ErrClosed = errors.New("session: closed")
)

// New creates a session: it resolves and freezes the layers, opens the chain and renders the prompt. Whatever is wrong is
// one error; diagnostics that are no errors are in Diagnostics.
func New(ctx context.Context, o Options) (*Session, error) {
	o = o.withDefaults()
	if o.Suite == nil || o.Models == nil {
		return nil, errors.New("session: Options need a Suite and Models")
	}
	resolved, notes, err := meta.Resolve(o.Suite.Keys(), o.Layers...)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	state, more := meta.Freeze(resolved, o.Documents)
	f := &Frozen{
		Version: frozenVersion, State: state, Lists: o.Lists, WithoutSearch: o.WithoutSearch,
		LateDirect: o.LateDirect, Model: o.Model,
	}
	s := newSession(o, f)
	s.notes = append(notes, more...)
	if err := s.open(ctx, nil); err != nil {
		return nil, err
	}
	s.freeze()
	if err := s.ready(nil); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if err := s.journal.add(ctx, Entry{Kind: Created, Frozen: f}); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func newSession(o Options, f *Frozen) *Session {
	return &Session{
		id: o.ID, opt: o, frozen: f, steps: o.MaxSteps, modelName: f.Model, people: semaphore.NewWeighted(1), gits: &sync.Mutex{},
	}
}

// open compiles the lists and opens the chain of a main session.
func (s *Session) open(ctx context.Context, only map[string]bool) error {
	var err error
	s.place = place(s.opt.Root)
	if s.frame, err = toolview.NewFrame(s.frozen.Lists); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if len(s.frozen.Lists.Allow)+len(s.frozen.Lists.Deny) > 0 {
		s.notes = append(s.notes, s.frame.Unmatched(s.opt.Suite.Bands())...)
	}
	s.journal.open(s.opt.Store, s.id)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.chain, err = s.opt.Suite.Open(ctx, middleware.Opening{
		State: s.frozen.State, Env: s.env(), Only: only, Policies: s.frozen.Policies,
		Store:  s.journal.store,
		Notice: s.notice, Report: s.fault,
	})
	if err != nil {
		s.cancel()
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// freeze records what the opened chain says for the life of the session.
func (s *Session) freeze() {
	f := s.frozen
	for _, l := range s.chain.Links() {
		if l.Instance == nil {
			continue
		}
		f.Live = append(f.Live, l.Name)
		if l.Gates {
			f.Gates = append(f.Gates, l.Name)
		}
		if l.Policy != nil {
			if f.Policies == nil {
				f.Policies = map[string]json.RawMessage{}
			}
			f.Policies[l.Name] = l.Policy
		}
	}
	s.base = s.chain.Base()
	f.Segments = s.base.Segments()
}

// ready gives the opened session its model and its first view. order is the wire order of an earlier run.
func (s *Session) ready(order []string) error {
	base, err := s.opt.Models(s.modelName)
	if err != nil {
		return fmt.Errorf("session: model %q: %w", s.modelName, err)
	}
	if s.model, err = s.chain.Model(base); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	live, closed := s.chain.Bands()
	s.deriver = toolview.NewDeriver(live, closed, order)
	s.notes = append(s.notes, behind(s.chain)...)
	v := s.View()
	if n := v.Fallen(); n > 0 {
		if s.frozen.WithoutSearch == toolview.Refuse {
			return fmt.Errorf("session: %d deferred tools cannot be reached without tool search, and tools.without_search is %q", n, toolview.Refuse)
		}
		s.notes = append(s.notes, fallen(n, s.frozen.WithoutSearch))
	}
	return nil
}

// behind tells of the commands that another has the names of.
func behind(c *middleware.Chain) []meta.Diagnostic {
	var out []meta.Diagnostic
	for _, o := range c.Offers(nil) {
		if o.Bare == "" {
			continue
		}
		who := o.Owner
		if o.From != "" {
			who = o.From
		}
		out = append(out, meta.Diagnostic{
			Severity: meta.SeverityWarning, Code: "command_shadowed",
			Message: fmt.Sprintf("/%s is a command of %s: that of %s is /%s", o.Bare, o.Behind, who, o.Name), Suggestion: "rename one of the two",
		})
	}
	return out
}

func fallen(n int, as toolview.Fallback) meta.Diagnostic {
	d := meta.Diagnostic{Severity: meta.SeverityInfo, Code: "deferred_without_search", Key: "tools.without_search"}
	d.Message = fmt.Sprintf("%d deferred tools are direct, since tool search is not there", n)
	if as == toolview.Hide {
		d.Severity = meta.SeverityWarning
		d.Message = fmt.Sprintf("%d deferred tools are hidden, since tool search is not there and tools.without_search is %q", n, as)
	}
	return d
}

// env is the template of what the session's middlewares are lent.
func (s *Session) env() middleware.Env {
	e := middleware.Env{
		Session: s.id, Agent: s.agent, Project: middleware.Project{Root: s.opt.Root, FS: folder(s.opt.Root)},
		BuiltInSubagents: s.frozen.State.BuiltInSubagents(), Model: s.frozen.Model,
		CanAsk: s.opt.Asker != nil, CanApprove: s.opt.Approver != nil, Resumed: s.resumed,
		CanSchedule: s.opt.Schedules, Wake: s.waking.wake,
		Now: s.opt.Now, NewID: s.opt.NewID,
	}
	return e.WithLog(s.opt.Log)
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// State is the frozen state, which the session shares with its children.
func (s *Session) State() *meta.State { return s.frozen.State }

// Frozen is all that was fixed when the session was created. It is not to be changed.
func (s *Session) Frozen() *Frozen { return s.frozen }

// Digest is the digest of all that is frozen.
func (s *Session) Digest() string { return s.frozen.Digest() }

// Diagnostics are what creation found worth telling, and what its middlewares find wrong with themselves now.
func (s *Session) Diagnostics() []meta.Diagnostic {
	return append(s.notes[:len(s.notes):len(s.notes)], s.chain.Diagnostics()...)
}

// Chain is the session's chain.
func (s *Session) Chain() *middleware.Chain { return s.chain }

// Base is the frozen prompt.
func (s *Session) Base() *prompt.Base { return s.base }

// Messages is the transcript so far. It is a copy; the messages are shared and not to be changed.
func (s *Session) Messages() []*message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*message.Message(nil), s.history...)
}
