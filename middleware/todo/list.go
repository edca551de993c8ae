package todo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// storeKey is where the main session's list stands in its store.
const storeKey = "todos"

// item is one thing to do, as tools take it and as it is stored.
type item struct {
	Content string `json:"content" doc:"what is to be done, in one line" min:"1" max:"1000" alias:"task,text"`
	Status  string `json:"status" doc:"how far it is" enum:"pending,in_progress,done"`
}

type writeArgs struct {
	Items []item `json:"items" doc:"the whole list, in order; empty clears it" max:"200" alias:"todos"`
}

// list is one session's list. It is safe for concurrent use; the slice is replaced, never changed.
type list struct {
	mu    sync.Mutex
	items []item
	store middleware.Store // nil: in memory
}

func (l *list) get() []item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items
}

// set replaces the list. What cannot be stored is not kept either, so that a resumed session sees what this one saw.
func (l *list) set(ctx context.Context, items []item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store != nil {
		raw, err := json.Marshal(items)
		if err == nil {
			err = l.store.Save(ctx, storeKey, raw)
		}
		if err != nil {
			return fmt.Errorf("todo: store the list: %w", err)
		}
	}
	l.items = items
	return nil
}

// load brings a session's list back. A stored list that cannot be read costs the list, not the session.
func load(ctx context.Context, env middleware.Env) (*list, error) {
	if env.Agent.Name != "" || env.Agent.Fork || env.Store == nil {
		return &list{}, nil
	}
	l := &list{store: env.Store}
	raw, ok, err := env.Store.Load(ctx, storeKey)
	switch {
	case err != nil:
		return nil, fmt.Errorf("todo: load the list: %w", err)
	case !ok:
		return l, nil
	}
	if err := json.Unmarshal(raw, &l.items); err != nil {
		l.items = nil
		if env.Notice != nil {
			env.Notice(fmt.Sprintf("the stored list of todos cannot be read (%v): it starts empty", err))
		}
	}
	return l, nil
}

func write(ctx context.Context, l *list, _ *toolview.Call, in writeArgs) (*message.Result, error) {
	for i := range in.Items {
		in.Items[i].Content = strings.Join(strings.Fields(in.Items[i].Content), " ")
		if in.Items[i].Content == "" {
			return message.Fail(fmt.Sprintf("`%s` changed nothing: items[%d].content is blank. Say what is to be done, or leave the item out.", writeTool, i)), nil
		}
	}
	if err := l.set(ctx, in.Items); err != nil {
		return nil, err
	}
	return result(in.Items, "The list was updated: "+tally(in.Items)+"."), nil
}

func read(_ context.Context, l *list, _ *toolview.Call, _ struct{}) (*message.Result, error) {
	items := l.get()
	return result(items, render(items)), nil
}

// result carries the list beside the text, for those who show it as a plan.
func result(items []item, text string) *message.Result {
	r := message.Say(text)
	if items == nil {
		items = []item{}
	}
	r.Structured, _ = json.Marshal(struct { // text alone always marshals
		Items []item `json:"items"`
	}{items})
	return r
}
