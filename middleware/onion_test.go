package middleware_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

func wrapTool(name string, f func(middleware.ToolFunc) middleware.ToolFunc) middleware.Middleware {
	return with(name, middleware.Instance{Hooks: middleware.Hooks{WrapTool: f}})
}

func wrapModel(name string, f func(middleware.ModelFunc) middleware.ModelFunc) middleware.Middleware {
	return with(name, middleware.Instance{Hooks: middleware.Hooks{WrapModel: f}})
}

func TestFirstMiddlewareIsTheOutermostLayer(t *testing.T) {
	var log []string
	around := func(name string) middleware.Middleware {
		return with(name, middleware.Instance{Hooks: middleware.Hooks{
			WrapTool: func(next middleware.ToolFunc) middleware.ToolFunc {
				return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
					log = append(log, name+">")
					r, err := next(ctx, c)
					log = append(log, "<"+name)
					return r, err
				}
			},
			WrapModel: func(next middleware.ModelFunc) middleware.ModelFunc {
				return func(ctx context.Context, r *middleware.Request, s middleware.Sink) (*message.Message, error) {
					log = append(log, name+">")
					m, err := next(ctx, r, s)
					log = append(log, "<"+name)
					return m, err
				}
			},
		}})
	}
	c := chain(t, around("A"), around("B"))
	r, err := c.Tool(t.Context(), calls(t, "One")[0])
	require.NoError(t, err)
	require.Equal(t, "One:x", r.Text())
	require.Equal(t, []string{"A>", "B>", "<B", "<A"}, log)
	m, err := c.Model(model)
	require.NoError(t, err)
	log = nil
	_, err = m(t.Context(), &middleware.Request{}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"A>", "B>", "<B", "<A"}, log)
}

func TestWrapperCanReplaceAResultAndNeverTheCall(t *testing.T) {
	other := calls(t, "One")[0]
	for name, c := range map[string]struct {
		wrap func(next middleware.ToolFunc, ctx context.Context, c *toolview.Call) (*message.Result, error)
		text string
		err  string
	}{
		"the result": {func(middleware.ToolFunc, context.Context, *toolview.Call) (*message.Result, error) {
			return message.Say("mine"), nil
		}, "mine", ""},
		"another call": {
			func(next middleware.ToolFunc, ctx context.Context, _ *toolview.Call) (*message.Result, error) {
				return next(ctx, other)
			},
			"", "the call was changed after it was judged, and did not run",
		},
		"other arguments": {func(next middleware.ToolFunc, ctx context.Context, c *toolview.Call) (*message.Result, error) {
			n, _ := c.With([]byte(`{"text":"rm"}`))
			return next(ctx, n)
		}, "", "the call was changed after it was judged, and did not run"},
		"the context of another turn": {func(next middleware.ToolFunc, _ context.Context, c *toolview.Call) (*message.Result, error) {
			return next(context.Background(), c)
		}, "", "the call was changed after it was judged, and did not run"},
		"no call": {
			func(next middleware.ToolFunc, ctx context.Context, _ *toolview.Call) (*message.Result, error) {
				return next(ctx, nil)
			},
			"", "the call was changed after it was judged, and did not run",
		},
		"twice": {func(next middleware.ToolFunc, ctx context.Context, c *toolview.Call) (*message.Result, error) {
			if _, err := next(ctx, c); err != nil {
				return nil, err
			}
			return next(ctx, c)
		}, "One:x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			chain := chain(t, wrapTool("W", func(next middleware.ToolFunc) middleware.ToolFunc {
				return func(ctx context.Context, call *toolview.Call) (*message.Result, error) {
					return c.wrap(next, ctx, call)
				}
			}))
			r, err := chain.Tool(t.Context(), calls(t, "One")[0])
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.text, r.Text())
		})
	}
}

func TestPanickingToolAndModelAreFaultsOfTheirOwners(t *testing.T) {
	x := tool("One")
	x.Run = func(context.Context, *toolview.Call) (*message.Result, error) { panic("oops") }
	v := toolview.NewDeriver([]toolview.Band{{Owner: "Tools", Set: toolview.MustSet(x)}}, nil, nil).View(&toolview.Policy{}, nil)
	call, bad := v.Call("1", "One", nil)
	require.Nil(t, bad)
	c := chain(t, named("A"))
	_, err := c.Tool(t.Context(), call)
	require.EqualError(t, err, "Tools: tool One: panic: oops")
	m, err := c.Model(func(context.Context, *middleware.Request, middleware.Sink) (*message.Message, error) { panic("oops") })
	require.NoError(t, err)
	_, err = m(t.Context(), &middleware.Request{}, nil)
	require.EqualError(t, err, "the model: request: panic: oops")
}

func TestOuterLayerSeesTheInnerOnesPanicAsAnError(t *testing.T) {
	var saw error
	outer := wrapTool("Outer", func(next middleware.ToolFunc) middleware.ToolFunc {
		return func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
			_, saw = next(ctx, c)
			return message.Say("saved"), nil
		}
	})
	inner := wrapTool("Inner", func(middleware.ToolFunc) middleware.ToolFunc {
		return func(context.Context, *toolview.Call) (*message.Result, error) { panic("oops") }
	})
	r, err := chain(t, outer, inner).Tool(t.Context(), calls(t, "One")[0])
	require.NoError(t, err)
	require.Equal(t, "saved", r.Text())
	require.EqualError(t, saw, "Inner: wrap tool: panic: oops")
}

func TestLayerThatCannotBeComposedFailsByName(t *testing.T) {
	for name, f := range map[string]func(middleware.ToolFunc) middleware.ToolFunc{
		"middleware: W: WrapTool returned nil":  func(middleware.ToolFunc) middleware.ToolFunc { return nil },
		"middleware: W: wrap tool: panic: oops": func(middleware.ToolFunc) middleware.ToolFunc { panic("oops") },
	} {
		var log []string
		_, err := suite(t, logged(&log, "A", nil, nil), wrapTool("W", f)).Open(t.Context(), middleware.Opening{})
		require.EqualError(t, err, name)
		require.Equal(t, []string{"open A", "close A"}, log)
	}
	for name, f := range map[string]func(middleware.ModelFunc) middleware.ModelFunc{
		"middleware: W: WrapModel returned nil":  func(middleware.ModelFunc) middleware.ModelFunc { return nil },
		"middleware: W: wrap model: panic: oops": func(middleware.ModelFunc) middleware.ModelFunc { panic("oops") },
	} {
		_, err := chain(t, wrapModel("W", f)).Model(model)
		require.EqualError(t, err, name)
	}
}
