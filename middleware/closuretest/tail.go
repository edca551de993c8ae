package closuretest

import (
	"context"
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
)

// Tails reports contributions that are elsewhere than in the tail of their request.
const Tails = "tail"

// telling is how long a contribution must be for its words to be looked for elsewhere.
const telling = 8

func tails(ctx context.Context, t *trial) {
	var made []prompt.Contribution
	t.seen.led.read(func() { made = append(made, t.seen.led.tails...) })
	var system, messages strings.Builder
	sent := map[prompt.Contribution]bool{}
	for _, r := range t.seen.requests {
		system.WriteString(r.text())
		messages.WriteString(jsonOf(r.messages))
		for _, c := range r.tail {
			sent[c] = true
			if t.seen.gone[c.Owner] {
				t.leak(c.Owner, "tail", "is there, and its owner is closed")
			}
		}
	}
	messages.WriteString(jsonOf(t.seen.messages))
	journal := jsonOf(t.seen.journal)
	for _, c := range made {
		if !sent[c] {
			t.leak(c.Owner, "tail", "lacks what was contributed: %.60q", c.Text)
		}
		if len(c.Text) < telling {
			continue
		}
		quoted := strings.Trim(jsonOf(c.Text), `"`)
		for where, in := range map[string]bool{
			"system prompt": strings.Contains(system.String(), c.Text),
			"messages":      strings.Contains(messages.String(), quoted),
			"journal":       strings.Contains(journal, quoted),
		} {
			if in {
				t.leak(c.Owner, where, "holds the contribution %.60q", c.Text)
			}
		}
	}
	if len(t.closed) == 0 && t.own == nil {
		t.paused(ctx, made)
	}
}

// paused pauses each contributor in turn.
func (t *trial) paused(ctx context.Context, made []prompt.Contribution) {
	done := map[string]bool{}
	for _, c := range made {
		i := slices.IndexFunc(t.list, func(m middleware.Middleware) bool { return m.Name == c.Owner })
		if done[c.Owner] || i < 0 || t.list[i].Gates {
			continue
		}
		done[c.Owner] = true
		s, err := t.open(ctx, setup{})
		if err != nil {
			t.failed("session", err)
			return
		}
		err = s.Pause(c.Owner)
		if err == nil {
			err = s.turn(prompted)
		}
		for _, r := range s.sent.requests() {
			if slices.ContainsFunc(r.tail, func(x prompt.Contribution) bool { return x.Owner == c.Owner }) {
				t.leak(c.Owner, "tail", "is there, and its owner is paused")
			}
		}
		if err = s.end(err); err != nil {
			t.failed("pause "+c.Owner, err)
		}
	}
}
