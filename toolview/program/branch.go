package program

import (
	"fmt"
	"iter"

	"go.starlark.net/starlark"
)

const (
	// maxStrands bounds how many strands one call starts, maxNested how deep such calls may stand within each other.
	maxStrands = 1000
	maxNested  = 8
)

// branch is a strand that runs beside others: a coroutine that hands over what it waits for. It runs only while its
// starter stands still, so that the whole program takes one path, whatever the order of the replies.
type branch struct {
	strand  *strand
	next    func() ([]Request, bool)
	stop    func()
	waits   int // requests it waits for
	replies []Reply
	over    bool
	value   starlark.Value
	err     error
}

func (r *run) branch(name string, f func(*starlark.Thread) (starlark.Value, error)) *branch {
	b := &branch{}
	b.next, b.stop = iter.Pull(func(yield func([]Request) bool) {
		b.strand = r.strand(name, func(requests []Request) ([]Reply, error) {
			if !yield(requests) {
				return nil, errStopped
			}
			return b.replies, r.stopped
		})
		b.value, b.err = f(b.strand.thread)
		b.strand.account()
	})
	return b
}

// beside runs functions beside each other. Each goes on until it waits; what all wait for is one batch.
func (r *run) beside(th *starlark.Thread, fs []func(*starlark.Thread) (starlark.Value, error)) (*starlark.List, error) {
	if r.strands += len(fs); len(fs) > maxStrands || r.strands > 10*maxStrands {
		return nil, r.stop(fmt.Errorf("%s: at most %d at once", th.CallFrame(0).Name, maxStrands))
	}
	if r.nested++; r.nested > maxNested {
		return nil, r.stop(fmt.Errorf("%s: stands more than %d deep within others", th.CallFrame(0).Name, maxNested))
	}
	defer func() { r.nested-- }()
	branches := make([]*branch, len(fs))
	for i, f := range fs {
		branches[i] = r.branch(fmt.Sprintf("%s.%d", th.Name, i+1), f)
		defer branches[i].stop()
	}
	for {
		batch, err := r.round(branches)
		if err != nil {
			return nil, err
		}
		if len(batch) == 0 {
			break
		}
		replies, err := of(th).do(batch)
		if err != nil {
			return nil, err
		}
		for _, b := range branches {
			b.replies, replies = replies[:b.waits], replies[b.waits:]
		}
	}
	values := make([]starlark.Value, len(branches))
	for i, b := range branches {
		values[i] = b.value
	}
	return starlark.NewList(values), r.charge(word * len(values))
}

// round lets each branch go on until it waits or is over.
func (r *run) round(branches []*branch) ([]Request, error) {
	var batch []Request
	for _, b := range branches {
		b.waits = 0
		if b.over {
			continue
		}
		requests, waits := b.next()
		if waits {
			b.waits = len(requests)
			batch = append(batch, requests...)
			continue
		}
		if b.over = true; b.err != nil {
			return nil, b.err
		}
	}
	return batch, nil
}

// parallel calls functions without arguments beside each other and returns their values in order.
func (r *run) parallel(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var list starlark.Iterable
	if err := starlark.UnpackArgs("parallel", args, named, "functions", &list); err != nil {
		return nil, err
	}
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	fs := make([]func(*starlark.Thread) (starlark.Value, error), len(items))
	for i, item := range items {
		f, ok := item.(starlark.Callable)
		if !ok {
			return nil, fmt.Errorf("parallel: entry %d is a %s and no function: write `lambda: ...` around what is to run beside the others", i, item.Type())
		}
		fs[i] = func(th *starlark.Thread) (starlark.Value, error) { return starlark.Call(th, f, nil, nil) }
	}
	return r.beside(th, fs)
}

// pipeline sends each item through the stages, the items beside each other. A failed report ends its item.
func (r *run) pipeline(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	if len(args) < 2 || len(named) > 0 {
		return nil, fmt.Errorf("pipeline: give the items, then one or more functions that each take what the one before returned")
	}
	list, ok := args[0].(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("pipeline: the items are a %s and no list", args[0].Type())
	}
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	fs := make([]func(*starlark.Thread) (starlark.Value, error), len(items))
	for i, item := range items {
		fs[i] = func(th *starlark.Thread) (starlark.Value, error) {
			v := item
			for _, stage := range args[1:] {
				var err error
				if v, err = starlark.Call(th, stage, starlark.Tuple{v}, nil); err != nil {
					return nil, err
				}
				if rep, ok := v.(*report); ok && !rep.ok {
					break
				}
			}
			return v, nil
		}
	}
	return r.beside(th, fs)
}

func (r *run) items(list starlark.Iterable) ([]starlark.Value, error) {
	if n := starlark.Len(list); n > maxStrands {
		return nil, fmt.Errorf("at most %d at once, and there are %d", maxStrands, n)
	}
	it := list.Iterate()
	defer it.Done()
	var out []starlark.Value
	for v := starlark.Value(nil); it.Next(&v); {
		out = append(out, v)
	}
	return out, nil
}
