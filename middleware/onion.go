package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type judgedKey struct{}

// judged remembers which call the gates let through.
func judged(ctx context.Context, call *toolview.Call) context.Context {
	return context.WithValue(ctx, judgedKey{}, call)
}

// errChanged is what a call gets that no gate has judged.
var errChanged = errors.New("the call was changed after it was judged, and did not run")

// leaf runs the tool itself. It runs the judged call or nothing.
func leaf(ctx context.Context, call *toolview.Call) (r *message.Result, err error) {
	if ctx.Value(judgedKey{}) != call {
		return nil, errChanged
	}
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, Fault{call.Owner(), "tool " + call.Name(), fmt.Errorf("panic: %v", p)}
		}
	}()
	return call.Tool().Run(ctx, call)
}

// onionOfTools composes wrappers, the first outermost, with a recover for each layer.
func onionOfTools(layers []owned[func(ToolFunc) ToolFunc]) (ToolFunc, error) {
	next := ToolFunc(leaf)
	for i := len(layers) - 1; i >= 0; i-- {
		l, inner := layers[i], next
		var wrapped ToolFunc
		if err := contain(l.owner, "wrap tool", func() error { wrapped = l.f(inner); return nil }); err != nil {
			return nil, fmt.Errorf("middleware: %w", err)
		}
		if wrapped == nil {
			return nil, fmt.Errorf("middleware: %s: WrapTool returned nil", l.owner)
		}
		next = func(ctx context.Context, call *toolview.Call) (r *message.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					r, err = nil, Fault{l.owner, "wrap tool", fmt.Errorf("panic: %v", p)}
				}
			}()
			return wrapped(ctx, call)
		}
	}
	return next, nil
}

// onionOfModels is onionOfTools for requests to a model.
func onionOfModels(layers []owned[func(ModelFunc) ModelFunc], base ModelFunc) (ModelFunc, error) {
	next := func(ctx context.Context, r *Request, sink Sink) (m *message.Message, err error) {
		defer func() {
			if p := recover(); p != nil {
				m, err = nil, Fault{"the model", "request", fmt.Errorf("panic: %v", p)}
			}
		}()
		return base(ctx, r, sink)
	}
	for i := len(layers) - 1; i >= 0; i-- {
		l, inner := layers[i], ModelFunc(next)
		var wrapped ModelFunc
		if err := contain(l.owner, "wrap model", func() error { wrapped = l.f(inner); return nil }); err != nil {
			return nil, fmt.Errorf("middleware: %w", err)
		}
		if wrapped == nil {
			return nil, fmt.Errorf("middleware: %s: WrapModel returned nil", l.owner)
		}
		next = func(ctx context.Context, r *Request, sink Sink) (m *message.Message, err error) {
			defer func() {
				if p := recover(); p != nil {
					m, err = nil, Fault{l.owner, "wrap model", fmt.Errorf("panic: %v", p)}
				}
			}()
			return wrapped(ctx, r, sink)
		}
	}
	return next, nil
}
