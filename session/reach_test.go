package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// group is a set of tools that the test reckons with by itself.
type group map[string]bool

func (g group) within(o group) group {
	out := group{}
	for n := range g {
		out[n] = g[n] && o[n]
	}
	return out
}

func all(names []string) group {
	g := group{}
	for _, n := range names {
		g[n] = true
	}
	return g
}

// narrowed is what lists leave of a group: allow nil = all of it.
func narrowed(of group, allow, deny []string) group {
	out := group{}
	for n := range of {
		out[n] = of[n] && (allow == nil || all(allow)[n]) && !all(deny)[n]
	}
	return out
}

// For a random tree of agents and forks under random settings, every view is what the rules say: the session's, within
// what everyone above reaches, within the agent's own; and what it reaches is that and what it delegates of the bound above.
func TestEveryChildIsWithinWhatIsReachedAbove(t *testing.T) {
	var names []string
	var tools []toolview.Tool
	for i := range 6 {
		names = append(names, fmt.Sprintf("T%d", i))
		tools = append(tools, echo(names[i], 0))
	}
	owner := withTools("Tools", tools...)
	rapid.Check(t, func(r *rapid.T) {
		some := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 5, rapid.ID[string]).Draw(r, label)
		}
		maybe := func(label string) []string {
			if rapid.Bool().Draw(r, label+" is there") {
				return append([]string{}, some(label)...)
			}
			return nil
		}
		agents := map[string]toolview.Spawn{}
		for _, n := range []string{"a", "b", "c"} {
			agents[n] = toolview.Spawn{Agent: n, Tools: maybe("tools"), Deny: some("deny"), Delegates: maybe("delegates")}
		}
		o := options(t, script.New(), owner, spawner(agents))
		o.Lists.Deny = selectorsOf(some("settings deny"))
		allow := maybe("settings allow")
		if allow != nil {
			o.Lists.Allow = [][]toolview.Selector{selectorsOf(allow)}
		}
		denied := make([]string, 0, len(o.Lists.Deny))
		for _, d := range o.Lists.Deny {
			denied = append(denied, d.Text)
		}
		s, err := session.New(t.Context(), o)
		require.NoError(r, err)
		defer func() { require.NoError(r, s.Close(context.Background())) }()
		// The host's word reaches those that are there already.
		late := rapid.Bool().Draw(r, "the host is late")
		hostAllow, hostDeny := maybe("host allow"), some("host deny")
		if !late {
			require.NoError(r, s.SetTools(hostAllow, hostDeny))
		}
		top := narrowed(narrowed(all(names), allow, denied), hostAllow, hostDeny)
		type level struct {
			s           *session.Session
			view, reach group
			of          string
		}
		levels := []level{{s, top, top, "main"}}
		for range rapid.IntRange(1, 4).Draw(r, "levels") {
			above := levels[len(levels)-1]
			who := rapid.SampledFrom([]string{"a", "b", "c", "fork"}).Draw(r, "who")
			if who == "fork" {
				k, err := above.s.Fork(t.Context())
				require.NoError(r, err)
				levels = append(levels, level{k, above.view, above.reach, who})
				continue
			}
			k, err := above.s.Agent(t.Context(), who)
			require.NoError(r, err)
			sp := agents[who]
			own, reach := narrowed(above.reach, sp.Tools, sp.Deny), group{}
			for n, is := range all(sp.Delegates).within(above.reach) {
				reach[n] = is
			}
			for n, is := range own {
				reach[n] = reach[n] || is
			}
			levels = append(levels, level{k, own, reach, who})
		}
		if late {
			require.NoError(r, s.SetTools(hostAllow, hostDeny))
		}
		for i, l := range levels {
			v := l.s.View()
			for _, n := range names {
				x := v.Explain(n)
				require.Equal(r, l.view[n], x.Visible, "%s at level %d (%s)", n, i, l.of)
				_, bad := v.Call("1", n, []byte(`{}`))
				require.Equal(r, x.Visible, bad == nil, "a call and its explanation agree")
				require.Equal(r, x.Visible, x.Gate == "")
				if i > 0 {
					require.False(r, l.view[n] && !levels[i-1].reach[n])
				}
			}
		}
	})
}

func selectorsOf(texts []string) []toolview.Selector {
	out := make([]toolview.Selector, len(texts))
	for i, t := range texts {
		out[i] = toolview.Selector{Text: t}
	}
	return out
}

func TestAnUnchangedCeilingIsTheSameViewAndAllocatesNothing(t *testing.T) {
	agents := map[string]toolview.Spawn{
		"boss": {Agent: "boss", Tools: []string{"One"}, Delegates: []string{"Two"}}, "low": {Agent: "low"},
	}
	s := open(t, options(t, script.New(), withTools("Tools", echo("One", 0), echo("Two", 0)), spawner(agents)))
	boss, err := s.Agent(t.Context(), "boss")
	require.NoError(t, err)
	fork, err := boss.Fork(t.Context())
	require.NoError(t, err)
	low, err := fork.Agent(t.Context(), "low")
	require.NoError(t, err)
	v := low.View()
	require.Equal(t, []string{"One", "Two"}, names(low))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = low.View() }))
	require.Same(t, v, low.View())
}
