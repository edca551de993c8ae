package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adhocore/gronx"

	"github.com/metaharness/peri/middleware"
)

const (
	storeKey = "schedules"
	most     = 50 // schedules of one session
)

// entry is one schedule.
type entry struct {
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	Prompt   string `json:"prompt"`

	next time.Time
}

func (e entry) String() string {
	return fmt.Sprintf("%s (%s): next at %s.", e.ID, e.Schedule, e.next.Format("2006-01-02 15:04 MST"))
}

// kept is what is stored. Last is the number of the last id, so that none is given twice.
type kept struct {
	Last    int     `json:"last"`
	Entries []entry `json:"entries"`
}

// book is the schedules of one session and its forks. It is safe for concurrent use.
type book struct {
	store middleware.Store // nil: in memory
	now   func() time.Time
	wake  func()

	mu sync.Mutex
	kept
}

// load brings the schedules back. What cannot be read, or never comes again, costs itself and not the session.
func load(ctx context.Context, env middleware.Env) (*book, error) {
	b := &book{store: env.Store, now: env.Now, wake: env.Wake}
	if b.now == nil {
		b.now = time.Now
	}
	if b.store == nil {
		return b, nil
	}
	raw, ok, err := b.store.Load(ctx, storeKey)
	if err != nil {
		return nil, fmt.Errorf("cron: load: %w", err)
	}
	tell := env.Notice
	if tell == nil {
		tell = func(string) {}
	}
	var k kept
	if ok {
		if err := json.Unmarshal(raw, &k); err != nil {
			tell(fmt.Sprintf("the stored schedules cannot be read (%v): there are none", err))
			return b, nil
		}
	}
	b.Last = k.Last
	for _, e := range k.Entries {
		if e.next, err = next(e.Schedule, b.now()); err != nil {
			tell(fmt.Sprintf("the schedule %s is left out: %v", e.ID, err))
			continue
		}
		b.Entries = append(b.Entries, e)
	}
	return b, nil
}

// next is when a schedule is due after a moment, in that moment's time zone.
func next(schedule string, after time.Time) (time.Time, error) {
	const grammar = "write minute, hour, day of the month, month and day of the week, such as */15 9-17 * * MON-FRI, or @hourly, @daily, @weekly, @monthly or @yearly"
	segments, err := gronx.Segments(schedule)
	// The library also takes seconds and years, which nobody can tell apart; a turn every second helps nobody.
	if err != nil || len(segments) != 6 || segments[0] != "0" || !strings.HasPrefix(schedule, "@") && len(strings.Fields(schedule)) != 5 || !gronx.IsValid(schedule) {
		return time.Time{}, fmt.Errorf("%q is no schedule: %s", schedule, grammar)
	}
	at, err := gronx.NextTickAfter(schedule, after, false)
	if err != nil || !at.After(after) {
		return time.Time{}, fmt.Errorf("%q never comes: %s", schedule, grammar)
	}
	return at, nil
}

// add sets a schedule; refused tells the model why not. What cannot be stored is not set either.
func (b *book) add(ctx context.Context, schedule, prompt string) (e entry, refused string, err error) {
	at, err := next(schedule, b.now())
	if err != nil {
		return e, err.Error() + ".", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.Entries) >= most {
		return e, fmt.Sprintf("%d schedules are as many as may be. Remove one.", most), nil
	}
	e = entry{fmt.Sprintf("c%d", b.Last+1), schedule, prompt, at}
	return e, "", b.set(ctx, kept{b.Last + 1, append(slices.Clone(b.Entries), e)})
}

func (b *book) drop(ctx context.Context, id string) (e entry, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.Entries, func(e entry) bool { return e.ID == id })
	if i < 0 {
		return e, false, nil
	}
	e = b.Entries[i]
	return e, true, b.set(ctx, kept{b.Last, slices.Delete(slices.Clone(b.Entries), i, i+1)})
}

// set replaces what is kept and wakes who waits. The caller has b.mu.
func (b *book) set(ctx context.Context, k kept) error {
	if b.store != nil {
		raw, err := json.Marshal(k)
		if err == nil {
			err = b.store.Save(ctx, storeKey, raw)
		}
		if err != nil {
			return fmt.Errorf("cron: store: %w", err)
		}
	}
	b.kept = k
	if b.wake != nil {
		b.wake()
	}
	return nil
}

func (b *book) all() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.Entries)
}

// due takes out the prompt that has been due for the longest, and says when the next one is.
func (b *book) due(now time.Time) (prompt string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := -1
	for i := range b.Entries {
		if first < 0 || b.Entries[i].next.Before(b.Entries[first].next) {
			first = i
		}
	}
	if first < 0 {
		return "", time.Time{}
	}
	e := &b.Entries[first]
	if e.next.After(now) {
		return "", e.next
	}
	again, err := next(e.Schedule, now)
	if err != nil {
		// It was due for the last time: years ahead the calendar of the library ends.
		again = now.AddDate(100, 0, 0)
	}
	e.next = again
	return fmt.Sprintf("The schedule %s (%s) is due:\n\n%s", e.ID, e.Schedule, e.Prompt), now
}
