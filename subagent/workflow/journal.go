package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/metaharness/peri/middleware"
)

const (
	runsKey = "runs"
	maxRuns = 50
)

// journal keeps, with the session, which agents of which runs have finished. It is safe for concurrent use; without a
// store it keeps nothing beyond the process.
type journal struct {
	store middleware.Store

	mu   sync.Mutex
	runs []record // oldest first
	busy map[string]bool
}

// record is one run. A run that is begun anew is another generation, so that nothing of an earlier one is found.
type record struct {
	ID  string `json:"id"`
	Of  string `json:"of"`
	Gen int    `json:"gen"`
	// Open says that it has not come to its end.
	Open bool `json:"open"`
}

// finished is what an agent came to.
type finished struct {
	Text string `json:"text"`
}

func (j *journal) load(ctx context.Context) error {
	if j.store == nil {
		return nil
	}
	raw, ok, err := j.store.Load(ctx, runsKey)
	if err == nil && ok {
		err = json.Unmarshal(raw, &j.runs)
	}
	if err != nil {
		return fmt.Errorf("workflow: the session's runs: %w", err)
	}
	return nil
}

// begin opens a run, or goes on with one that was stopped. bad is what the model reads.
func (j *journal) begin(ctx context.Context, id, of string, resume, restart bool) (r record, bad string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.busy[id] {
		return r, fmt.Sprintf("The run %s is going on: wait for it, or change the arguments.", id), nil
	}
	i := slices.IndexFunc(j.runs, func(r record) bool { return r.ID == id })
	switch {
	case i >= 0:
		r = j.runs[i]
		j.runs = slices.Delete(j.runs, i, i+1)
	case resume:
		return r, fmt.Sprintf("There is no run %q in this session. Leave `resume` out to begin one.", id), nil
	default:
		r = record{ID: id, Of: of}
	}
	if !r.Open || restart {
		r.Gen++
	}
	r.Open = true
	j.runs = append(j.runs, r)
	if n := len(j.runs) - maxRuns; n > 0 {
		j.runs = slices.Delete(j.runs, 0, n)
	}
	if err := j.save(ctx); err != nil {
		return r, "", err
	}
	if j.busy == nil {
		j.busy = map[string]bool{}
	}
	j.busy[id] = true
	return r, "", nil
}

// end lets a run go; done says that it came to its end.
func (j *journal) end(ctx context.Context, id string, done bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.busy, id)
	i := slices.IndexFunc(j.runs, func(r record) bool { return r.ID == id })
	if i < 0 || !done {
		return nil
	}
	j.runs[i].Open = false
	return j.save(ctx)
}

func (j *journal) save(ctx context.Context) error {
	if j.store == nil {
		return nil
	}
	raw, err := json.Marshal(j.runs)
	if err == nil {
		err = j.store.Save(ctx, runsKey, raw)
	}
	if err != nil {
		return fmt.Errorf("workflow: keeping the run: %w", err)
	}
	return nil
}

// open are the runs that were stopped.
func (j *journal) open() []record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.runs), func(r record) bool { return !r.Open })
}

func (r record) key(request string) string { return fmt.Sprintf("run/%s/%d/%s", r.ID, r.Gen, request) }

// found is an agent that has finished in an earlier part of the run.
func (j *journal) found(ctx context.Context, r record, request string) (*finished, error) {
	if j.store == nil {
		return nil, nil
	}
	raw, ok, err := j.store.Load(ctx, r.key(request))
	if err != nil || !ok {
		return nil, err
	}
	var f finished
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("workflow: a finished agent of run %s: %w", r.ID, err)
	}
	return &f, nil
}

func (j *journal) finish(ctx context.Context, r record, request string, f finished) error {
	if j.store == nil {
		return nil
	}
	raw, err := json.Marshal(f)
	if err == nil {
		err = j.store.Save(ctx, r.key(request), raw)
	}
	if err != nil {
		return fmt.Errorf("workflow: keeping a report: %w", err)
	}
	return nil
}
