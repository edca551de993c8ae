package closuretest

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Project is a user's own suite and settings.
type Project struct {
	// Blueprint is what their sessions are made from. The sessions of the kit work in its Root and write nothing there.
	Blueprint middleware.Blueprint
	// Home is the user's home, which files that begin with ~ are in; "" = none.
	Home string
	// Only names the middlewares that are closed in turn; nil = all that are open.
	Only []string
	// Ways are as in Config.
	Ways func(tool string) []Way
}

// project is a Project under examination.
//
// What its middlewares bring from outside the program (tools under a dynamic prefix: servers) is opened once and shared by
// all sessions of the kit. No hook, gate or wrapper runs, since it may be a command of the user's; that it is there is
// seen all the same.
type project struct {
	Project

	mu     sync.Mutex
	shared []*middleware.Instance
}

// lay puts the project's own policy into the blueprint of a session whose suite and closed set stand already.
func (p *project) lay(b *middleware.Blueprint) {
	own := p.Blueprint
	own.Suite, own.Root = b.Suite, b.Root
	own.Layers = append(own.Layers[:len(own.Layers):len(own.Layers)], b.Layers...)
	own.Documents = append(b.Documents[:len(b.Documents):len(b.Documents)], own.Documents...)
	// What search takes along is another matter than what its absence makes of deferred tools.
	own.WithoutSearch = toolview.Direct
	*b = own
}

// quiet is a middleware whose hooks do nothing, and whose instance is shared if what it brings is costly.
func (p *project) quiet(m middleware.Middleware) middleware.Middleware {
	if m.Open == nil {
		return m
	}
	start := m.Open
	if m.Dynamic != "" {
		start = p.once(start)
	}
	m.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		in, err := start(ctx, env)
		return hushed(in), err
	}
	return m
}

// once opens at the first call and lends out copies, which close nothing.
func (p *project) once(start opening) opening {
	var mu sync.Mutex
	var first *middleware.Instance
	return func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			in, err := start(context.WithoutCancel(ctx), env)
			if in == nil || err != nil {
				return in, err
			}
			first = in
			p.mu.Lock()
			p.shared = append(p.shared, in)
			p.mu.Unlock()
		}
		lent := *first
		lent.Close = nil
		return &lent, nil
	}
}

// close ends what was shared, in reverse.
func (p *project) close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for i := len(p.shared) - 1; i >= 0; i-- {
		if shut := p.shared[i].Close; shut != nil {
			errs = append(errs, shut(ctx))
		}
	}
	p.shared = nil
	return errors.Join(errs...)
}

// hushed is a copy of an instance with every hook that is set doing nothing: gates and rewriters let pass, wrappers wrap
// nothing.
func hushed(raw *middleware.Instance) *middleware.Instance {
	if raw == nil {
		return nil
	}
	in := *raw
	h := reflect.ValueOf(&in.Hooks).Elem()
	for i := range h.NumField() {
		if f := h.Field(i); f.Kind() == reflect.Func && !f.IsNil() {
			f.Set(reflect.MakeFunc(f.Type(), nothing(f.Type())))
		}
	}
	if child := raw.Child; child != nil {
		in.Child = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			k, err := child(ctx, env)
			return hushed(k), err
		}
	}
	return &in
}

var verdicts = reflect.TypeFor[[]middleware.Verdict]()

// nothing answers with what came in where a value of that type did, and with zero values otherwise.
func nothing(t reflect.Type) func([]reflect.Value) []reflect.Value {
	return func(in []reflect.Value) []reflect.Value {
		for _, v := range in {
			if v.Type() != verdicts {
				continue
			}
			for i := range v.Len() {
				v.Index(i).Set(reflect.ValueOf(middleware.Verdict{Decision: middleware.Pass}))
			}
		}
		out := make([]reflect.Value, t.NumOut())
		for i := range out {
			out[i] = reflect.Zero(t.Out(i))
			if t.Out(i) == reflect.TypeFor[middleware.Verdict]() {
				out[i] = reflect.ValueOf(middleware.Verdict{Decision: middleware.Pass})
			}
			for _, v := range in {
				if v.Type() == t.Out(i) && v.Kind() != reflect.String && v.Type() != reflect.TypeFor[middleware.Verdict]() {
					out[i] = v
				}
			}
		}
		return out
	}
}
