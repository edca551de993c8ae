package session

import (
	"context"
	"fmt"

	"github.com/metaharness/peri/toolview"
)

// ask puts a question to a person. It may be called from any goroutine.
func (s *Session) ask(ctx context.Context, q toolview.Question) (toolview.Answer, error) {
	if s.opt.Asker == nil {
		return toolview.Answer{}, toolview.ErrNoAsker
	}
	var answer toolview.Answer
	err := s.person(ctx, func() (err error) {
		answer, err = s.opt.Asker.Ask(ctx, q)
		return err
	})
	return answer, err
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
