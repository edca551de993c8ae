package toolview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

// A source that publishes while somebody looks at a view changes the next view and not that one.
func TestViewIsAFunctionOfWhatItCaptured(t *testing.T) {
	var live toolview.Live
	live.Publish(tools("dyn__a"))
	bands := []toolview.Band{{Owner: "D", Set: tools("Fixed"), Source: &live, Prefix: "dyn__"}}
	p := denying(t, "dyn__c")
	d := toolview.NewDeriver(bands, nil, nil)
	v := d.View(p, nil)
	look := func() []any {
		return []any{v.Explain("dyn__a"), v.Explain("dyn__b"), v.Explain("dyn__c"), v.Explain("Fixed"), v.Hidden(), v.Smuggled(), v.Digest()}
	}
	before := look()
	live.Publish(tools("Foreign", "Fixed", "dyn__b", "dyn__c"))
	require.Equal(t, before, look())
	after := d.View(p, nil)
	require.Equal(t, toolview.GateDenied, after.Explain("dyn__c").Gate, "the next view does know them")
	require.True(t, after.Explain("Fixed").Visible)
}

// flip publishes something else at every look, as a busy server might.
type flip struct {
	sets []*toolview.Set
	n    int
}

func (f *flip) Tools() *toolview.Set {
	f.n++
	return f.sets[(f.n-1)%len(f.sets)]
}

func TestSourceIsAskedOnceForAView(t *testing.T) {
	find, exec := tool("Find"), forwarder("Exec")
	find.Finder, exec.Finder = true, true
	busy := &flip{sets: []*toolview.Set{toolview.MustSet(find, exec), nil, tools("Other")}}
	declared := toolview.MustSet(find, exec)
	v := view(free(), deferred("B", "Late"), toolview.Band{Owner: "S", Set: declared, Source: busy})
	require.Equal(t, 1, busy.n)
	require.Equal(t, []string{"Exec", "Find"}, shown(v))
	require.Equal(t, []string{"Late"}, found(v), "finders and deferred tools are of one moment")
	v.Explain("Nope")
	v.Hidden()
	require.Equal(t, 1, busy.n)
}

func TestSourceBringsOnlyWhatItsOwnerDeclared(t *testing.T) {
	finder := tool("dyn__find")
	finder.Finder = true
	for name, c := range map[string]struct {
		publish toolview.Tool
		kept    bool
	}{
		"a declared name":                  {tool("Fixed"), true},
		"the prefix":                       {tool("dyn__x"), true},
		"a foreign name":                   {tool("Read"), false},
		"the prefix in other letters":      {tool("Dyn__x"), false},
		"a foreign alias":                  {tool("dyn__x", "Read"), false},
		"an alias under the prefix":        {tool("dyn__x", "dyn__y"), true},
		"a declared alias":                 {tool("Fixed", "fix"), true},
		"a declared alias of another tool": {tool("dyn__x", "fix"), false},
		"a finder that nobody declared":    {finder, false},
	} {
		t.Run(name, func(t *testing.T) {
			bands := []toolview.Band{{
				Owner: "D", Set: toolview.MustSet(tool("Fixed", "fix")), Prefix: "dyn__", Source: toolview.MustSet(c.publish),
			}}
			v := view(free(), bands...)
			_, there := v.Lookup(c.publish.Name)
			require.Equal(t, c.kept, there)
			require.Equal(t, c.kept, v.Explain(c.publish.Name).Visible)
			if c.kept {
				require.Empty(t, v.Smuggled())
				return
			}
			require.Len(t, v.Smuggled(), 1)
			require.Equal(t, v.Smuggled()[0], v.Explain(c.publish.Name))
			require.Equal(t, "its owner publishes it without having declared it", v.Smuggled()[0].Rule)
			_, aliased := v.Lookup("Read")
			require.False(t, aliased)
		})
	}
}

func TestSmuggledFinderOpensNoWayToDeferredTools(t *testing.T) {
	smuggled := tool("Finder")
	smuggled.Finder = true
	v := view(free(), deferred("B", "Late"), toolview.Band{Owner: "D", Prefix: "dyn__", Source: toolview.MustSet(smuggled)})
	require.Equal(t, []string{"Late"}, shown(v), "without a way to it a deferred tool is direct")
}

func TestNameThatIsPublishedTwiceIsThereOnce(t *testing.T) {
	static := toolview.Band{Owner: "D", Set: tools("dyn__a")}
	again := toolview.Band{Owner: "D", Prefix: "dyn__", Source: tools("dyn__a", "dyn__b"), Deferred: true}
	for name, bands := range map[string][]toolview.Band{
		"behind the static one": {static, again, pair()}, "before it": {again, static, pair()},
	} {
		v := view(free(), bands...)
		require.Equal(t, []string{"dyn__b"}, found(v), name)
		require.Contains(t, shown(v), "dyn__a", name)
		require.Equal(t, "its owner publishes it a second time", v.Smuggled()[0].Rule)
	}
}

func TestDeclaredToolThatIsNotPublishedIsHiddenAndExplained(t *testing.T) {
	band := toolview.Band{Owner: "D", Set: tools("Fixed", "Other"), Source: tools("Other")}
	v := view(free(), band)
	want := toolview.Explanation{Name: "Fixed", Owner: "D", Gate: toolview.GateSupported, Rule: "its owner does not offer it now"}
	require.Equal(t, want, v.Explain("fixed"))
	require.Equal(t, []toolview.Explanation{want}, v.Hidden())
	require.Equal(t, toolview.GateDenied, view(denying(t, "Fixed"), band).Explain("Fixed").Gate)
}

func TestPublishedSetCountsAsStored(t *testing.T) {
	require.False(t, view(free(), direct("A", "One")).Published())
	require.True(t, view(free(), toolview.Band{Owner: "D", Prefix: "dyn__", Source: tools("dyn__a")}).Published())
}
