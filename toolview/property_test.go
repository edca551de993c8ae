package toolview_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/metaharness/peri/toolview"
)

// world is a random suite: static, dynamic, deferred and closed bands, with or without a tool search.
type world struct {
	bands, closed []toolview.Band
	declared      map[string]bool
}

var (
	anyOwner = rapid.SampledFrom([]string{"A", "B", "C", "D", "E"})
	anyWord  = rapid.SampledFrom([]string{
		"a0", "a1", "b0", "b1", "c0", "d__0", "d__1", "e0", "shared", "fam", "@A", "@B", "@C", "@D", "@E",
		"Find", "Exec", "@SearchMiddleware", "*", "**", "nobody",
		"a*", "?1", "[bc]*", "d__*", "d:zero", "d__zero__*", "d:*/0", "A0|B1|fam", "a0(x)", "fam(x*)|b0", "a1_alias", "lead",
	})
)

func drawTools(t *rapid.T, prefix string) []toolview.Tool {
	var out []toolview.Tool
	for _, n := range []string{"0", "1", "2"} {
		if !rapid.Bool().Draw(t, prefix+n) {
			continue
		}
		x := tool(prefix + n)
		if rapid.Bool().Draw(t, "alias") {
			x.Aliases = []string{prefix + n + "_alias"}
		}
		if rapid.Bool().Draw(t, "family") {
			x.Family = "fam"
		}
		x.Private = rapid.Bool().Draw(t, "private")
		if prefix == "d__" {
			x.Server, x.Leaf, x.Groups = "zero", n, []string{"d"}
		}
		if rapid.Bool().Draw(t, "lead") {
			x.DeniedWith, x.AllowedWith = []string{"lead"}, []string{"a0"}
		}
		if rapid.IntRange(0, 4).Draw(t, "unsupported") == 0 {
			x.Unsupported = "not now"
		}
		out = append(out, x)
	}
	return out
}

func drawWorld(t *rapid.T) *world {
	w := &world{declared: map[string]bool{}}
	for _, owner := range []string{"A", "B", "C", "D", "E"} {
		prefix := map[string]string{"A": "a", "B": "b", "C": "c", "D": "d__", "E": "e"}[owner]
		list := drawTools(t, prefix)
		b := toolview.Band{Owner: owner, Set: toolview.MustSet(list...), Deferred: rapid.Bool().Draw(t, "deferred")}
		for _, x := range list {
			w.declared[x.Name] = true
		}
		switch {
		case owner == "E" && rapid.Bool().Draw(t, "closed"):
			b.Closed = "closed"
			w.closed = append(w.closed, b)
			continue
		case owner == "D":
			b.Prefix = "d__"
			b.Source = b.Set
			b.Set = nil
		case owner == "C" && rapid.Bool().Draw(t, "published"):
			b.Source = toolview.MustSet(list[:len(list)/2]...)
		case rapid.IntRange(0, 5).Draw(t, "band unsupported") == 0:
			b.Unsupported = "no server"
		}
		w.bands = append(w.bands, b)
	}
	if rapid.Bool().Draw(t, "search") {
		w.bands = append(w.bands, pair())
		w.declared["Find"], w.declared["Exec"] = true, true
	}
	return w
}

func drawLists(t *rapid.T) toolview.Lists {
	var l toolview.Lists
	for range rapid.IntRange(0, 2).Draw(t, "allow lists") {
		l.Allow = append(l.Allow, sel(rapid.SliceOfN(anyWord, 0, 5).Draw(t, "allow")...))
	}
	for _, a := range l.Allow {
		for i := range a {
			a[i].Brings = rapid.Bool().Draw(t, "brings")
		}
	}
	l.Deny = sel(rapid.SliceOfN(anyWord, 0, 3).Draw(t, "deny")...)
	if rapid.IntRange(0, 3).Draw(t, "kinds") == 0 {
		k := toolview.KindLists{Kind: rapid.SampledFrom([]toolview.Kind{toolview.Plain, toolview.Served, toolview.Skilled}).Draw(t, "kind")}
		k.Deny = sel(rapid.SliceOfN(anyWord, 0, 2).Draw(t, "kind deny")...)
		if rapid.Bool().Draw(t, "kind allows") {
			k.Allow = sel(rapid.SliceOfN(anyWord, 0, 3).Draw(t, "kind allow")...)
		}
		l.Kinds = append(l.Kinds, k)
	}
	return l
}

func drawPolicy(t *rapid.T) *toolview.Policy {
	p := &toolview.Policy{
		WithoutSearch: rapid.SampledFrom([]toolview.Fallback{"", toolview.Direct, toolview.Hide}).Draw(t, "without"),
		Paused:        map[string]bool{},
	}
	for range rapid.IntRange(0, 2).Draw(t, "frames") {
		f, err := toolview.NewFrame(drawLists(t))
		if err != nil {
			t.Fatal(err)
		}
		p.Frames = append(p.Frames, f)
	}
	for _, o := range rapid.SliceOfN(anyOwner, 0, 1).Draw(t, "paused") {
		p.Paused[o] = true
	}
	return p
}

func (w *world) view(p *toolview.Policy, parent *toolview.View) *toolview.View {
	return toolview.NewDeriver(w.bands, w.closed, nil).View(p, parent)
}

// capabilities are the visible tools but for finders, which are a way and no capability.
func capabilities(v *toolview.View) map[string]string {
	out := map[string]string{}
	for e := range v.All() {
		if !e.Tool.Finder {
			out[e.Tool.Name] = e.Owner
		}
	}
	return out
}

func TestChildNeverHasWhatItsParentLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		parent := w.view(drawPolicy(t), nil)
		v := parent
		for range 2 {
			below := w.view(drawPolicy(t), v)
			have := capabilities(v)
			for name, owner := range capabilities(below) {
				require.Equal(t, owner, have[name], "%s", name)
			}
			v = below
		}
	})
}

func TestDenyingMoreNeverShowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWorld(t), drawPolicy(t)
		more := *p
		f, err := toolview.NewFrame(toolview.Lists{Deny: sel(rapid.SliceOfN(anyWord, 1, 3).Draw(t, "more")...)})
		require.NoError(t, err)
		more.Frames = append(slices.Clone(p.Frames), f)
		wide := capabilities(w.view(p, nil))
		for name := range capabilities(w.view(&more, nil)) {
			require.Contains(t, wide, name)
		}
	})
}

// An allow list intersects: a longer one may show more of what is there, never what another level keeps out.
func TestAllowingMoreNeverShowsWhatAnotherLevelLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		parent := w.view(drawPolicy(t), nil)
		base := drawPolicy(t)
		list := rapid.SliceOfN(anyWord, 0, 4).Draw(t, "list")
		longer := append(slices.Clone(list), rapid.SliceOfN(anyWord, 1, 3).Draw(t, "longer")...)
		with := func(texts []string) map[string]string {
			f, err := toolview.NewFrame(toolview.Lists{Allow: [][]toolview.Selector{sel(texts...)}})
			require.NoError(t, err)
			p := *base
			p.Frames = append(slices.Clone(base.Frames), f)
			return capabilities(w.view(&p, parent))
		}
		without, above := capabilities(w.view(base, parent)), capabilities(parent)
		more := with(longer)
		for name := range with(list) {
			require.Contains(t, more, name, "adding an entry takes nothing away")
		}
		for name := range more {
			require.Contains(t, without, name)
			require.Contains(t, above, name)
		}
	})
}

// What an agent delegates is at most what is above it, and its own view is within its ceiling.
func TestWhatIsLiftedIsWithinWhatIsAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		above := w.view(drawPolicy(t), nil)
		l := drawLists(t)
		under := func(l toolview.Lists) map[string]string {
			f, err := toolview.NewFrame(l)
			require.NoError(t, err)
			return capabilities(w.view(&toolview.Policy{Frames: []*toolview.Frame{f}}, above))
		}
		own := under(l)
		lift := sel(rapid.SliceOfN(anyWord, 1, 3).Draw(t, "lift")...)
		l.Lift = lift
		ceiling, all := under(l), capabilities(above)
		lifted := under(toolview.Lists{Allow: [][]toolview.Selector{lift}})
		for name := range all {
			_, is := ceiling[name]
			_, mine := own[name]
			_, through := lifted[name]
			require.Equal(t, mine || through, is, "%s: own %v, lifted %v", name, mine, through)
		}
		for name := range ceiling {
			require.Contains(t, all, name)
		}
	})
}

func TestOrderOfEntriesAndFramesNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		a, b := drawLists(t), drawLists(t)
		turn := func(l toolview.Lists) toolview.Lists {
			var out toolview.Lists
			for _, list := range slices.Backward(l.Allow) {
				out.Allow = append(out.Allow, rapid.Permutation(list).Draw(t, "allow"))
			}
			out.Deny = rapid.Permutation(l.Deny).Draw(t, "deny")
			out.Kinds = l.Kinds
			return out
		}
		of := func(lists ...toolview.Lists) *toolview.View {
			p := &toolview.Policy{}
			for _, l := range lists {
				f, err := toolview.NewFrame(l)
				require.NoError(t, err)
				p.Frames = append(p.Frames, f)
			}
			return w.view(p, nil)
		}
		require.Equal(t, of(a, b).Digest(), of(turn(b), turn(a)).Digest())
	})
}

func TestEveryDeclaredToolIsVisibleOrHiddenWithAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		v := w.view(drawPolicy(t), nil)
		if rapid.Bool().Draw(t, "child") {
			v = w.view(drawPolicy(t), v)
		}
		seen := map[string]int{}
		for e := range v.All() {
			seen[e.Tool.Name]++
			x := v.Explain(e.Tool.Name)
			x.Limits = nil
			require.Equal(t, toolview.Explanation{Name: e.Tool.Name, Owner: e.Owner, Visible: true, Deferred: e.Deferred}, x)
		}
		for _, x := range v.Hidden() {
			seen[x.Name]++
			require.Equal(t, x, v.Explain(x.Name))
			require.False(t, x.Visible)
			require.NotEmpty(t, x.Gate)
			require.NotEmpty(t, x.Rule)
			_, ok := v.Lookup(x.Name)
			require.False(t, ok)
		}
		for name := range w.declared {
			require.Equal(t, 1, seen[name], "%s", name)
		}
		require.Len(t, seen, len(w.declared))
		n := len(v.Direct())
		for range v.Deferred() {
			n++
		}
		for range v.All() {
			n--
		}
		require.Zero(t, n, "what is visible is direct or deferred")
		require.False(t, v.HasDeferred() && !slices.Contains(shown(v), "Exec"), "a deferred tool without a way to it")
	})
}

func TestBroughtToolIsBoundByEveryAncestorsDenyListAlone(t *testing.T) {
	brought := direct("MCP", "mcp__a", "mcp__b")
	brought.Brought = true
	parent := view(free(), direct("A", "One"))
	below := func(p *toolview.Policy) []string {
		return shown(toolview.NewDeriver([]toolview.Band{direct("A", "One", "Two"), brought}, nil, nil).View(p, parent))
	}
	require.Equal(t, []string{"One", "mcp__a", "mcp__b"}, below(free()), "the parent need not hold it")
	above := []*toolview.Frame{nil, frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("One")}, Deny: sel("mcp__a")})}
	require.Equal(t, []string{"One", "mcp__b"}, below(&toolview.Policy{Ancestors: above}))
	own := allowing(t, "One")
	own.Ancestors = above
	require.Equal(t, []string{"One"}, below(own))
}

func TestExplanationOfAChildNamesTheGateAbove(t *testing.T) {
	bands := []toolview.Band{direct("A", "One", "Two", "Three")}
	parent := view(denying(t, "Two"), bands...)
	v := toolview.NewDeriver(bands, nil, nil).View(allowing(t, "One", "Two"), parent)
	require.Equal(t, []string{"One"}, shown(v))
	x := v.Explain("Two")
	require.Equal(t, []any{toolview.GateDenied, "Two", 1}, []any{x.Gate, x.Rule, x.Origin.Line})
	require.Equal(t, toolview.GateListed, v.Explain("Three").Gate)

	elsewhere := view(free(), direct("Other", "One"))
	v = toolview.NewDeriver(bands, nil, nil).View(free(), elsewhere)
	require.Empty(t, shown(v), "another owner's tool of that name is another tool")
	require.Equal(t, "the parent's view lacks it", v.Explain("One").Rule)
}
