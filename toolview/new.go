package toolview

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview/schema"
)

// New makes a leaf tool whose schema is derived, once, from In, and whose state is the S that its owner's Open put
// into Instance.State. Fields of In: `json` names them, `doc` explains, `enum`, `min`, `max` bound, `alias` lists
// other accepted spellings. A type that has no schema panics: it is a mistake of the wiring.
func New[S, In any](t Tool, run func(context.Context, S, *Call, In) (*message.Result, error)) Tool {
	infer[In](&t)
	t.Run = func(ctx context.Context, c *Call) (*message.Result, error) {
		state, in, err := open[S, In](c)
		if err != nil {
			return nil, err
		}
		return run(ctx, state, c, in)
	}
	return t
}

// NewFlow is New for a tool that runs in the loop.
func NewFlow[S, In any](t Tool, run func(context.Context, S, *Call, In, Host) (*message.Result, error)) Tool {
	infer[In](&t)
	t.Flow = func(ctx context.Context, c *Call, h Host) (*message.Result, error) {
		state, in, err := open[S, In](c)
		if err != nil {
			return nil, err
		}
		return run(ctx, state, c, in, h)
	}
	return t
}

// NewForwarder is New for a tool that stands for another call.
func NewForwarder[In any](t Tool, unwrap func(In) (Inner, error)) Tool {
	infer[In](&t)
	t.Unwrap = func(args json.RawMessage) (Inner, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return Inner{}, err
		}
		return unwrap(in)
	}
	return t
}

// WithExamples is the same tool, showing values as examples of the string argument of that name. They are not enforced.
// A tool that New did not make, or that has no such argument, panics: it is a mistake of the wiring.
func (t Tool) WithExamples(argument string, values []string) Tool {
	s, err := t.compiled.WithExamples(argument, values)
	if err != nil {
		panic(fmt.Sprintf("toolview: tool %s: %v", t.Name, err))
	}
	t.compiled, t.Schema = s, s.JSON()
	return t
}

// Subjects adapts a function over the typed arguments to what Tool.Subjects wants.
func Subjects[In any](of func(In) []Subject) func(json.RawMessage) ([]Subject, error) {
	return func(args json.RawMessage) ([]Subject, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		return of(in), nil
	}
}

func infer[In any](t *Tool) {
	s, err := schema.Infer[In]()
	if err != nil {
		panic(fmt.Sprintf("toolview: tool %s: %v", t.Name, err))
	}
	t.compiled, t.Schema = s, s.JSON()
}

func open[S, In any](c *Call) (state S, in In, err error) {
	if c.entry.State != nil {
		var ok bool
		if state, ok = c.entry.State.(S); !ok {
			return state, in, fmt.Errorf("toolview: %s wants state %T, its owner %s opened %T", c.Name(), state, c.Owner(), c.entry.State)
		}
	}
	if err = json.Unmarshal([]byte(c.args), &in); err != nil {
		err = fmt.Errorf("toolview: arguments of %s passed its schema and do not decode: %w", c.Name(), err)
	}
	return state, in, err
}
