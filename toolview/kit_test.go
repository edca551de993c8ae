package toolview_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

type says struct {
	Text string `json:"text,omitempty" doc:"what to say" alias:"words"`
}

// tool says its text back.
func tool(name string, aliases ...string) toolview.Tool {
	return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name, Aliases: aliases}, Doc: "Says its text."},
		func(_ context.Context, _ any, c *toolview.Call, in says) (*message.Result, error) {
			return message.Say(c.Name() + ":" + in.Text), nil
		})
}

func tools(names ...string) *toolview.Set {
	list := make([]toolview.Tool, len(names))
	for i, n := range names {
		list[i] = tool(n)
	}
	return toolview.MustSet(list...)
}

func direct(owner string, names ...string) toolview.Band {
	return toolview.Band{Owner: owner, Set: tools(names...)}
}

func deferred(owner string, names ...string) toolview.Band {
	return toolview.Band{Owner: owner, Set: tools(names...), Deferred: true}
}

type forwarded struct {
	Name string          `json:"name" doc:"tool"`
	Args json.RawMessage `json:"args,omitempty" doc:"its arguments"`
}

// forwarder stands for the call that its arguments name.
func forwarder(name string) toolview.Tool {
	return toolview.NewForwarder(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Runs another tool."},
		func(in forwarded) (toolview.Inner, error) {
			switch in.Name {
			case "panic":
				panic("forwarder")
			case "error":
				return toolview.Inner{}, errors.New("it will not")
			}
			return toolview.Inner{Name: in.Name, Args: in.Args}, nil
		})
}

// pair is the two tools of a tool search.
func pair() toolview.Band {
	find, exec := tool("Find"), forwarder("Exec")
	find.Finder, exec.Finder = true, true
	return toolview.Band{Owner: "SearchMiddleware", Set: toolview.MustSet(find, exec)}
}

func sel(texts ...string) []toolview.Selector {
	out := make([]toolview.Selector, 0, len(texts))
	for i, t := range texts {
		out = append(out, toolview.Selector{Text: t, Origin: meta.Origin{Layer: "project", File: "settings.yaml", Line: i + 1}})
	}
	return out
}

func frame(t testing.TB, l toolview.Lists) *toolview.Frame {
	t.Helper()
	f, err := toolview.NewFrame(l)
	require.NoError(t, err)
	return f
}

func denying(t testing.TB, texts ...string) *toolview.Policy {
	return &toolview.Policy{Frames: []*toolview.Frame{frame(t, toolview.Lists{Deny: sel(texts...)})}}
}

func allowing(t testing.TB, texts ...string) *toolview.Policy {
	return &toolview.Policy{Frames: []*toolview.Frame{frame(t, toolview.Lists{Allow: [][]toolview.Selector{sel(texts...)}})}}
}

func pausing(owners ...string) *toolview.Policy {
	p := &toolview.Policy{Paused: map[string]bool{}}
	for _, o := range owners {
		p.Paused[o] = true
	}
	return p
}

// view derives one view of bands.
func view(p *toolview.Policy, bands ...toolview.Band) *toolview.View {
	return toolview.NewDeriver(bands, nil, nil).View(p, nil)
}

func free() *toolview.Policy { return &toolview.Policy{} }

func shown(v *toolview.View) []string {
	out := []string{}
	for _, t := range v.Direct() {
		out = append(out, t.Name)
	}
	return out
}

func found(v *toolview.View) []string {
	out := []string{}
	for e := range v.Deferred() {
		out = append(out, e.Tool.Name)
	}
	return out
}
