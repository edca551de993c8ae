package session_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

const crowd = 500

// crowded is a session whose flow starts five hundred agents in the background, lets go of them when all are at work, and
// collects them.
func crowded(t testing.TB, all func()) session.Options {
	began, release := make(chan struct{}, crowd), make(chan struct{})
	many := toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Many"}, Doc: "Starts many.", Effects: toolview.Internal},
		func(_ context.Context, _ any, c *toolview.Call, _ empty, h toolview.Host) (*message.Result, error) {
			for i := range crowd {
				sp := helper["helper"]
				sp.Background, sp.Prompt = true, "work"
				if i%2 == 1 {
					sp = toolview.Spawn{Fork: true, Background: true, Prompt: "work"}
				}
				if res, err := h.Spawn(sp); err != nil || res.Error {
					return res, err
				}
			}
			for range crowd {
				<-began
			}
			all()
			close(release)
			for i := range crowd {
				if res, err := h.Spawn(toolview.Spawn{Collect: fmt.Sprintf("main.%d", i+1), Wait: true}); err != nil || res.Error {
					return res, err
				}
			}
			return message.Say("all done"), nil
		})
	o := options(t, script.New(), withTools("Tools", echo("One", 0), many), keeper(), spawner(helper))
	o.ID = "main"
	o.Models = func(string) (middleware.ModelFunc, error) {
		return func(ctx context.Context, r *middleware.Request, _ middleware.Sink) (*message.Message, error) {
			last := r.Messages[len(r.Messages)-1]
			switch {
			case last.Role == message.User && last.Text() == "work":
				began <- struct{}{}
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return use("One"), nil
			case last.Role == message.User:
				return use("Many"), nil
			}
			return message.Of(message.Assistant, "done"), nil
		}, nil
	}
	return o
}

func use(name string) *message.Message {
	return &message.Message{Role: message.Assistant, Parts: []message.Part{{Kind: message.ToolUse, Use: &message.Use{ID: "u", Name: name, Args: []byte(`{}`)}}}}
}

// descriptors is how many files and connections this process has open; -1 = it cannot be told here.
func descriptors() int {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return -1
	}
	return len(open)
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// settled waits until goroutines that have nothing more to do are gone.
func settled(want int) int {
	for range 100_000 {
		if runtime.NumGoroutine() <= want {
			break
		}
		runtime.Gosched()
	}
	return runtime.NumGoroutine()
}

// BenchmarkFiveHundredChildren has five hundred children of one session at work at once, and reports what they hold then
// and what is left when the session is closed.
func BenchmarkFiveHundredChildren(b *testing.B) {
	for b.Loop() {
		goroutines, files, before := runtime.NumGoroutine(), descriptors(), heap()
		var at, opened int
		var held float64
		began := time.Now()
		o := crowded(b, func() { at, opened, held = runtime.NumGoroutine(), descriptors(), heap() })
		s, err := session.New(b.Context(), o)
		require.NoError(b, err)
		drain(b, s)
		require.NoError(b, s.Close(context.Background()))
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms")
		b.ReportMetric(float64(at-goroutines), "goroutines")
		b.ReportMetric(float64(settled(goroutines)-goroutines), "goroutines-left")
		b.ReportMetric(float64(opened-files), "fds")
		b.ReportMetric(float64(descriptors()-files), "fds-left")
		b.ReportMetric((held-before)*1000/crowd, "kB/child")
		o = session.Options{} // the store is the caller's
		b.ReportMetric(max(0, heap()-before), "MB-left")
	}
}

func TestFiveHundredChildrenLeaveNoGoroutineAndNoFileBehind(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), descriptors()
	at := 0
	s, err := session.New(t.Context(), crowded(t, func() { at = runtime.NumGoroutine() }))
	require.NoError(t, err)
	turn(t, s, "go")
	require.Equal(t, []string{"all done"}, results(s))
	require.Greater(t, at-goroutines, crowd*9/10, "all of them were at work at once")
	require.NoError(t, s.Close(context.Background()))
	require.LessOrEqual(t, settled(goroutines), goroutines)
	require.Equal(t, files, descriptors())
}
