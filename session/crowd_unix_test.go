//go:build unix

package session_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// BenchmarkThousandSessions runs 1000 sessions at once, each in the middle of its own turn.
func BenchmarkThousandSessions(b *testing.B) {
	const sessions = 1000
	o := benchOptions(b, newScripted(1, false), toolview.MustSet(benchTools(200)...), observers()...)
	for range b.N {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cpu := cpuTime(b)
		start := time.Now()
		all := make([]*session.Session, sessions)
		var wg sync.WaitGroup
		most := 0
		for i := range all {
			s, err := session.New(context.Background(), o)
			require.NoError(b, err)
			all[i] = s
			wg.Go(func() { drain(b, s) })
			most = max(most, runtime.NumGoroutine())
		}
		wg.Wait()
		wall := time.Since(start)
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(wall.Microseconds())/1000, "ms-wall")
		b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/1000, "ms-cpu")
		b.ReportMetric(float64(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))/1e6, "MB-heap")
		b.ReportMetric(peakRSS(b), "MB-peak-rss")
		b.ReportMetric(float64(most), "goroutines")
		for _, s := range all {
			require.NoError(b, s.Close(context.Background()))
		}
	}
	b.ReportMetric(0, "ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is the process's high-water mark in MB, where the system tells it.
func peakRSS(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			require.NoError(b, err)
			return kb / 1000
		}
	}
	return 0
}
