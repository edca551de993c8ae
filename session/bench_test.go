package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// The benchmarks compare the framework with a floor: a hand-written loop over the same scripted model and tools, with no
// framework. Figures are per model step, and as a ratio to the floor measured in the same run. Read them with
//
//	GOGC=off go test -run '^$' -bench . ./session

const callsPerTurn = 10

type lookup struct {
	ID int `json:"id" doc:"which record"`
}

func answerOf(id int) string { return "record " + strconv.Itoa(id) }

func benchTools(n int) []toolview.Tool {
	out := make([]toolview.Tool, n)
	for i := range out {
		out[i] = toolview.New(toolview.Tool{
			Decl: toolview.Decl{Name: "tool_" + strconv.Itoa(i)}, Doc: "Looks a record up.", Effects: toolview.ReadOnly,
		}, func(_ context.Context, _ any, _ *toolview.Call, in lookup) (*message.Result, error) {
			return message.Say(answerOf(in.ID)), nil
		})
	}
	return out
}

// scripted is a model that makes a turn's calls one step after another, then answers. It keeps nothing.
type scripted struct {
	replies []*message.Message
	stream  bool
	per     int // calls in each step
}

func newScripted(per int, stream bool) *scripted {
	s := &scripted{stream: stream, per: per}
	for i := range callsPerTurn {
		m := &message.Message{Role: message.Assistant, Stop: "tool_use"}
		for k := range per {
			m.Parts = append(m.Parts, message.Part{Kind: message.ToolUse, Use: &message.Use{
				ID: fmt.Sprintf("c%d_%d", i, k), Name: "tool_" + strconv.Itoa(i), Args: json.RawMessage(`{"id":` + strconv.Itoa(i) + `}`),
			}})
		}
		s.replies = append(s.replies, m)
	}
	s.replies = append(s.replies, message.Of(message.Assistant, "all done"))
	return s
}

// next finds the reply by counting back to the last prompt.
func (s *scripted) next(h []*message.Message) *message.Message {
	step := 0
	for i := len(h) - 1; i >= 0 && h[i].Role != message.User; i-- {
		if h[i].Role == message.Assistant {
			step++
		}
	}
	return s.replies[step]
}

func (s *scripted) model(_ context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	if s.stream {
		for range 8 {
			sink(message.Event{Kind: message.TextDelta, Text: "word "})
		}
	}
	return s.next(r.Messages), nil
}

func (s *scripted) models(string) (middleware.ModelFunc, error) { return s.model, nil }

// floorTurn is the loop by hand.
func floorTurn(s *scripted, tools map[string]func(json.RawMessage) *message.Result, h []*message.Message) []*message.Message {
	h = append(h, message.Of(message.User, "go"))
	for {
		reply := s.next(h)
		h = append(h, reply)
		uses := reply.Uses()
		if len(uses) == 0 {
			return h
		}
		out := &message.Message{Role: message.Tool, Parts: make([]message.Part, 0, len(uses))}
		for _, u := range uses {
			res := tools[u.Name](u.Args)
			res.UseID = u.ID
			out.Parts = append(out.Parts, message.Part{Kind: message.ToolResult, Result: res})
		}
		h = append(h, out)
	}
}

func floorTools(n int) map[string]func(json.RawMessage) *message.Result {
	out := make(map[string]func(json.RawMessage) *message.Result, n)
	for i := range n {
		out["tool_"+strconv.Itoa(i)] = func(args json.RawMessage) *message.Result {
			var in lookup
			if err := json.Unmarshal(args, &in); err != nil {
				return message.Fail(err.Error())
			}
			return message.Say(answerOf(in.ID))
		}
	}
	return out
}

// observers are ten middlewares that watch everything and change nothing.
func observers() []middleware.Middleware {
	var out []middleware.Middleware
	for i := range 10 {
		out = append(out, with("Observer"+strconv.Itoa(i), middleware.Instance{Hooks: middleware.Hooks{
			WrapTool: func(next middleware.ToolFunc) middleware.ToolFunc {
				return func(ctx context.Context, c *toolview.Call) (*message.Result, error) { return next(ctx, c) }
			},
			WrapModel: func(next middleware.ModelFunc) middleware.ModelFunc {
				return func(ctx context.Context, r *middleware.Request, s middleware.Sink) (*message.Message, error) {
					return next(ctx, r, s)
				}
			},
			Reply:  func(context.Context, *middleware.Step, *message.Message) {},
			Result: func(context.Context, *toolview.Call, *message.Result) {},
		}}))
	}
	return out
}

func benchOptions(b testing.TB, model *scripted, tools *toolview.Set, more ...middleware.Middleware) session.Options {
	list := append([]middleware.Middleware{{Name: "Tools", Doc: "the tools", Tools: tools}}, more...)
	return session.Options{
		Blueprint: middleware.Blueprint{Suite: suite(b, list...), Root: b.TempDir()},
		Models:    model.models, Store: &memory.Store{},
	}
}

// meter counts time, bytes and allocations of what runs between on and off.
type meter struct {
	ns            time.Duration
	bytes, allocs uint64
	since         time.Time
	before        runtime.MemStats
}

func (m *meter) on() { runtime.ReadMemStats(&m.before); m.since = time.Now() }

func (m *meter) off() {
	m.ns += time.Since(m.since)
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	m.bytes += after.TotalAlloc - m.before.TotalAlloc
	m.allocs += after.Mallocs - m.before.Mallocs
}

// report gives time over timed steps, and memory over counted ones.
func (m *meter) report(b *testing.B, timed, counted int, floor float64) {
	per := float64(m.ns.Nanoseconds()) / float64(timed)
	b.ReportMetric(per, "ns/step")
	b.ReportMetric(float64(m.bytes)/float64(counted), "B/step")
	b.ReportMetric(float64(m.allocs)/float64(counted), "allocs/step")
	if floor > 0 {
		b.ReportMetric(per/floor, "x/floor")
	}
	b.ReportMetric(0, "ns/op")
}

// floorOf measures the floor here and now, in ns a step.
func floorOf(model *scripted, tools int) float64 {
	set := floorTools(tools)
	const turns = 3000
	for range 300 {
		floorTurn(model, set, nil)
	}
	start := time.Now()
	for range turns {
		floorTurn(model, set, nil)
	}
	return float64(time.Since(start).Nanoseconds()) / (turns * (callsPerTurn + 1))
}

func drain(b testing.TB, s *session.Session) {
	for _, err := range s.Prompt(context.Background(), session.Text("go")) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// benchTurn measures turns, each on a session of its own that open makes outside the measurement. Time is taken turn by
// turn, allocations over a batch of their own, since reading them stops the world.
func benchTurn(b *testing.B, floor float64, open func() *session.Session) {
	var m meter
	prefault()
	for i := range b.N + warmUp {
		s := open()
		start := time.Now()
		drain(b, s)
		if i >= warmUp {
			m.ns += time.Since(start)
		}
		require.NoError(b, s.Close(context.Background()))
	}
	const batch = 32
	all := make([]*session.Session, batch)
	for i := range all {
		all[i] = open()
	}
	spent := m.ns
	m.on()
	for _, s := range all {
		drain(b, s)
	}
	m.off()
	m.ns = spent
	for _, s := range all {
		require.NoError(b, s.Close(context.Background()))
	}
	m.report(b, b.N*(callsPerTurn+1), batch*(callsPerTurn+1), floor)
}

// warmUp turns are taken before the clock counts.
const warmUp = 20

// prefault has the system map memory before the clock counts: with GOGC=off every step would else pay for fresh pages,
// which cost more than the step.
func prefault() {
	ballast := make([]byte, 1<<30)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	runtime.GC()
}

func opener(b *testing.B, o session.Options) func() *session.Session {
	return func() *session.Session {
		s, err := session.New(context.Background(), o)
		require.NoError(b, err)
		return s
	}
}

var sizes = []int{20, 200, 1000}

func BenchmarkFloor(b *testing.B) {
	for _, n := range sizes {
		b.Run("T="+strconv.Itoa(n), func(b *testing.B) {
			model, tools := newScripted(1, false), floorTools(n)
			var m meter
			m.on()
			for range b.N {
				floorTurn(model, tools, nil)
			}
			m.off()
			m.report(b, b.N*(callsPerTurn+1), b.N*(callsPerTurn+1), 0)
		})
	}
}

func BenchmarkTools(b *testing.B) {
	for _, n := range sizes {
		b.Run("T="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				toolview.MustSet(benchTools(n)...)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		o := benchOptions(b, newScripted(1, false), toolview.MustSet(benchTools(n)...), observers()...)
		b.Run("T="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := session.New(context.Background(), o)
				require.NoError(b, err)
				require.NoError(b, s.Close(context.Background()))
			}
		})
	}
}

func BenchmarkNewAndFirstAnswer(b *testing.B) {
	for _, n := range sizes {
		model := newScripted(1, false)
		model.replies = model.replies[callsPerTurn:]
		o := benchOptions(b, model, toolview.MustSet(benchTools(n)...), observers()...)
		b.Run("T="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := session.New(context.Background(), o)
				require.NoError(b, err)
				drain(b, s)
				require.NoError(b, s.Close(context.Background()))
			}
		})
	}
}

func BenchmarkStep(b *testing.B) {
	for _, n := range sizes {
		tools := toolview.MustSet(benchTools(n)...)
		for _, c := range []struct {
			name   string
			per    int
			stream bool
			more   []middleware.Middleware
		}{
			{"plain", 1, false, nil},
			{"streamed", 1, true, nil},
			{"observed", 1, false, observers()},
			{"two calls", 2, false, observers()},
			{"gated", 1, false, append(observers(), gate("Gate", func(*toolview.Call) middleware.Verdict {
				return middleware.Verdict{Decision: middleware.Pass}
			}))},
		} {
			b.Run("T="+strconv.Itoa(n)+"/"+strings.ReplaceAll(c.name, " ", "_"), func(b *testing.B) {
				model := newScripted(c.per, c.stream)
				benchTurn(b, floorOf(model, n), opener(b, benchOptions(b, model, tools, c.more...)))
			})
		}
	}
}

func BenchmarkStepWithHistory(b *testing.B) {
	tools := toolview.MustSet(benchTools(20)...)
	for _, n := range []int{10, 100, 1000} {
		b.Run("N="+strconv.Itoa(n), func(b *testing.B) {
			model := newScripted(1, false)
			o := benchOptions(b, model, tools, observers()...)
			made := 0
			benchTurn(b, floorOf(model, 20), func() *session.Session {
				made++
				return aged(b, o, strconv.Itoa(made), n)
			})
		})
	}
}

// aged is a session that was resumed with n earlier messages.
func aged(b *testing.B, o session.Options, id string, n int) *session.Session {
	o.ID, o.Store = id, &memory.Store{}
	ctx := context.Background()
	s, err := session.New(ctx, o)
	require.NoError(b, err)
	require.NoError(b, s.Close(ctx))
	for i := range n {
		e := message.Event{Kind: message.TurnStart, Message: message.Of(message.User, "earlier")}
		if i%2 == 1 {
			e = message.Event{Kind: message.Reply, Message: message.Of(message.Assistant, "answer")}
		}
		require.NoError(b, o.Store.Append(ctx, id, session.Entry{Kind: session.Happened, Event: &e}))
	}
	s, err = session.Resume(ctx, o, id)
	require.NoError(b, err)
	return s
}

func BenchmarkUnchangedView(b *testing.B) {
	s, err := session.New(context.Background(), benchOptions(b, newScripted(1, false), toolview.MustSet(benchTools(1000)...), observers()...))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_ = s.View()
	}
}
