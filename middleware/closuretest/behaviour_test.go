package closuretest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type (
	spoil = func([]middleware.Middleware) []middleware.Middleware
	hook  = func(context.Context, middleware.Env, *middleware.Instance)
)

// spoiling changes what one middleware's Open returns.
func spoiling(name string, change hook) spoil {
	return func(l []middleware.Middleware) []middleware.Middleware {
		opening(at(l, name), change)
		return l
	}
}

// sharing are middlewares that two sessions see each other through.
func sharing() map[string]plant {
	return map[string]plant{
		"of a state made in the suite": {func(l []middleware.Middleware) []middleware.Middleware {
			one := &notebook{}
			return spoiling("Notes", func(_ context.Context, _ middleware.Env, in *middleware.Instance) { in.State = one })(l)
		}, closuretest.Isolated, "", "Notes", "is the same *closuretest_test.notebook in two sessions"},
		"of a source made in the suite": {func(l []middleware.Middleware) []middleware.Middleware {
			live := &toolview.Live{}
			live.Publish(at(l, "Weather").Deferred)
			return spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) { in.Deferred = live })(l)
		}, closuretest.Isolated, "Notes", "Weather", "is the same *toolview.Live in two sessions"},
		"of a value behind the state": {func(l []middleware.Middleware) []middleware.Middleware {
			var all notebook
			*at(l, "Notes").Tools = *toolview.MustSet(
				leaf("TakeNote", "Keeps a note.", toolview.Internal, func(_ context.Context, in noteArgs) string { all.add(in.Text); return "kept" }),
				leaf("ListNotes", "Lists the notes.", toolview.Internal, func(context.Context, noteArgs) string { return strings.Join(all.all(), "\n") }))
			return l
		}, closuretest.Isolated, "", "Notes", "shows what another session was told"},
		"of what users said": {func(l []middleware.Middleware) []middleware.Middleware {
			var all notebook
			return spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Hooks.Input = func(_ context.Context, p *middleware.Input) error { all.add(p.Text()); return nil }
				in.Contribute = func(_ context.Context, _ *middleware.Step, t *prompt.Tail) error {
					t.Add("Users say: " + strings.Join(all.all(), " "))
					return nil
				}
			})(l)
		}, closuretest.Isolated, "Notes", "Weather", "shows what an earlier session was told"},
	}
}

// children are middlewares that give a child more, or guard it less.
func children() map[string]plant {
	return map[string]plant{
		"with a tool of its own": {spoiling("Notes", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			parent := *in
			in.Tools = toolview.MustSet(leaf("TakeNote", "Keeps a note.", 0, func(context.Context, noteArgs) string { return "" }))
			in.Child = func(context.Context, middleware.Env) (*middleware.Instance, error) {
				k := parent
				k.Tools, k.Child = toolview.MustSet(
					leaf("TakeNote", "Keeps a note.", 0, func(context.Context, noteArgs) string { return "" }),
					leaf("ListNotes", "Lists the notes.", 0, func(context.Context, noteArgs) string { return "" })), nil
				return &k, nil
			}
		}), closuretest.Inherited, "", "Notes", "is published for a child alone"},
		"that its gate looks away from": {spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			judge := in.Hooks.Gate
			in.Hooks.Gate = func(ctx context.Context, calls []*toolview.Call, out []middleware.Verdict) {
				judge(ctx, calls, out)
				for i, c := range calls {
					if c.Agent() != "" {
						out[i] = middleware.Verdict{Decision: middleware.Pass}
					}
				}
			}
		}), closuretest.Inherited, "", "Guard", "says pass of `Forecast`, and ask to its parent"},
		"whose parent's gate would stay behind": {func(l []middleware.Middleware) []middleware.Middleware {
			at(l, "Guard").RootOnly = true
			return l
		}, closuretest.Suite, "", "", "is RootOnly and brings a gate"},
	}
}

// appending wraps a model so that text of its choice ends the system prompt.
func appending(text func(context.Context, middleware.Env, *middleware.Request) string) hook {
	return func(_ context.Context, env middleware.Env, in *middleware.Instance) {
		in.Hooks.WrapModel = func(next middleware.ModelFunc) middleware.ModelFunc {
			return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
				c := *r
				c.System = append(slices.Clone(r.System), prompt.Block{Text: text(ctx, env, r)})
				return next(ctx, &c, sink)
			}
		}
	}
}

// prefixes are middlewares that move what a vendor caches.
func prefixes() map[string]plant {
	return map[string]plant{
		"that counts creations": {func(l []middleware.Middleware) []middleware.Middleware {
			var n atomic.Int64
			w := at(l, "Weather")
			w.Segments = []prompt.Segment{{ID: "30_weather", Zone: prompt.Live, Text: "Session {{n}}.", Vars: []string{"n"}}}
			return spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
				in.Vars = map[string]string{"n": fmt.Sprint(n.Add(1))}
			})(l)
		}, closuretest.StableOrder, "Guard", "Weather", "differ between two creations"},
		"that counts steps": {spoiling("Weather", func(ctx context.Context, env middleware.Env, in *middleware.Instance) {
			n := 0
			appending(func(context.Context, middleware.Env, *middleware.Request) string { n++; return fmt.Sprint("Step ", n) })(ctx, env, in)
		}), closuretest.StableOrder, "", "Weather", "changed at request 2"},
		"that reads a file for every request": {spoiling("Weather", appending(func(_ context.Context, env middleware.Env, _ *middleware.Request) string {
			f, err := env.Project.FS.Open("AGENTS.md")
			if err != nil {
				return "no guidance"
			}
			defer f.Close()
			return "guidance"
		})), closuretest.Frozen, "", "Weather", "changed after changed files"},
		"that holds a contribution": {spoiling("Weather", appending(func(_ context.Context, _ middleware.Env, r *middleware.Request) string {
			return r.Tail[0].Text
		})), closuretest.Tails, "", "Notes", "holds the contribution"},
		"that a contribution left for": {spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.WrapModel = func(next middleware.ModelFunc) middleware.ModelFunc {
				return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
					c := *r
					c.Tail = nil
					return next(ctx, &c, sink)
				}
			}
		}), closuretest.Tails, "", "Notes", "lacks what was contributed"},
		"that a contribution is told the transcript for": {spoiling("Notes", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Input = func(_ context.Context, p *middleware.Input) error {
				p.Parts = append(p.Parts, message.Part{Kind: message.Text, Text: "There are 0 notes so far."})
				return nil
			}
		}), closuretest.Tails, "", "Notes", "holds the contribution"},
	}
}

// calls are middlewares that judge or run calls badly.
func calls() map[string]plant {
	return map[string]plant{
		"a gate that answers nothing": {spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Gate = func(context.Context, []*toolview.Call, []middleware.Verdict) {}
		}), closuretest.Answers, "", "Guard", "gave no verdict about a call of `TakeNote`"},
		"a gate that forgets one tool": {spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Gate = func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
				for i, c := range calls {
					if c.Name() != "Forecast" {
						out[i].Decision = middleware.Pass
					}
				}
			}
		}), closuretest.Answers, "", "Guard", "gave no verdict about a call of `Forecast`"},
		"a gate that panics": {spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Gate = func(context.Context, []*toolview.Call, []middleware.Verdict) { panic("no") }
		}), closuretest.Answers, "", "Guard", "panicked"},
		"a wrapper that changes arguments": {changingArguments, closuretest.Arguments, "", "Guard", "ran another call"},
	}
}

func changingArguments(l []middleware.Middleware) []middleware.Middleware {
	return spoiling("Guard", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
		in.Hooks.WrapTool = func(next middleware.ToolFunc) middleware.ToolFunc {
			return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
				if changed, bad := c.With(json.RawMessage(`{"text":"changed"}`)); bad == nil {
					c = changed
				}
				return next(ctx, c)
			}
		}
	})(l)
}

// endings are middlewares that leave something running.
func endings() map[string]plant {
	errAgain := errors.New("closed already")
	return map[string]plant{
		"a goroutine of an Open": {spoiling("Weather", func(context.Context, middleware.Env, *middleware.Instance) {
			go func() { select {} }()
		}), closuretest.Closes, "", "Weather", "leaves a goroutine behind"},
		"a goroutine of a hook": {spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Hooks.Start = func(context.Context) error {
				go func() { select {} }()
				return nil
			}
		}), closuretest.Closes, "", "", "leaves a goroutine behind"},
		"a Close that cannot be repeated": {spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			var mu sync.Mutex
			done := false
			in.Close = func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				if done {
					return errAgain
				}
				done = true
				return nil
			}
		}), closuretest.Closes, "", "Weather", "fails when it is called again"},
		"a Close that fails": {spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			in.Close = func(context.Context) error { return errAgain }
		}), closuretest.Opens, "", "", "closed already"},
		"an Open that needs another": {func(l []middleware.Middleware) []middleware.Middleware {
			shared := &sharedOpen{}
			shared.track(at(l, "Notes"))
			w := at(l, "Weather")
			start := w.Open
			w.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
				if !shared.has(ctx) {
					return nil, errors.New("no notes")
				}
				return start(ctx, env)
			}
			return l
		}, closuretest.Opens, "Notes", "", "no notes"},
		"a fact that comes of itself": {spoiling("Weather", func(_ context.Context, _ middleware.Env, in *middleware.Instance) {
			n := 0
			in.Facts = func() []middleware.Fact {
				n++
				return []middleware.Fact{{Surface: "station", Name: fmt.Sprint(n)}}
			}
		}), closuretest.NoResurrection, "Notes", "Weather", "appeared by the host"},
	}
}
