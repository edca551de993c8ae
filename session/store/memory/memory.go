// Package memory keeps journals in this process's memory.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/metaharness/peri/session"
)

// Store is a session.Store. Its zero value is empty and ready.
type Store struct {
	mu   sync.Mutex
	logs map[string][]session.Entry
}

// Append adds entries to a journal.
func (s *Store) Append(_ context.Context, id string, entries ...session.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs == nil {
		s.logs = map[string][]session.Entry{}
	}
	s.logs[id] = append(s.logs[id], entries...)
	return nil
}

// Load returns a copy of a journal.
func (s *Store) Load(_ context.Context, id string) ([]session.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, ok := s.logs[id]
	if !ok {
		return nil, fmt.Errorf("memory: %s: %w", id, session.ErrNotFound)
	}
	return slices.Clone(log), nil
}

// List returns the ids of all sessions, sorted.
func (s *Store) List(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.logs))
	for id := range s.logs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}
