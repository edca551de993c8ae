package providertest

import (
	"context"
	"encoding/json"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// The schemas that vendors trip over.
const (
	unionSchema = `{"type":"object","oneOf":[{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},{"type":"object","properties":{"url":{"type":"string"},"path":{"type":"integer"}},"required":["url"]}]}`
	refSchema   = `{"type":"object","properties":{"node":{"$ref":"#/$defs/node"}},"required":["node"],"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/node"}},"required":["name"]}}}`
	bareSchema  = `{"type":"object"}`
)

func tool(name, schema string) toolview.Tool {
	return toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: "Does what " + name + " says.", Schema: json.RawMessage(schema),
		Run: func(context.Context, *toolview.Call) (*message.Result, error) { return message.Say("done"), nil },
	}
}

const textSchema = `{"type":"object","properties":{"text":{"type":"string","description":"a <text> & more"}},"required":["text"],"additionalProperties":false}`

// view holds tools of every shape.
func view() *toolview.View {
	set := toolview.MustSet(
		tool("Echo", textSchema), tool("Now", bareSchema), tool("Open", unionSchema), tool("Tree", refSchema),
	)
	return toolview.NewDeriver([]toolview.Band{{Owner: "Kit", Set: set}}, nil, nil).View(&toolview.Policy{}, nil)
}

// system is a prompt of both zones.
func system() []prompt.Block {
	return []prompt.Block{
		{Text: "You are tested. <b>&amp;</b>", EndsCache: true, Segments: []string{"01_intro"}},
		{Text: "Today is quiet.", Segments: []string{"07_runtime"}},
	}
}

func request(p Played, more ...*message.Message) *middleware.Request {
	prompt := p.Prompt
	if prompt == "" {
		prompt = "go on"
	}
	h := append([]*message.Message{message.Of(message.User, prompt)}, more...)
	return &middleware.Request{Model: "kit", System: system(), View: view(), Messages: h}
}

// next is the request of the next step of the same session.
func next(r *middleware.Request, more ...*message.Message) *middleware.Request {
	n := *r
	n.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], more...)
	return &n
}

// results answers every call of a reply.
func results(m *message.Message, text string) *message.Message {
	out := &message.Message{Role: message.Tool}
	for _, u := range m.Uses() {
		r := message.Say(text)
		r.UseID = u.ID
		out.Parts = append(out.Parts, message.Part{Kind: message.ToolResult, Result: r})
	}
	return out
}
