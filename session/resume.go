package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Resume opens a stored session again. Everything frozen is as it was, whatever the settings say now; a middleware that
// the session did not have stays closed, and one that this build lacks is reported. Calls that were left without a
// result get one.
func Resume(ctx context.Context, o Options, id string) (*Session, error) {
	o.ID = id
	o = o.withDefaults()
	if o.Suite == nil || o.Models == nil || o.Store == nil {
		return nil, errors.New("session: to resume, Options need a Suite, Models and a Store")
	}
	entries, err := o.Store.Load(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("session: resume %s: %w", id, err)
	}
	past, err := read(entries)
	if err != nil {
		return nil, fmt.Errorf("session: resume %s: %w", id, err)
	}
	if past.parent != "" {
		return nil, fmt.Errorf("session: resume %s: it is a child of %s, whose lists and mode bind it: resume that one", id, past.parent)
	}
	s := newSession(o, past.frozen)
	s.history, s.host, s.resumed = past.history, past.host, true
	s.journal.values = past.values
	only := make(map[string]bool, len(past.frozen.Live))
	for _, name := range past.frozen.Live {
		only[name] = true
		if _, ok := o.Suite.Lookup(name); !ok {
			s.notes = append(s.notes, meta.Diagnostic{
				Severity: meta.SeverityWarning, Code: "missing_middleware", Key: name,
				Message: fmt.Sprintf("session %s was created with %s, which this build lacks: what it owned is absent", id, name),
			})
		}
	}
	if err := s.open(ctx, only); err != nil {
		return nil, err
	}
	for _, name := range past.frozen.Gates {
		if l, ok := s.chain.Link(name); !ok || l.Instance == nil {
			err := fmt.Errorf("session: resume %s: %s judged its calls and is not there now: without it the session would be wider", id, name)
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	s.base = s.kept(past.frozen.Segments)
	// A value that this build refuses was in force when it was set: without it the session could be wider.
	apply, err := s.tuners(s.host.Tuned)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session: resume %s: %w", id, err), s.Close(ctx))
	}
	apply()
	if err := s.ready(past.order); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if err := s.settlePast(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// kept is the stored prompt without the segments of owners that are not there any more.
func (s *Session) kept(segments []prompt.Rendered) *prompt.Base {
	var out []prompt.Rendered
	for _, r := range segments {
		if l, ok := s.chain.Link(r.Owner); ok && l.Instance != nil && l.Fate.Status == middleware.Live {
			out = append(out, r)
		}
	}
	return prompt.NewBase(out)
}

// settlePast answers the calls of a turn that was cut off.
func (s *Session) settlePast(ctx context.Context) error {
	if len(s.history) == 0 {
		return nil
	}
	uses := s.history[len(s.history)-1].Uses()
	if len(uses) == 0 {
		return nil
	}
	results := make([]*message.Result, len(uses))
	for i, u := range uses {
		results[i] = message.Fail("Interrupted: the session ended before this call had a result.")
		results[i].UseID = u.ID
		e := message.Event{Kind: message.CallEnd, Session: s.id, Use: u, Result: results[i]}
		if err := s.journal.add(ctx, Entry{Kind: Happened, Event: &e}); err != nil {
			return err
		}
	}
	s.history = append(s.history, transcript(results))
	return nil
}

// past is what a journal says.
type past struct {
	frozen  *Frozen
	history []*message.Message
	host    Switches
	order   []string
	values  map[string][]byte
	parent  string
	spawn   *toolview.Spawn
	from    int
}

// headroom is spare room for the messages of the turns to come.
const headroom = 64

func read(entries []Entry) (*past, error) {
	p := &past{history: make([]*message.Message, 0, len(entries)+headroom)}
	j := journal{}
	t := teller{p: p}
	for _, e := range entries {
		switch e.Kind {
		case Created:
			p.frozen, p.parent, p.spawn, p.from = e.Frozen, e.Parent, e.Spawn, e.From
		case Happened:
			if e.Event != nil {
				t.hear(e.Event)
			}
		case Ordered:
			p.order = e.Names
		case Kept:
			j.set(e.Owner, e.Key, e.Data)
		case Switched:
			if e.Host != nil {
				p.host = *e.Host
			}
		default:
			return nil, fmt.Errorf("the journal has an entry of the unknown kind %q", e.Kind)
		}
	}
	t.flush(true)
	p.values = j.values
	if p.frozen == nil || p.frozen.State == nil {
		return nil, errors.New("the journal does not begin with a frozen state")
	}
	return p, nil
}

// teller rebuilds a transcript from events: results are gathered behind the reply that asked for them, in its order.
type teller struct {
	p    *past
	uses []*message.Use
	got  map[string]*message.Result
}

func (t *teller) hear(e *message.Event) {
	switch e.Kind {
	case message.TurnStart, message.Reply:
		t.flush(false)
		if e.Message != nil {
			t.p.history = append(t.p.history, e.Message)
			t.uses = e.Message.Uses()
		}
	case message.CallEnd:
		if e.Parent == "" && e.Result != nil {
			if t.got == nil {
				t.got = map[string]*message.Result{}
			}
			t.got[e.Result.UseID] = e.Result
		}
	}
}

// flush writes the results of the last reply, with a result for every call that has none. A last reply without any is
// left to settlePast, which journals them.
func (t *teller) flush(last bool) {
	if len(t.uses) == 0 || last && len(t.got) == 0 {
		return
	}
	results := make([]*message.Result, len(t.uses))
	for i, u := range t.uses {
		if results[i] = t.got[u.ID]; results[i] == nil {
			results[i] = message.Fail("Interrupted: the session ended before this call had a result.")
			results[i].UseID = u.ID
		}
	}
	t.p.history = append(t.p.history, transcript(results))
	t.uses, t.got = nil, nil
}

// replay writes a message into a journal as the events that it came from.
func (j *journal) replay(ctx context.Context, m *message.Message) error {
	var entries []Entry
	add := func(e message.Event) {
		e.Session = j.id
		entries = append(entries, Entry{Kind: Happened, Event: &e})
	}
	switch m.Role {
	case message.User:
		add(message.Event{Kind: message.TurnStart, Message: m})
	case message.Assistant:
		add(message.Event{Kind: message.Reply, Message: m})
	case message.Tool:
		for _, r := range m.Results() {
			add(message.Event{Kind: message.CallEnd, Use: &message.Use{ID: r.UseID}, Result: r})
		}
	}
	return j.add(ctx, entries...)
}
