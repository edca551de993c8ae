package toolview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

func TestSearchPairIsThereWhileADeferredToolIs(t *testing.T) {
	bands := []toolview.Band{direct("A", "One"), deferred("B", "Late"), pair()}
	lame := pair()
	lame.Unsupported = "no index"
	half := tool("Find")
	half.Finder = true
	broken := forwarder("Exec")
	broken.Finder, broken.Unsupported = true, "not today"
	with := func(p toolview.Band) []toolview.Band {
		return []toolview.Band{direct("A", "One"), deferred("B", "Late"), p}
	}
	hide := &toolview.Policy{Paused: map[string]bool{"SearchMiddleware": true}, WithoutSearch: toolview.Hide}
	refuse := &toolview.Policy{Paused: map[string]bool{"SearchMiddleware": true}, WithoutSearch: toolview.Refuse}

	for name, c := range map[string]struct {
		policy   *toolview.Policy
		bands    []toolview.Band
		direct   []string
		deferred []string
		fallen   int
	}{
		"open":                            {free(), bands, []string{"One", "Exec", "Find"}, []string{"Late"}, 0},
		"the last deferred tool is gone":  {denying(t, "Late"), bands, []string{"One"}, nil, 0},
		"its owner is paused":             {pausing("B"), bands, []string{"One"}, nil, 0},
		"search is paused":                {pausing("SearchMiddleware"), bands, []string{"One", "Late"}, nil, 1},
		"search is not in the chain":      {free(), bands[:2], []string{"One", "Late"}, nil, 1},
		"one of the pair is denied":       {denying(t, "find"), bands, []string{"One", "Late"}, nil, 1},
		"its owner is denied":             {denying(t, "@searchmiddleware"), bands, []string{"One", "Late"}, nil, 1},
		"search is unsupported":           {free(), with(lame), []string{"One", "Late"}, nil, 1},
		"one of the pair is unsupported":  {free(), with(toolview.Band{Owner: "S", Set: toolview.MustSet(half, broken)}), []string{"One", "Late"}, nil, 1},
		"an allow list does not name it":  {allowing(t, "Late"), bands, []string{"Exec", "Find"}, []string{"Late"}, 0},
		"an allow list names the pair":    {allowing(t, "Find", "Exec"), bands, nil, nil, 0},
		"an empty allow list":             {allowing(t), bands, nil, nil, 0},
		"an empty allow list beside deny": {&toolview.Policy{Frames: []*toolview.Frame{frame(t, toolview.Lists{Allow: [][]toolview.Selector{{}}, Deny: sel("Find")})}}, bands, nil, nil, 0},
		"everything is denied":            {denying(t, "*"), bands, nil, nil, 0},
		"hidden without search":           {hide, bands, []string{"One"}, nil, 1},
		"refused without search":          {refuse, bands, []string{"One"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(c.policy, c.bands...)
			require.Equal(t, append([]string{}, c.direct...), shown(v))
			require.Equal(t, append([]string{}, c.deferred...), found(v))
			require.Equal(t, c.fallen, v.Fallen())
			require.Equal(t, len(c.deferred) > 0, v.HasDeferred())
			for _, x := range v.Hidden() {
				require.NotEmpty(t, x.Gate, x.Name)
				require.NotEmpty(t, x.Rule, x.Name)
			}
		})
	}
}

func TestHiddenPairSaysWhy(t *testing.T) {
	bands := []toolview.Band{direct("A", "One"), deferred("B", "Late"), pair()}
	require.Equal(t, "no deferred tool is there to be found", view(denying(t, "Late"), bands...).Explain("Find").Rule)
	require.Equal(t, "another tool of the search is not there", view(denying(t, "Exec"), bands...).Explain("Find").Rule)
	shut := view(denying(t, "Exec"), bands...)
	lame := tool("Late")
	lame.Unsupported = "no"
	below := toolview.NewDeriver(bands, nil, nil).View(free(), shut)
	require.Equal(t, "the parent has no tool search", below.Explain("Find").Rule)
}

func TestChildHasThePairOnlyWhereItsParentHasAWayToDeferredTools(t *testing.T) {
	bands := []toolview.Band{direct("A", "One"), deferred("B", "Late"), pair()}
	open := view(free(), bands...)
	below := func(parent *toolview.View, p *toolview.Policy) *toolview.View {
		return toolview.NewDeriver(bands, nil, nil).View(p, parent)
	}
	require.Equal(t, []string{"Exec", "Find"}, shown(below(open, allowing(t, "Late"))))
	require.Equal(t, []string{"One"}, shown(below(open, allowing(t, "One"))), "nothing deferred, no pair")
	require.Empty(t, shown(below(open, allowing(t))))

	shut := view(denying(t, "Find"), bands...)
	require.Equal(t, []string{"One", "Late"}, shown(below(shut, free())), "a parent without search has children without")
	none := view(denying(t, "Late"), bands...)
	require.Equal(t, []string{"One"}, shown(below(none, free())))
}

func TestForwarderCallsADeferredToolAndADirectCallIsToldToSearch(t *testing.T) {
	v := view(free(), deferred("B", "Late"), pair())
	_, bad := v.Call("1", "Late", nil)
	require.Contains(t, bad.Text(), "search for it first")
	c, bad := v.Call("1", "Exec", []byte(`{"name":"Late","args":{"text":"hi"}}`))
	require.Nil(t, bad)
	require.Equal(t, []any{"Late", "Exec", "B", true, `{"text":"hi"}`}, []any{c.Name(), c.Via(), c.Owner(), c.Deferred(), string(c.Args())})
}

func TestLateDirectToolIsDeferredWhileSearchIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		policy           *toolview.Policy
		direct, deferred []string
	}{
		"search is there":     {free(), []string{"One", "dyn__a", "Exec", "Find"}, []string{"dyn__0"}},
		"settings say direct": {&toolview.Policy{LateDirect: true}, []string{"One", "dyn__a", "dyn__0"}, []string{}},
		"search is paused":    {pausing("SearchMiddleware"), []string{"One", "dyn__a", "dyn__0"}, []string{}},
		"without search it is no deferred one": {
			&toolview.Policy{Paused: map[string]bool{"SearchMiddleware": true}, WithoutSearch: toolview.Hide},
			[]string{"One", "dyn__a", "dyn__0"},
			[]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var live toolview.Live
			live.Publish(tools("dyn__a"))
			d := toolview.NewDeriver([]toolview.Band{direct("A", "One"), {Owner: "D", Source: &live, Prefix: "dyn__"}, pair()}, nil, nil)
			require.Equal(t, []string{"One", "dyn__a"}, shown(d.View(c.policy, nil)))
			live.Publish(tools("dyn__0", "dyn__a"))
			v := d.View(c.policy, nil)
			require.Equal(t, c.direct, shown(v))
			require.Equal(t, c.deferred, found(v))
			require.True(t, v.Explain("dyn__0").Visible)
			live.Publish(tools("dyn__0"))
			d.View(c.policy, nil)
			live.Publish(tools("dyn__0", "dyn__a"))
			again := d.View(c.policy, nil)
			require.Equal(t, c.direct, shown(again), "a tool that comes back has its old place")
		})
	}
}
