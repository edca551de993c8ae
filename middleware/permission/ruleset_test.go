package permission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Within a ruleset the last match wins; what comes of it only restricts, and the children of the agent stay under it.
func TestAnAgentsRulesetAsksInEveryModeAndOpensNothing(t *testing.T) {
	ruling := func(text string, a toolview.Action) toolview.Ruling {
		return toolview.Ruling{Selector: toolview.Selector{Text: text, Origin: meta.Origin{File: "rev.md", Line: 4}}, Action: a}
	}
	agent := middleware.Agent{Name: "rev", Depth: 1, Rules: []toolview.Ruling{
		ruling("*", toolview.ActionAsk), ruling("Save(src/*)", toolview.ActionAllow), ruling("Save(src/secret/*)", toolview.ActionAsk),
	}}
	save := func(path string) *toolview.Call {
		return call(t, tool("Save", toolview.Edits), pathArgs{Path: path, Edit: true})
	}
	env := func(a middleware.Agent) middleware.Env {
		return middleware.Env{Project: middleware.Project{Root: root}, Agent: a}
	}
	for mode, want := range map[string][3]middleware.Decision{ // elsewhere, src/a, src/secret/a
		"bypass":  {ask, allow, ask},
		"default": {ask, ask, ask},
		"plan":    {ask, deny, ask},
	} {
		in := opened(t, Options{Mode: mode})
		child, err := in.Child(t.Context(), env(agent))
		require.NoError(t, err)
		grandchild, err := child.Child(t.Context(), env(middleware.Agent{Name: "free", Depth: 2}))
		require.NoError(t, err)
		for i, path := range []string{"a", "src/a", "src/secret/a"} {
			require.Equal(t, want[i], judge(t, child, save(path)).Decision, "%s %s", mode, path)
			require.Equal(t, want[i], judge(t, grandchild, save(path)).Decision, "%s %s, of a child", mode, path)
		}
	}
	in := opened(t, Options{Mode: "bypass"})
	require.Equal(t, allow, judge(t, in, save("a")).Decision, "the parent is free of it")
	child, err := in.Child(t.Context(), env(agent))
	require.NoError(t, err)
	v := judge(t, child, save("a"))
	require.Equal(t, "*", v.Rule)
	require.Equal(t, 4, v.Origin.Line)
	require.False(t, v.Mode, "no hook can satisfy it")
	_, err = in.Child(t.Context(), env(middleware.Agent{Name: "bad", Rules: []toolview.Ruling{ruling("(", toolview.ActionAsk)}}))
	require.ErrorContains(t, err, "agent bad: rev.md:4")
}
