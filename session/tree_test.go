package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// node is one session of a random tree, and what the test reckons that it may.
type node struct {
	id          string
	agent       string // "" = a fork
	background  bool
	below       []*node
	view, reach group
	denied      group // by the gates above and its own
}

// forest plays every session of a tree: one calls every tool and starts those below it, waits for those in the background,
// and is done. It keeps what each was shown and answered.
type forest struct {
	names []string
	nodes map[string]*node
	mu    sync.Mutex
	shown map[string]group
	told  map[string]map[string]string
}

func (f *forest) model(_ context.Context, r *middleware.Request, _ middleware.Sink) (*message.Message, error) {
	at := len(r.Messages) - 1
	for r.Messages[at].Role != message.User {
		at--
	}
	n := f.nodes[r.Messages[at].Text()]
	reply := &message.Message{Role: message.Assistant}
	do := func(name string, args map[string]any) {
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		reply.Parts = append(reply.Parts, message.Part{Kind: message.ToolUse, Use: &message.Use{ID: fmt.Sprintf("%s_%d", n.id, len(reply.Parts)), Name: name, Args: raw}})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch steps := (len(r.Messages) - at) / 2; steps {
	case 0:
		f.shown[n.id] = group{}
		for _, t := range r.View.Direct() {
			f.shown[n.id][t.Name] = true
		}
		for _, name := range f.names {
			do(name, map[string]any{"text": "x"})
		}
		for _, k := range n.below {
			do("Spawn", map[string]any{"agent": k.agent, "prompt": k.id, "background": k.background})
		}
		return reply, nil
	case 1:
		f.told[n.id] = map[string]string{}
		for i, res := range r.Messages[len(r.Messages)-1].Results() {
			if i < len(f.names) {
				f.told[n.id][f.names[i]] = res.Text()
			} else if _, run, ok := strings.Cut(res.Text(), "in the background as agent run "); ok {
				do("Collect", map[string]any{"id": strings.TrimSuffix(run, "."), "wait": true})
			}
		}
		if len(reply.Parts) > 0 {
			return reply, nil
		}
	}
	return message.Of(message.Assistant, "done "+n.id), nil
}

// guards brings a gate that denies at its own depth, and for a child another that says nothing of what the first denies.
func guards(denied []group) middleware.Middleware {
	open := func(depth int) *middleware.Instance {
		return &middleware.Instance{Hooks: middleware.Hooks{Gate: judging(func(c *toolview.Call) middleware.Verdict {
			if depth < len(denied) && denied[depth][c.Name()] {
				return middleware.Verdict{Decision: middleware.Deny, Reason: "guarded"}
			}
			return middleware.Verdict{Decision: middleware.Pass}
		})}}
	}
	var child func(context.Context, middleware.Env) (*middleware.Instance, error)
	child = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		in := open(env.Agent.Depth)
		in.Child = child
		return in, nil
	}
	return middleware.Middleware{Name: "Guards", Doc: "guards", Gates: true, Open: child}
}

// For a random tree of agents and forks, in the foreground and in the background, started by calls as a model starts them:
// each is shown what it may have of what is reached above it and nothing else, and every gate above it judges its calls.
func TestHoweverAChildIsStartedItIsWithinItsParentAndUnderItsGates(t *testing.T) {
	var names []string
	var tools []toolview.Tool
	for i := range 5 {
		names = append(names, fmt.Sprintf("T%d", i))
		tools = append(tools, echo(names[i], 0))
	}
	owner := withTools("Tools", tools...)
	ways := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		some := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(r, label)
		}
		agents := map[string]toolview.Spawn{}
		for _, n := range []string{"a", "b"} {
			sp := toolview.Spawn{Agent: n, Deny: some("deny"), Delegates: some("delegates")}
			if rapid.Bool().Draw(r, "has a list") {
				sp.Tools = append([]string{"Spawn", "Collect"}, some("tools")...)
			}
			agents[n] = sp
		}
		var denied []group
		for range 4 {
			denied = append(denied, all(some("guarded")))
		}
		f := &forest{names: names, nodes: map[string]*node{}, shown: map[string]group{}, told: map[string]map[string]string{}}
		root := f.grow(r, agents, denied, nil, 0)
		o := options(t, script.New(), owner, guards(denied), spawner(agents))
		o.Models = func(string) (middleware.ModelFunc, error) { return f.model, nil }
		s, err := session.New(t.Context(), o)
		require.NoError(r, err)
		defer func() { require.NoError(r, s.Close(context.Background())) }()
		for _, err := range s.Prompt(t.Context(), session.Text(root.id)) {
			require.NoError(r, err)
		}
		require.Len(r, f.shown, len(f.nodes), "every session took a turn")
		for _, n := range f.nodes {
			ways[fmt.Sprintf("fork %v, background %v", n.agent == "", n.background)]++
			for _, name := range names {
				want := name + ":x"
				switch {
				case !n.view[name]:
					want = "There is no tool `" + name + "`."
				case n.denied[name]:
					want = "Not run: guarded."
				}
				require.Equal(r, n.view[name], f.shown[n.id][name], "%s shown to %s", name, n.id)
				require.Contains(r, f.told[n.id][name], want, "%s called by %s", name, n.id)
			}
		}
	})
	require.Len(t, ways, 4, "every way was taken: %v", ways)
}

// grow draws a tree and reckons what each of its sessions may.
func (f *forest) grow(r *rapid.T, agents map[string]toolview.Spawn, denied []group, above *node, depth int) *node {
	n := &node{id: fmt.Sprintf("n%d", len(f.nodes)), denied: group{}}
	f.nodes[n.id] = n
	if above == nil {
		n.view, n.reach = all(f.names), all(f.names)
	} else {
		n.agent = rapid.SampledFrom([]string{"a", "b", ""}).Draw(r, "who")
		n.background = rapid.Bool().Draw(r, "background")
		n.view, n.reach = above.view, above.reach
		if sp, named := agents[n.agent]; named {
			n.view, n.reach = narrowed(above.reach, sp.Tools, sp.Deny), all(sp.Delegates).within(above.reach)
			for name, is := range n.view {
				n.reach[name] = n.reach[name] || is
			}
		}
		for name := range above.denied {
			n.denied[name] = true
		}
	}
	for name := range denied[min(depth, len(denied)-1)] {
		n.denied[name] = n.denied[name] || depth < len(denied)
	}
	if depth < 3 {
		for range rapid.IntRange(0, 2).Draw(r, "below") {
			n.below = append(n.below, f.grow(r, agents, denied, n, depth+1))
		}
	}
	slices.SortFunc(n.below, func(a, b *node) int { return strings.Compare(a.id, b.id) })
	return n
}
