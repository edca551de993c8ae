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
		lexicon := heap()
		c.lex()
		start := heap()
		lexicon = start - lexicon
		x := c.index(tools, nil)
		memory := float64(heap()-start) / float64(n)
		took := least(3, func() {
			c.cores = nil
			c.index(tools, nil)
		})

		changed := slices.Clone(tools)
		tool := *changed[n/2].Tool
		tool.Doc += " It is faster now."
		changed[n/2].Tool = &tool
		require.NotEqual(t, x.Digest(), c.index(changed, x).Digest())
		change := least(3, func() {
			c.cores = nil
			c.index(changed, x)
		})

		all, short, bytes := clock(x, sets)
		fmt.Printf("%6d %12.0f %8.0f %10s %9s %9s %9s %11d\n", n, float64(n)/took.Seconds(), memory, change.Round(time.Microsecond),
			all[len(all)/2], all[len(all)*99/100], short[len(short)*99/100], bytes)
		require.Less(t, bytes, uint64(10<<10))
		if n == 500 {
			defer fmt.Printf("the lexicon has %d KB\n", lexicon>>10)
		}
	}
}

// clock times queries; the short ones are those of at most 25 words.
func clock(x *Index, sets []corpus) (all, short []time.Duration, bytes uint64) {
	var before, after runtime.MemStats
	for _, s := range sets {
		for _, q := range s.queries {
			best := least(7, func() { x.Search(q.Query, 5) })
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

// least is the shortest time of several runs, since the machine may have other work.
func least(runs int, run func()) time.Duration {
	best := time.Hour
	for range runs {
		began := time.Now()
		run()
		best = min(best, time.Since(began))
	}
	return best
}

// heap is what is in use. A pool keeps what it serves for two collections.
func heap() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
