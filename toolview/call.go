package toolview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
)

// Call is one checked call of one visible tool. A View alone makes it, and nothing changes it: a rewrite is another
// Call, which is judged again.
type Call struct {
	id    string
	entry Entry
	args  string
	via   string
	view  *View
}

// ID is the id of the model's use, or one derived from it for an inner call.
func (c *Call) ID() string { return c.id }

// Name is the real name of the tool, also when the model used an alias or a forwarder.
func (c *Call) Name() string { return c.entry.Tool.Name }

// Via is the forwarder through which the call came; "" = none.
func (c *Call) Via() string { return c.via }

// Owner is the middleware whose tool it is.
func (c *Call) Owner() string { return c.entry.Owner }

// Tool is what is called.
func (c *Call) Tool() *Tool { return c.entry.Tool }

// State is the Instance.State of the tool's owner.
func (c *Call) State() any { return c.entry.State }

// Deferred reports whether the tool is one that only a finder reaches.
func (c *Call) Deferred() bool { return c.entry.Deferred }

// Args is a copy of the arguments under their canonical names.
func (c *Call) Args() json.RawMessage { return json.RawMessage(c.args) }

// Agent is the child whose call it is; "" for a main session.
func (c *Call) Agent() string { return c.view.policy.Agent }

// View is the view that made the call.
func (c *Call) View() *View { return c.view }

// Links is what a tool's state may be: Real is where a path leads once every link on it is followed. Paths that lead
// elsewhere are judged at both places. It may read the disk, and false = it cannot be told.
type Links interface {
	Real(path string) (string, bool)
}

// Subjects is what the call touches, as its tool's owner computes it. A panic of the owner's is an error.
func (c *Call) Subjects() (all []Subject, err error) {
	if c.entry.Tool.Subjects == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("toolview: %s: subjects of %s: panic: %v", c.Owner(), c.Name(), p)
		}
	}()
	if all, err = c.entry.Tool.Subjects(c.Args()); err != nil {
		return nil, err
	}
	links, ok := c.entry.State.(Links)
	if !ok {
		return all, nil
	}
	for _, s := range all {
		if s.Kind != Path || s.Opaque {
			continue
		}
		real, told := links.Real(s.Value)
		switch {
		case !told:
			s.Opaque = true
			all = append(all, s)
		case real != s.Value:
			s.Value, s.Also = real, nil
			all = append(all, s)
		}
	}
	return all, nil
}

// With is the same call with other arguments, checked like the first. The result says what is wrong with them.
func (c *Call) With(args json.RawMessage) (*Call, *message.Result) {
	text, bad := c.view.arguments(c.entry.Tool, args)
	if bad != nil {
		return nil, bad
	}
	n := *c
	n.args = text
	if c.view.scoped {
		if bad := c.view.refused(&n); bad != nil {
			return nil, bad
		}
	}
	return &n, nil
}

// Progress tells whoever watches the turn how far the call is.
func (c *Call) Progress(ctx context.Context, text string) {
	if f, ok := ctx.Value(progressKey{}).(func(*Call, string)); ok {
		f(c, text)
	}
}

// Ask puts a question to a person on behalf of whatever ctx was lent to: a call or a command at work. It is for what comes
// from outside while that runs, such as a server's question; without anybody to ask it returns ErrNoAsker. It may be called
// from any goroutine, and returns when ctx ends.
func Ask(ctx context.Context, q Question) (Answer, error) {
	if f, ok := ctx.Value(askerKey{}).(func(context.Context, Question) (Answer, error)); ok {
		return f(ctx, q)
	}
	return Answer{}, ErrNoAsker
}

type askerKey struct{}

// WithAsker lets Ask reach f.
func WithAsker(ctx context.Context, f func(context.Context, Question) (Answer, error)) context.Context {
	return context.WithValue(ctx, askerKey{}, f)
}

type progressKey struct{}

// WithProgress lets Call.Progress reach f. f may be called from any goroutine.
func WithProgress(ctx context.Context, f func(*Call, string)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// Call makes the call of a model's use. Instead of a call it returns the result that the model reads: for a name that
// is not in the view one and the same answer whatever the reason, for arguments that do not fit what to send instead.
// A forwarder is replaced by the call that it stands for.
func (v *View) Call(id, name string, args json.RawMessage) (*Call, *message.Result) {
	e, ok := v.Lookup(name)
	if !ok {
		return nil, v.Unknown(name)
	}
	if e.Deferred {
		return nil, message.Fail(fmt.Sprintf("`%s` is a deferred tool and cannot be called by itself: search for it first, then run it through the tool search.", e.Tool.Name))
	}
	if e.Tool.Unwrap == nil {
		return v.make(id, e, args, "")
	}
	text, bad := v.arguments(e.Tool, args)
	if bad != nil {
		return nil, bad
	}
	inner, err := unwrap(e.Tool, text)
	if err != nil {
		return nil, message.Fail(fmt.Sprintf("`%s`: %v", e.Tool.Name, err))
	}
	return v.inner(id, inner, e.Tool.Name)
}

// Means is the name of the tool that a model's use really means, when that is not the one it wrote: behind an alias, or
// through a forwarder. "" = the name as written, or no tool at all.
func (v *View) Means(name string, args json.RawMessage) string {
	e, ok := v.Lookup(name)
	if !ok {
		return ""
	}
	if e.Tool.Unwrap != nil {
		text, bad := v.arguments(e.Tool, args)
		if bad != nil {
			return ""
		}
		inner, err := unwrap(e.Tool, text)
		if err != nil {
			return ""
		}
		if e, ok = v.Lookup(inner.Name); !ok || e.Tool.Unwrap != nil {
			return ""
		}
	}
	if e.Tool.Name == name {
		return ""
	}
	return e.Tool.Name
}

// Inner makes the call that a flow asks for. Deferred tools may be called so; forwarders may not.
func (v *View) Inner(id string, in Inner) (*Call, *message.Result) { return v.inner(id, in, "") }

func (v *View) inner(id string, in Inner, via string) (*Call, *message.Result) {
	e, ok := v.Lookup(in.Name)
	if !ok {
		return nil, v.Unknown(in.Name)
	}
	if e.Tool.Unwrap != nil {
		return nil, message.Fail(fmt.Sprintf("`%s` forwards a call and cannot itself be forwarded: name the tool that is to run.", e.Tool.Name))
	}
	return v.make(id, e, in.Args, via)
}

func (v *View) make(id string, e Entry, args json.RawMessage, via string) (*Call, *message.Result) {
	text, bad := v.arguments(e.Tool, args)
	if bad != nil {
		return nil, bad
	}
	c := &Call{id: id, entry: e, args: text, via: via, view: v}
	if v.scoped {
		if bad := v.refused(c); bad != nil {
			return nil, bad
		}
	}
	return c, nil
}

// arguments checks bytes against a tool's schema and returns them under their canonical names.
func (v *View) arguments(t *Tool, args json.RawMessage) (string, *message.Result) {
	err := t.compiled.Check(args)
	if err == nil {
		if args, err = t.compiled.Canonical(args); err == nil {
			return string(args), nil
		}
	}
	return "", message.Fail(fmt.Sprintf("`%s` was not run:\n%v", t.Name, err))
}

// Unknown is the answer to a name that the view does not hold: a function of the name and the view alone.
func (v *View) Unknown(name string) *message.Result {
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	var names []string
	for e := range v.All() {
		names = append(names, e.Tool.Name)
	}
	text := fmt.Sprintf("There is no tool `%s`.", name)
	if near := meta.Nearest(name, names); len(near) > 0 {
		text += " Did you mean `" + strings.Join(near, "`, `") + "`?"
	}
	return message.Fail(text)
}

// unwrap contains a forwarder's panic: a bad one fails its own call alone.
func unwrap(t *Tool, args string) (in Inner, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("it failed to read its arguments")
		}
	}()
	return t.Unwrap(json.RawMessage(args))
}
