package todo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/todo"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// memory is a store of one session.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
	fail error
}

func (m *memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[key]
	return v, ok, nil
}

func (m *memory) Save(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[key] = value
	return nil
}

func open(t *testing.T, env middleware.Env) *middleware.Instance {
	t.Helper()
	m := todo.New(todo.Options{})
	require.NoError(t, middleware.Validate(m))
	inst, err := m.Open(context.Background(), env)
	require.NoError(t, err)
	return inst
}

func view(t *testing.T, inst *middleware.Instance, deny ...string) *toolview.View {
	t.Helper()
	var lists toolview.Lists
	for _, d := range deny {
		lists.Deny = append(lists.Deny, toolview.Selector{Text: d, Origin: meta.Origin{Layer: "test"}})
	}
	frame, err := toolview.NewFrame(lists)
	require.NoError(t, err)
	band := toolview.Band{Owner: todo.Name, Set: todo.New(todo.Options{}).Tools, State: inst.State}
	return toolview.NewDeriver([]toolview.Band{band}, nil, nil).View(&toolview.Policy{Frames: []*toolview.Frame{frame}}, nil)
}

func try(t *testing.T, inst *middleware.Instance, name, args string) (*message.Result, error) {
	t.Helper()
	c, bad := view(t, inst).Call("1", name, []byte(args))
	if bad != nil {
		return bad, nil
	}
	return c.Tool().Run(context.Background(), c)
}

func call(t *testing.T, inst *middleware.Instance, name, args string) *message.Result {
	t.Helper()
	r, err := try(t, inst, name, args)
	require.NoError(t, err)
	return r
}

func tail(t *testing.T, inst *middleware.Instance, deny ...string) string {
	t.Helper()
	var out prompt.Tail
	require.NoError(t, inst.Contribute(context.Background(), &middleware.Step{View: view(t, inst, deny...)}, &out))
	var texts []string
	for _, p := range out.Parts() {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

const two = `{"items":[{"content":"write","status":"done"},{"content":"test","status":"in_progress"}]}`

func TestListIsReadAsItWasWritten(t *testing.T) {
	inst := open(t, middleware.Env{})
	require.Contains(t, call(t, inst, "TodoRead", `{}`).Text(), "Nothing is on the list.")
	require.Equal(t, "The list was updated: 1 done, 1 in progress, 0 pending.", call(t, inst, "TodoWrite", two).Text())

	r := call(t, inst, "TodoRead", `{}`)
	require.Equal(t, "[x] write\n[~] test\n\n1 done, 1 in progress, 0 pending", r.Text())
	require.JSONEq(t, two, string(r.Structured))

	r = call(t, inst, "todo_write", `{"todos":[]}`)
	require.False(t, r.Error)
	require.JSONEq(t, `{"items":[]}`, string(r.Structured))
	require.Contains(t, call(t, inst, "todoread", ``).Text(), "Nothing is on the list.")
}

func TestBadListChangesNothing(t *testing.T) {
	inst := open(t, middleware.Env{})
	call(t, inst, "TodoWrite", two)
	for name, args := range map[string]string{
		"no items":       `{}`,
		"unknown status": `{"items":[{"content":"a","status":"completed"}]}`,
		"no status":      `{"items":[{"content":"a"}]}`,
		"blank content":  `{"items":[{"content":" \n","status":"done"}]}`,
		"empty content":  `{"items":[{"content":"","status":"done"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, call(t, inst, "TodoWrite", args).Error)
			require.Contains(t, call(t, inst, "TodoRead", `{}`).Text(), "[~] test")
		})
	}
}

func TestListComesBackWhenTheSessionIsResumed(t *testing.T) {
	store := &memory{}
	call(t, open(t, middleware.Env{Store: store}), "TodoWrite", two)
	require.Contains(t, call(t, open(t, middleware.Env{Store: store, Resumed: true}), "TodoRead", `{}`).Text(), "[~] test")
	require.NotContains(t, call(t, open(t, middleware.Env{Store: &memory{}, Resumed: true}), "TodoRead", `{}`).Text(), "test")
}

func TestListThatCannotBeReadCostsNotTheSession(t *testing.T) {
	var notices []string
	env := middleware.Env{
		Store:  &memory{kept: map[string][]byte{"todos": []byte(`{"items"`)}},
		Notice: func(s string) { notices = append(notices, s) },
	}
	require.Contains(t, call(t, open(t, env), "TodoRead", `{}`).Text(), "Nothing is on the list.")
	require.Len(t, notices, 1)
}

func TestListThatCannotBeStoredIsNotKept(t *testing.T) {
	store := &memory{}
	inst := open(t, middleware.Env{Store: store})
	call(t, inst, "TodoWrite", two)
	store.fail = errors.New("disk full")
	_, err := try(t, inst, "TodoWrite", `{"items":[]}`)
	require.ErrorContains(t, err, "disk full")
	require.Contains(t, call(t, inst, "TodoRead", `{}`).Text(), "[~] test")
}

func TestChildHasAListOfItsOwn(t *testing.T) {
	store := &memory{}
	parent := open(t, middleware.Env{Store: store})
	call(t, parent, "TodoWrite", two)
	child := func(a middleware.Agent) *middleware.Instance {
		inst, err := parent.Child(context.Background(), middleware.Env{Agent: a, Store: store})
		require.NoError(t, err)
		return inst
	}
	named, fork := child(middleware.Agent{Name: "explore"}), child(middleware.Agent{Fork: true})
	require.Contains(t, call(t, named, "TodoRead", `{}`).Text(), "Nothing is on the list.")
	require.Contains(t, call(t, fork, "TodoRead", `{}`).Text(), "[~] test", "a fork goes on from what its parent planned")
	before := string(store.kept["todos"])
	for _, c := range []*middleware.Instance{named, fork} {
		call(t, c, "TodoWrite", `{"items":[{"content":"child's","status":"pending"}]}`)
	}
	require.Equal(t, before, string(store.kept["todos"]))
	require.NotContains(t, call(t, parent, "TodoRead", `{}`).Text(), "child's")
}

func TestReminderIsThereWhileSomethingIsOpen(t *testing.T) {
	inst := open(t, middleware.Env{})
	require.Empty(t, tail(t, inst))
	call(t, inst, "TodoWrite", two)
	text := tail(t, inst)
	require.Contains(t, text, "[~] test")
	require.NotContains(t, text, "write\n", "what is done needs no reminder")
	require.Contains(t, text, "`TodoWrite`")
	call(t, inst, "TodoWrite", `{"items":[{"content":"test","status":"done"}]}`)
	require.Empty(t, tail(t, inst))
}

func TestReminderNamesOnlyToolsThatAreThere(t *testing.T) {
	inst := open(t, middleware.Env{})
	call(t, inst, "TodoWrite", two)
	require.Contains(t, tail(t, inst), "`TodoWrite`")
	text := tail(t, inst, "TodoWrite")
	require.Contains(t, text, "[~] test")
	require.NotContains(t, text, "TodoWrite")
	require.Empty(t, tail(t, inst, "todo"))
}

func TestReminderStaysShort(t *testing.T) {
	type item struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	var items []item
	for i := range 200 {
		items = append(items, item{fmt.Sprintf("%d %s", i, strings.Repeat("ß", 900)), "pending"})
	}
	args, err := json.Marshal(map[string]any{"items": items})
	require.NoError(t, err)
	inst := open(t, middleware.Env{})
	require.False(t, call(t, inst, "TodoWrite", string(args)).Error)
	text := tail(t, inst)
	require.Contains(t, text, "and 180 more")
	require.Less(t, len(text), 6_000)
	require.NotContains(t, text, "\ufffd")
}

func TestRouteShowsTheList(t *testing.T) {
	inst := open(t, middleware.Env{})
	require.Len(t, inst.Routes, 1)
	show := func() string {
		r, err := inst.Routes[0].Run(context.Background(), "")
		require.NoError(t, err)
		require.Empty(t, r.Prompt)
		return r.Text
	}
	require.Equal(t, "Nothing is on the list.", show())
	call(t, inst, "TodoWrite", two)
	require.Contains(t, show(), "[~] test")
}

func TestListIsSafeForConcurrentCalls(t *testing.T) {
	inst := open(t, middleware.Env{Store: &memory{}})
	v := view(t, inst)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, use := range [][2]string{{"TodoWrite", two}, {"TodoRead", `{}`}} {
				c, bad := v.Call("1", use[0], []byte(use[1]))
				if bad == nil {
					_, _ = c.Tool().Run(context.Background(), c)
				}
			}
		})
	}
	wg.Wait()
	require.Contains(t, call(t, inst, "TodoRead", `{}`).Text(), "[~] test")
}
