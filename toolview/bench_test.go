package toolview_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

// crowd is n tools of servers and owners, and lists that ask about every one of them in every way.
func crowd(t testing.TB, n, selectors int) ([]toolview.Band, *toolview.Policy) {
	var plain, mcp []toolview.Tool
	for i := range n / 2 {
		plain = append(plain, decl(toolview.Decl{Name: fmt.Sprintf("Tool%d", i), Aliases: []string{fmt.Sprintf("tool_%d", i)}, Family: "crowd", Groups: []string{"pi"}}))
		mcp = append(mcp, served(fmt.Sprintf("mcp__s%d__t%d", i%20, i), fmt.Sprintf("s%d", i%20), fmt.Sprintf("t%d", i)))
	}
	var deny []string
	for i := range selectors {
		deny = append(deny, [...]string{
			fmt.Sprintf("tool_%d", i*7), fmt.Sprintf("mcp__s%d", i), fmt.Sprintf("Gone%d*", i), fmt.Sprintf("mcp__s%d__x*", i), fmt.Sprintf("Tool%d(git *)", i),
		}[i%5])
	}
	f := frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel("crowd", "mcp")}, Deny: sel(deny...)})
	bands := []toolview.Band{{Owner: "A", Set: toolview.MustSet(plain...)}, {Owner: "M", Set: toolview.MustSet(mcp...)}}
	return bands, &toolview.Policy{Frames: []*toolview.Frame{f}}
}

func BenchmarkDeriveThousandToolsUnderFiftySelectors(b *testing.B) {
	bands, p := crowd(b, 1000, 50)
	b.ReportAllocs()
	for b.Loop() {
		_ = toolview.NewDeriver(bands, nil, nil).View(p, nil)
	}
}

// A list of thousands costs what it is long: ns/tool is the same for both sizes, where quadratic work would show eight
// times as much.
func BenchmarkDeriveUnderAListAsLongAsTheTools(b *testing.B) {
	for _, n := range []int{2_000, 16_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names, deny := make([]string, n), make([]string, n)
			for i := range names {
				names[i], deny[i] = fmt.Sprintf("dyn__tool_%d", i), fmt.Sprintf("dyn__gone_%d", i)
			}
			var live toolview.Live
			live.Publish(tools(names...))
			bands := []toolview.Band{{Owner: "D", Source: &live, Prefix: "dyn__"}, pair()}
			half, none := denying(b, append(deny, names[:n/2]...)...), denying(b, deny...)
			for b.Loop() {
				parent := toolview.NewDeriver(bands, nil, nil).View(half, nil)
				require.Len(b, parent.Direct(), n/2)
				child := toolview.NewDeriver(bands, nil, nil).View(none, parent)
				require.Len(b, child.Direct(), n/2)
				require.Len(b, child.Hidden(), n/2+2)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/tool")
		})
	}
}

func BenchmarkCall(b *testing.B) {
	for name, p := range map[string]*toolview.Policy{
		"unrestricted": free(), "another tool's scope": denying(b, "Read(x)"), "its own scope": denying(b, "Bash(curl *)"),
	} {
		b.Run(name, func(b *testing.B) {
			v := view(p, touchers()...)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Call("1", "Bash", []byte(`{"command":"git log"}`))
			}
		})
	}
}

func TestAScopeCostsOnlyTheCallsItIsAbout(t *testing.T) {
	args := []byte(`{"command":"git log"}`)
	count := func(p *toolview.Policy) float64 {
		v := view(p, touchers()...)
		return testing.AllocsPerRun(200, func() { _, _ = v.Call("1", "Bash", args) })
	}
	plain := count(free())
	require.LessOrEqual(t, count(denying(t, "Read")), plain)
	require.Greater(t, count(denying(t, "Bash(curl *)")), plain)
}
