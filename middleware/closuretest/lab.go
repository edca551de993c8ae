package closuretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// lab opens sessions of a suite whose middlewares are watched. It is immutable once begun and safe for concurrent use.
type lab struct {
	cfg   Config
	own   *project                // whose sessions are looked at; nil = the kit's own
	list  []middleware.Middleware // watched, the kit's own last
	suite *middleware.Suite
	dir   string // holds the copies of the root
	root  string // the copy that most sessions share
	base  *look

	owners  map[string]string // declared tool → owner
	prefix  map[string]string // owner → dynamic prefix
	routes  map[string]string // declared route → owner
	aliases map[string]string // alias of a declared tool → tool

	copies atomic.Int32
	read   sync.Map // text → *mentions
}

// now is the clock of every session: what differs between two creations differs for another reason.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// begin makes the lab and looks at the suite with everything open. Leaks that it returns leave nothing to look at.
func begin(ctx context.Context, cfg Config) (*lab, []Leak, error) { return beginIn(ctx, cfg, nil) }

func beginIn(ctx context.Context, cfg Config, own *project) (*lab, []Leak, error) {
	if err := middleware.Validate(cfg.Middlewares...); err != nil {
		return nil, []Leak{{Check: Suite, Text: err.Error()}}, nil
	}
	l := &lab{cfg: cfg, own: own, owners: map[string]string{}, prefix: map[string]string{}, routes: map[string]string{}, aliases: map[string]string{}}
	for _, m := range cfg.Middlewares {
		l.index(m)
		if own != nil {
			m = own.quiet(m)
		}
		l.list = append(l.list, watched(m))
	}
	for _, n := range cfg.Only {
		if !slices.ContainsFunc(cfg.Middlewares, func(m middleware.Middleware) bool { return m.Name == n }) {
			return nil, nil, fmt.Errorf("closuretest: Only names %s, which is not among the Middlewares", n)
		}
	}
	l.list = append(l.list, l.probe())
	var err error
	if l.suite, err = middleware.NewSuite(l.list...); err != nil {
		return nil, nil, fmt.Errorf("closuretest: %w", err)
	}
	if l.dir, err = os.MkdirTemp("", "closuretest-"); err != nil {
		return nil, nil, fmt.Errorf("closuretest: %w", err)
	}
	if own != nil {
		l.root = own.Blueprint.Root
	} else if l.root, err = l.folder(); err != nil {
		return l, nil, err
	}
	if l.base, err = l.look(ctx, l.turns()); err != nil {
		return l, []Leak{{Check: Opens, Where: "session", Text: err.Error()}}, nil
	}
	return l, nil, nil
}

func (l *lab) index(m middleware.Middleware) {
	l.prefix[m.Name] = m.Dynamic
	for _, set := range []*toolview.Set{m.Tools, m.Deferred} {
		for _, t := range set.All() {
			l.owners[t.Name] = m.Name
			for _, a := range t.Aliases {
				l.aliases[a] = t.Name
			}
		}
	}
	for _, r := range m.Routes {
		l.routes[r.Name] = m.Name
	}
}

func (l *lab) turns() int {
	if l.cfg.Turns > 0 {
		return l.cfg.Turns
	}
	return 12
}

// folder is a fresh copy of the configured root.
func (l *lab) folder() (string, error) {
	dir := filepath.Join(l.dir, strconv.Itoa(int(l.copies.Add(1))))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("closuretest: %w", err)
	}
	if l.cfg.Root != "" {
		if err := os.CopyFS(dir, os.DirFS(l.cfg.Root)); err != nil {
			return "", fmt.Errorf("closuretest: copy the root: %w", err)
		}
	}
	return dir, nil
}

// setup is what a session differs in from the usual one.
type setup struct {
	closed []string
	suite  *middleware.Suite // nil = the lab's
	root   string            // "" = the lab's
	keys   []string          // segments that are overridden, from docs
	docs   meta.Documents
	steps  []script.Step // behind them the model says "ok"
	store  *memory.Store
	resume bool
}

// sessionID is the id of every session, so that an id in a text is no difference.
const sessionID = "closuretest"

// said is what the scripted model answers, prompted what it is asked.
const (
	said     = "closuretest reply"
	prompted = "closuretest prompt"
)

// subject is an open session with what was recorded of it.
type subject struct {
	*session.Session
	led   *ledger
	sent  *recorder
	store *memory.Store
	opt   session.Options
	ctx   context.Context
}

func (l *lab) open(ctx context.Context, set setup) (*subject, error) {
	if set.store == nil {
		set.store = &memory.Store{}
	}
	s := &subject{led: &ledger{}, store: set.store, sent: newRecorder(set.steps)}
	s.ctx = context.WithValue(ctx, ledgerKey{}, s.led)
	var ids atomic.Int64
	s.opt = session.Options{
		Blueprint: middleware.Blueprint{Suite: l.suite, Layers: l.layers(set), Documents: set.docs, Root: l.root},
		ID:        sessionID, Models: s.sent.models, Store: set.store, Approver: yes{}, Asker: nobody{}, Schedules: true, Now: now,
		NewID: func() string { return "id" + strconv.FormatInt(ids.Add(1), 10) },
	}
	if l.own != nil {
		l.own.lay(&s.opt.Blueprint)
	}
	if set.suite != nil {
		s.opt.Suite = set.suite
	}
	if set.root != "" {
		s.opt.Root = set.root
	}
	var err error
	if set.resume {
		s.Session, err = session.Resume(s.ctx, s.opt, sessionID)
	} else {
		s.Session, err = session.New(s.ctx, s.opt)
	}
	return s, err
}

// layers open what is off by default and close the set.
func (l *lab) layers(set setup) []meta.Layer {
	at := meta.Origin{Layer: "closuretest", File: "settings.yaml"}
	on, off := meta.Layer{Name: "open"}, meta.Layer{Name: "closed"}
	for _, m := range l.list {
		if m.Off && l.own == nil {
			on.Entries = append(on.Entries, meta.Entry{Key: m.Name, Value: true, Origin: at})
		}
	}
	for _, k := range set.keys {
		on.Entries = append(on.Entries, meta.Entry{Key: k, Value: true, Origin: at})
	}
	for _, n := range set.closed {
		off.Entries = append(off.Entries, meta.Entry{Key: n, Origin: at})
	}
	return []meta.Layer{on, off}
}

// turn takes one turn. Its events are drained; an error is the turn's.
func (s *subject) turn(text string) error {
	for _, err := range s.Prompt(s.ctx, session.Text(text)) {
		if err != nil {
			return err
		}
	}
	return nil
}

// end closes the session and joins its error to another.
func (s *subject) end(err error) error {
	return errors.Join(err, s.Close(context.WithoutCancel(s.ctx)))
}

// yes approves everything: the kit's calls reach no tool that could do harm.
type yes struct{}

func (yes) Approve(_ context.Context, r []session.Request) ([]session.Approval, error) {
	out := make([]session.Approval, len(r))
	for i := range out {
		out[i].Allow = true
	}
	return out, nil
}

// nobody declines every question.
type nobody struct{}

func (nobody) Ask(context.Context, toolview.Question) (toolview.Answer, error) {
	return toolview.Answer{Declined: true}, nil
}
