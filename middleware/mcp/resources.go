package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

var (
	//go:embed list_resources.md
	listDoc string
	//go:embed read_resource.md
	readDoc string
)

// addResources adds two tools for a server that has resources: one lists them, one reads them.
func (s *server) addResources(ctx context.Context, o *offer, c *conn) {
	list, err := resources(ctx, c)
	if err != nil {
		o.fault(s.Name, "its resources", err.Error())
		return
	}
	templates, err := templates(ctx, c)
	if err != nil {
		templates = nil // many servers do not know the question
	}
	if o.resources = len(list) + len(templates); o.resources == 0 {
		return
	}
	effects := toolview.OpenWorld | toolview.ReadOnly
	if s.Trusted {
		effects = toolview.ReadOnly
	}
	for _, t := range []toolview.Tool{
		{
			Decl: s.decl("list_resources"), Title: "List resources", Doc: fmt.Sprintf(strings.TrimSpace(listDoc), s.Name), Effects: effects,
			Schema: json.RawMessage(`{"type":"object","properties":{"contains":{"type":"string","description":"Only those in whose address, name or description this text stands."}},"additionalProperties":false}`),
			Run:    s.listed,
		},
		{
			Decl: s.decl("read_resource"), Title: "Read a resource", Doc: fmt.Sprintf(strings.TrimSpace(readDoc), s.Name), Effects: effects,
			Schema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","description":"Its address, such as the list gives it."}},"required":["uri"],"additionalProperties":false}`),
			Run:    s.read,
		},
	} {
		for o.has(t.Name) { // the server has a tool that is called like this
			t.Decl = s.decl("resources/" + t.Leaf)
		}
		t, err := compiled(t)
		if err != nil {
			o.fault(s.Name, "its resources", err.Error())
			continue
		}
		o.add(s, t)
	}
}

func (o *offer) has(name string) bool {
	for _, list := range [][]toolview.Tool{o.direct, o.deferred} {
		for i := range list {
			if list[i].Name == name {
				return true
			}
		}
	}
	return false
}

func resources(ctx context.Context, c *conn) ([]*sdk.Resource, error) {
	return all(true, func(cursor string) ([]*sdk.Resource, string, error) {
		r, err := c.cs.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Resources, r.NextCursor, nil
	})
}

func templates(ctx context.Context, c *conn) ([]*sdk.ResourceTemplate, error) {
	return all(true, func(cursor string) ([]*sdk.ResourceTemplate, string, error) {
		r, err := c.cs.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.ResourceTemplates, r.NextCursor, nil
	})
}

// listed is the tool that lists resources, as they are now.
func (s *server) listed(ctx context.Context, c *toolview.Call) (*message.Result, error) {
	var in struct{ Contains string }
	if err := json.Unmarshal(c.Args(), &in); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return s.asked(ctx, c, func(ctx context.Context, conn *conn, _ *errand) (*message.Result, error) {
		list, err := resources(ctx, conn)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		line := func(uri string, more ...string) {
			text := uri
			for _, m := range more {
				if m = strings.TrimSpace(clean(m)); m != "" {
					text += " — " + strings.ReplaceAll(m, "\n", " ")
				}
			}
			if strings.Contains(strings.ToLower(text), strings.ToLower(in.Contains)) {
				b.WriteString(text + "\n")
			}
		}
		for _, r := range list {
			line(r.URI, r.Name, r.MIMEType, r.Description)
		}
		if t, err := templates(ctx, conn); err == nil {
			for _, r := range t {
				line(r.URITemplate+" (fill in the braces)", r.Name, r.MIMEType, r.Description)
			}
		}
		if b.Len() == 0 {
			return message.Say("There is no such resource."), nil
		}
		r := message.Say(b.String())
		s.hub.fit(r, c.Name())
		return r, nil
	})
}

// read is the tool that reads a resource.
func (s *server) read(ctx context.Context, c *toolview.Call) (*message.Result, error) {
	var in struct{ URI string }
	if err := json.Unmarshal(c.Args(), &in); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return s.asked(ctx, c, func(ctx context.Context, conn *conn, e *errand) (*message.Result, error) {
		p := &sdk.ReadResourceParams{URI: in.URI}
		p.SetProgressToken(e.token)
		got, err := conn.cs.ReadResource(ctx, p)
		if err != nil {
			return nil, err
		}
		r := &message.Result{}
		for _, piece := range got.Contents {
			r.Parts = append(r.Parts, contents(piece)...)
		}
		if len(r.Parts) == 0 {
			r.Parts = []message.Part{text("(the resource is empty)")}
		}
		s.hub.fit(r, c.Name())
		return r, nil
	})
}
