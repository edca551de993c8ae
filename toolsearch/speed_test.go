package toolsearch

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

// pooled is n tools of all sets in turn; when they run out, again under other names.
func pooled(sets []corpus, n int) []toolview.Entry {
	most := 0
	for _, s := range sets {
		most = max(most, len(s.tools))
	}
	var out []toolview.Entry
	for round := 0; ; round++ {
		for i := range most {
			for _, s := range sets {
				if i >= len(s.tools) {
					continue
				}
				e := s.tools[i]
				tool := *e.Tool
				tool.Name = fmt.Sprintf("mcp__s%d__%s", round, tool.Name)
				e.Tool = &tool
				if out = append(out, e); len(out) == n {
					slices.SortStableFunc(out, byName)
					return out
				}
			}
		}
	}
}

// TestMeasureSpeed prints building, memory, one changed tool, and the time of every query of all sets, each the best
// of several runs, since the machine may have other work.
func TestMeasureSpeed(t *testing.T) {
	sets := corpora(t)
	fmt.Printf("%6s %12s %8s %10s %9s %9s %9s %11s\n", "tools", "built/s", "B/tool", "one change", "p50", "p99", "p99 short", "B per query")
	for _, n := range []int{500, 1000, 5000, 50000} {
		tools := pooled(sets, n)
		c := newCache(1, tuned())
		start := heap()
		began := time.Now()
		x := c.index(tools, nil)
		took := time.Since(began)
		memory := float64(heap()-start) / float64(n)

		changed := slices.Clone(tools)
		tool := *changed[n/2].Tool
		tool.Doc += " It is faster now."
		changed[n/2].Tool = &tool
		began = time.Now()
		y := c.index(changed, x)
		change := time.Since(began)
		require.NotEqual(t, x.Digest(), y.Digest())

		all, short, bytes := clock(x, sets)
		fmt.Printf("%6d %12.0f %8.0f %10s %9s %9s %9s %11d\n", n, float64(n)/took.Seconds(), memory, change.Round(time.Microsecond),
			all[len(all)/2], all[len(all)*99/100], short[len(short)*99/100], bytes)
		require.Less(t, bytes, uint64(10<<10))
	}
}

// clock times queries; the short ones are those of at most 25 words.
func clock(x *Index, sets []corpus) (all, short []time.Duration, bytes uint64) {
	var before, after runtime.MemStats
	for _, s := range sets {
		for _, q := range s.queries {
			best := time.Hour
			for range 7 {
				began := time.Now()
				x.Search(q.Query, 5)
				best = min(best, time.Since(began))
			}
			all = append(all, best)
			if words(q.Query) <= 25 {
				short = append(short, best)
			}
		}
	}
	runtime.ReadMemStats(&before)
	for _, s := range sets {
		for _, q := range s.queries {
			x.Search(q.Query, 5)
		}
	}
	runtime.ReadMemStats(&after)
	slices.Sort(all)
	slices.Sort(short)
	return all, short, (after.TotalAlloc - before.TotalAlloc) / uint64(len(all))
}

func words(text string) (n int) {
	var s splitter
	s.each(text, func([]byte, kind) { n++ })
	return n
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
