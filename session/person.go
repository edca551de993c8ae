package session

import (
	"context"
	"fmt"
)

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
