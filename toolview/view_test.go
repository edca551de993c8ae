package toolview_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func TestNameIsExactAndAnAliasCountsOnlyWithoutIt(t *testing.T) {
	bands := []toolview.Band{
		{Owner: "A", Set: toolview.MustSet(tool("Agent", "task", "Read"))},
		{Owner: "B", Set: toolview.MustSet(tool("Read"), tool("Other", "task"))},
	}
	v := view(free(), bands...)
	for name, want := range map[string]string{"Read": "Read", "Agent": "Agent", "task": "Agent", "read": "", "TASK": "", "": ""} {
		e, ok := v.Lookup(name)
		require.Equal(t, want != "", ok, name)
		if ok {
			require.Equal(t, want, e.Tool.Name, name)
		}
	}
	e, ok := view(denying(t, "@B"), bands...).Lookup("Read")
	require.True(t, ok)
	require.Equal(t, "Agent", e.Tool.Name, "no visible tool has that very name")
}

func TestFirstViewIsInChainOrderThenNames(t *testing.T) {
	require.Equal(t, []string{"Zed", "Apple", "Berry"}, shown(view(free(), direct("Z", "Zed"), direct("A", "Berry", "Apple"))))
}

func TestOrderSurvivesPauseUnpauseAndResume(t *testing.T) {
	bands := []toolview.Band{direct("A", "One"), direct("B", "Two"), direct("C", "Three")}
	d := toolview.NewDeriver(bands, nil, nil)
	first := d.View(free(), nil)
	require.Equal(t, []string{"One", "Two", "Three"}, shown(first))
	require.Equal(t, []string{"Two", "Three"}, shown(d.View(pausing("A"), nil)))
	require.Equal(t, shown(first), shown(d.View(free(), nil)), "an unpaused tool is back in its old place")

	slices.Reverse(bands)
	require.Equal(t, []string{"Three", "Two", "One"}, shown(view(free(), bands...)), "another chain has another order")
	resumed := toolview.NewDeriver(bands, nil, first.Order()).View(free(), nil)
	require.Equal(t, shown(first), shown(resumed), "the stored order wins")
}

func TestToolThatWasDeniedAtFirstIsAppended(t *testing.T) {
	d := toolview.NewDeriver([]toolview.Band{direct("A", "One"), direct("B", "Two")}, nil, nil)
	require.Equal(t, []string{"Two"}, shown(d.View(denying(t, "One"), nil)))
	require.Equal(t, []string{"Two", "One"}, shown(d.View(free(), nil)))
	require.Equal(t, []string{"Two", "One"}, d.View(free(), nil).Order())
}

func TestOrderOfNothingIsStoredAsAnEmptyListAndNotAsNone(t *testing.T) {
	v := view(free())
	require.NotNil(t, v.Order())
	require.Empty(t, v.Order())
}

func TestUnchangedViewIsTheSamePointerAndAllocatesNothing(t *testing.T) {
	var live toolview.Live
	live.Publish(tools("dyn__a"))
	bands := []toolview.Band{direct("A", "One"), {Owner: "D", Source: &live, Prefix: "dyn__", Deferred: true}, pair()}
	d, p := toolview.NewDeriver(bands, nil, nil), free()
	parent := view(free(), bands...)
	v := d.View(p, parent)
	require.Zero(t, testing.AllocsPerRun(100, func() { d.View(p, parent) }))
	require.Same(t, v, d.View(p, parent))
	require.NotSame(t, v, d.View(free(), parent), "another policy is another view")
	live.Publish(tools("dyn__a"))
	require.NotSame(t, v, d.View(p, parent), "a published set is another view, whatever it holds")
}

func TestDigestIsOfNamesKindsOwnersAndSchemas(t *testing.T) {
	base := view(free(), direct("A", "One"), deferred("B", "Two"), pair())
	same := view(free(), deferred("B", "Two"), pair(), direct("A", "One"))
	require.Equal(t, base.Digest(), same.Digest(), "the order of the chain is not part of it")
	one := tool("One")
	one.Schema = json.RawMessage(`{"type":"object"}`)
	for name, other := range map[string]*toolview.View{
		"name":   view(free(), direct("A", "Won"), deferred("B", "Two"), pair()),
		"owner":  view(free(), direct("X", "One"), deferred("B", "Two"), pair()),
		"kind":   view(free(), direct("A", "One"), direct("B", "Two"), pair()),
		"schema": view(free(), toolview.Band{Owner: "A", Set: toolview.MustSet(one)}, deferred("B", "Two"), pair()),
	} {
		require.NotEqual(t, base.Digest(), other.Digest(), name)
	}
}

func TestHasAnyAsksForNamesAndAnEmptyListIsMet(t *testing.T) {
	v := view(denying(t, "Two"), toolview.Band{Owner: "A", Set: toolview.MustSet(tool("One", "uno"), tool("Two"))})
	require.True(t, v.HasAny(nil))
	require.True(t, v.HasAny([]string{"Two", "One"}))
	require.False(t, v.HasAny([]string{"Two"}))
	require.False(t, v.HasAny([]string{"uno"}), "an alias is no name")
}

func TestViewIsReadFromManyGoroutines(t *testing.T) {
	var live toolview.Live
	live.Publish(tools("dyn__a", "dyn__b"))
	bands := []toolview.Band{direct("A", "One", "Two"), {Owner: "D", Source: &live, Prefix: "dyn__", Deferred: true}, pair()}
	d := toolview.NewDeriver(bands, nil, nil)
	d.View(free(), nil)
	v := d.View(denying(t, "One"), nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			live.Publish(tools("dyn__c"))
			_, _ = v.Direct(), v.Digest()
			_, _, _ = v.Order(), v.Hidden(), v.Explain("dyn__a")
			_, bad := v.Call("1", "Exec", json.RawMessage(`{"name":"dyn__a"}`))
			if bad != nil {
				panic(bad.Text())
			}
		})
	}
	all.Wait()
}

func TestUnknownClosedDeniedPausedAndUnsupportedAnswerAlike(t *testing.T) {
	closed := direct("C", "Closed")
	closed.Closed = "meta.C: false"
	off := direct("O", "Nobody")
	off.Unsupported = "no server"
	lame := tool("Broken")
	lame.Unsupported = "no key"
	p := &toolview.Policy{
		Frames: []*toolview.Frame{frame(t, toolview.Lists{Deny: sel("Denied")})}, Paused: map[string]bool{"P": true},
	}
	d := toolview.NewDeriver([]toolview.Band{
		direct("A", "Visible", "Denied"), direct("P", "Paused"), off, {Owner: "L", Set: toolview.MustSet(lame)},
	}, []toolview.Band{closed}, nil)
	v := d.View(p, nil)
	require.Equal(t, []string{"Visible"}, shown(v))
	want := message.Fail("There is no tool `NAME`.")
	for _, name := range []string{"Closed", "Denied", "Paused", "Nobody", "Broken", "Qwertyu"} {
		c, bad := v.Call("1", name, nil)
		require.Nil(t, c, name)
		bad.Parts[0].Text = strings.ReplaceAll(bad.Text(), name, "NAME")
		require.Equal(t, want, bad, name)
	}
	require.Equal(t, "There is no tool `Visable`. Did you mean `Visible`?", v.Unknown("Visable").Text())
	require.NotContains(t, v.Unknown("Denie").Text(), "Denied", "what is not there is not suggested")
	require.NotContains(t, v.Unknown("Close").Text(), "Closed")
}

func TestUnknownKeepsALongNameShortAndWhole(t *testing.T) {
	text := view(free()).Unknown(strings.Repeat("é", 5000)).Text()
	require.Less(t, len(text), 200)
	require.Equal(t, strings.ToValidUTF8(text, "?"), text)
}

func TestExplainNamesTheFirstGateThatStopsATool(t *testing.T) {
	closed := direct("C", "Shut")
	closed.Closed = "meta.C: false"
	lame := deferred("L", "Lame")
	lame.Unsupported = "no server"
	list := frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("Seen", "Denied", "Both", "Paused", "Lame")}, Deny: sel("Denied", "both")})
	policy := func(paused ...string) *toolview.Policy {
		p := pausing(paused...)
		p.Frames = []*toolview.Frame{list}
		return p
	}
	derive := func(p *toolview.Policy) *toolview.View {
		return toolview.NewDeriver([]toolview.Band{direct("A", "Seen", "Denied", "Unlisted"), direct("B", "Both", "Paused"), lame}, []toolview.Band{closed}, nil).View(p, nil)
	}
	line := func(n int) meta.Origin { return meta.Origin{Layer: "project", File: "settings.yaml", Line: n} }
	v := derive(policy("B"))
	for _, want := range []toolview.Explanation{
		{Name: "Seen", Owner: "A", Visible: true},
		{Name: "Unlisted", Owner: "A", Gate: toolview.GateListed, Rule: "not on the allow list", Origin: line(1)},
		{Name: "Denied", Owner: "A", Gate: toolview.GateDenied, Rule: "Denied", Origin: line(1)},
		{Name: "Both", Owner: "B", Gate: toolview.GateDenied, Rule: "both", Origin: line(2)},
		{Name: "Paused", Owner: "B", Gate: toolview.GateActive, Rule: "paused by the host"},
		{Name: "Lame", Owner: "L", Gate: toolview.GateSupported, Rule: "no server"},
		{Name: "Shut", Owner: "C", Gate: toolview.GateExists, Rule: "meta.C: false"},
	} {
		require.Equal(t, want, v.Explain(want.Name))
		require.Equal(t, want, v.Explain(strings.ToUpper(want.Name)), "case does not count")
	}
	require.Equal(t, toolview.Explanation{Name: "Nope", Gate: toolview.GateExists, Rule: "no middleware of this session declares it"}, v.Explain("Nope"))

	denied := derive(denying(t, "Lame"))
	require.Equal(t, toolview.GateDenied, denied.Explain("Lame").Gate, "denied is asked before supported")
}

func TestExplainPrefersANameToAnAliasWhateverTheOrder(t *testing.T) {
	p := denying(t, "Task", "Agent")
	v := view(p, toolview.Band{Owner: "A", Set: toolview.MustSet(tool("Agent", "task"))}, direct("B", "task"))
	require.Equal(t, "B", v.Explain("task").Owner)
	require.Equal(t, "B", v.Explain("TASK").Owner)
}

func TestNilSetsAndEmptyBandsAreNothing(t *testing.T) {
	var none *toolview.Set
	v := view(free(), toolview.Band{Owner: "A"}, toolview.Band{Owner: "B", Source: &toolview.Live{}}, toolview.Band{Owner: "C", Source: none})
	require.Empty(t, v.Direct())
	require.Empty(t, v.Hidden())
	require.False(t, v.HasDeferred())
}
