package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// waiting is a person who never answers.
type waiting struct{ asked chan int }

func (w *waiting) Approve(ctx context.Context, r []session.Request) ([]session.Approval, error) {
	w.asked <- len(r)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCancellingATurnSettlesEveryPendingRequest(t *testing.T) {
	ask := gate("Gate", func(*toolview.Call) middleware.Verdict { return middleware.Verdict{Decision: middleware.Ask} })
	o := options(t, script.New(script.Do("A", `{}`, "B", `{}`, "A", `{}`), script.Say("on")), ask, withTools("Tools", echo("A", 0), echo("B", 0)))
	w := &waiting{asked: make(chan int, 1)}
	o.Approver = w
	s := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-w.asked; cancel() }()
	for _, err := range s.Prompt(ctx, session.Text("go")) {
		_ = err // that it was cancelled is what this is about
	}
	paired(t, s.Messages())
	require.Len(t, results(s), 3)
	for _, r := range results(s) {
		require.NotContains(t, r, "A:", "nothing ran")
		require.NotContains(t, r, "B:", "nothing ran")
	}
}

// lasting answers for the session.
type lasting struct{ requests []session.Request }

func (l *lasting) Approve(_ context.Context, r []session.Request) ([]session.Approval, error) {
	l.requests = append(l.requests, r...)
	out := make([]session.Approval, len(r))
	for i := range out {
		out[i] = session.Approval{Allow: true, Scope: session.ForSession}
	}
	return out, nil
}

func TestWhoKeepsAnswersLearnsOfThoseThatLast(t *testing.T) {
	var learnt []string
	keeper := with("Keeper", middleware.Instance{Hooks: middleware.Hooks{
		Gate: judging(func(c *toolview.Call) middleware.Verdict {
			v := middleware.Verdict{Decision: middleware.Ask, Grants: []string{c.Name()}}
			if c.Name() == "B" {
				v.Grants = nil
			}
			return v
		}),
		Approved: func(_ context.Context, c *toolview.Call, v middleware.Verdict, scope string) error {
			learnt = append(learnt, c.Name()+" "+strings.Join(v.Grants, ",")+" "+scope)
			panic("contained")
		},
	}})
	o := options(t, script.New(script.Do("A", `{}`, "B", `{}`), script.Say("on")), keeper, withTools("Tools", echo("A", 0), echo("B", 0)))
	who := &lasting{}
	o.Approver = who
	s := open(t, o)
	turn(t, s, "go")
	require.Equal(t, []string{"A A session"}, learnt)
	require.Equal(t, []string{"A:", "B:"}, results(s))
	require.Equal(t, []string{"A"}, who.requests[0].Grants)
}
