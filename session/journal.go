package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/metaharness/peri/middleware"
)

// journal writes one session's entries and keeps the middlewares' values. It is safe for concurrent use.
type journal struct {
	to Store
	id string

	mu     sync.Mutex
	values map[string][]byte
}

func (j *journal) open(to Store, id string) { j.to, j.id = to, id }

func (j *journal) add(ctx context.Context, entries ...Entry) error {
	if j.to == nil {
		return nil
	}
	// What happened is recorded also when the turn that it happened in was cancelled.
	if err := j.to.Append(context.WithoutCancel(ctx), j.id, entries...); err != nil {
		return fmt.Errorf("session: journal: %w", err)
	}
	return nil
}

// store is the part of the journal that one middleware reads and writes.
func (j *journal) store(owner string) middleware.Store { return shelf{j, owner} }

type shelf struct {
	j     *journal
	owner string
}

func (s shelf) Load(_ context.Context, key string) ([]byte, bool, error) {
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	v, ok := s.j.values[s.owner+"\x00"+key]
	return v, ok, nil
}

func (s shelf) Save(ctx context.Context, key string, value []byte) error {
	kept := append([]byte(nil), value...)
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	if err := s.j.add(ctx, Entry{Kind: Kept, Owner: s.owner, Key: key, Data: kept}); err != nil {
		return err
	}
	s.j.set(s.owner, key, kept)
	return nil
}

func (j *journal) set(owner, key string, value []byte) {
	if j.values == nil {
		j.values = map[string][]byte{}
	}
	j.values[owner+"\x00"+key] = value
}
