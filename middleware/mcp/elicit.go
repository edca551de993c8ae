package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/toolview"
)

const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)

// elicit puts a server's question to the person whose turn waits for it. A question out of the blue is declined: nobody
// would know what it is about.
func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	e, ok := s.waiting()
	if !ok {
		s.hub.notice("server %s asked a question that no call of it waits for; it was declined", s.Name)
		return &sdk.ElicitResult{Action: decline}, nil
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	// It ends with the call, and with the connection.
	within, stop := context.WithCancel(e.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	defer e.alive()
	e.alive()
	form, err := readForm(r.Params)
	if err != nil {
		s.hub.notice("server %s asked what cannot be shown; it was declined: %v", s.Name, err)
		return &sdk.ElicitResult{Action: decline}, nil
	}
	content, err := form.fill(s.Name, func(q toolview.Question) (toolview.Answer, error) {
		return toolview.Ask(within, q)
	})
	switch {
	case errors.Is(err, errDeclined), errors.Is(err, toolview.ErrNoAsker):
		return &sdk.ElicitResult{Action: decline}, nil
	case err != nil:
		return &sdk.ElicitResult{Action: cancel}, nil
	}
	return &sdk.ElicitResult{Action: accept, Content: content}, nil
}

var errDeclined = errors.New("declined")

// form is what a server asks: the fields of a flat object, or that an address be visited.
type form struct {
	message, url string
	fields       []field
}

type field struct {
	name, title, doc, kind string
	required, multiple     bool
	options                []toolview.Option
	values                 []string // what the options stand for
}

// property is a field's schema, of either generation of the protocol.
type property struct {
	Type, Title, Description string
	Enum                     []any
	EnumNames                []string
	OneOf                    []titled
	Items                    *struct {
		Enum  []any
		AnyOf []titled
	}
}

type titled struct {
	Const any
	Title string
}

func readForm(p *sdk.ElicitParams) (*form, error) {
	f := &form{message: strings.TrimSpace(clean(p.Message)), url: clean(p.URL)}
	if f.url != "" || p.RequestedSchema == nil {
		return f, nil
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	var schema struct {
		Properties map[string]property
		Required   []string
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	for name, p := range schema.Properties {
		f.fields = append(f.fields, p.field(name, slices.Contains(schema.Required, name)))
	}
	// JSON objects have no order that survives: those that must be answered first, then by name.
	slices.SortFunc(f.fields, func(a, b field) int {
		if a.required != b.required {
			if a.required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return f, nil
}

func (p *property) field(name string, required bool) field {
	f := field{name: name, title: clean(p.Title), doc: clean(p.Description), kind: p.Type, required: required}
	enum, named := p.Enum, p.OneOf
	if p.Items != nil {
		f.multiple, enum, named = true, p.Items.Enum, p.Items.AnyOf
	}
	for i, v := range enum {
		label := fmt.Sprint(v)
		f.values = append(f.values, label)
		if i < len(p.EnumNames) {
			label = p.EnumNames[i]
		}
		f.options = append(f.options, toolview.Option{Label: clean(label)})
	}
	for _, t := range named {
		f.values = append(f.values, fmt.Sprint(t.Const))
		f.options = append(f.options, toolview.Option{Label: clean(t.Title)})
	}
	if p.Type == "boolean" {
		f.values, f.options = []string{"true", "false"}, []toolview.Option{{Label: "Yes"}, {Label: "No"}}
	}
	return f
}

// atOnce is how many questions a person is asked together.
const atOnce = 4

// fill asks for every field. What cannot be taken is asked once more.
func (f *form) fill(server string, ask func(toolview.Question) (toolview.Answer, error)) (map[string]any, error) {
	out := map[string]any{}
	head := fmt.Sprintf("The server %s asks: %s", server, f.message)
	if len(f.fields) == 0 {
		item := toolview.Item{Question: head, Header: server, Options: []toolview.Option{{Label: "Yes"}, {Label: "No"}}}
		if f.url != "" {
			item.Question += "\nOpen this address in a browser, if you trust it, and say when you are done: " + f.url
			item.Options = []toolview.Option{{Label: "Done"}, {Label: "No"}}
		}
		a, err := ask(toolview.Question{Questions: []toolview.Item{item}})
		if err != nil {
			return nil, err
		}
		if a.Declined || len(a.Chosen) == 0 || len(a.Chosen[0]) == 0 || a.Chosen[0][0] == "No" {
			return nil, errDeclined
		}
		if f.url != "" {
			return nil, nil
		}
		return out, nil
	}
	left := f.fields
	again := map[string]string{}
	for len(left) > 0 {
		n := min(atOnce, len(left))
		q := toolview.Question{}
		for i, fl := range left[:n] {
			item := fl.item(server, again[fl.name])
			if i == 0 && len(left) == len(f.fields) && len(again) == 0 {
				item.Question = head + "\n" + item.Question
			}
			q.Questions = append(q.Questions, item)
		}
		a, err := ask(q)
		if err != nil {
			return nil, err
		}
		if a.Declined {
			return nil, errDeclined
		}
		var bad []field
		for i, fl := range left[:n] {
			var chosen []string
			if i < len(a.Chosen) {
				chosen = a.Chosen[i]
			}
			v, err := fl.value(chosen)
			switch {
			case err == nil && v != nil:
				out[fl.name] = v
			case err != nil && again[fl.name] == "":
				again[fl.name] = err.Error()
				bad = append(bad, fl)
			case err != nil:
				return nil, errDeclined
			}
		}
		left = append(bad, left[n:]...)
	}
	return out, nil
}

func (f *field) item(server, wrong string) toolview.Item {
	label := f.title
	if label == "" {
		label = f.name
	}
	text := label
	if f.doc != "" && f.doc != label {
		text += ": " + f.doc
	}
	if !f.required {
		text += " (may be left empty)"
	}
	if wrong != "" {
		text += " — " + wrong
	}
	return toolview.Item{Question: text, Header: server, Options: slices.Clone(f.options), Multiple: f.multiple}
}

// value is what was chosen, as the field's type wants it. nil = nothing was, and nothing had to be.
func (f *field) value(chosen []string) (any, error) {
	var picked []string
	for _, c := range chosen {
		c = strings.TrimSpace(c)
		if c == "" {
			continue
		}
		if i := slices.IndexFunc(f.options, func(o toolview.Option) bool { return strings.EqualFold(o.Label, c) }); i >= 0 {
			c = f.values[i]
		} else if len(f.values) > 0 && !slices.Contains(f.values, c) {
			return nil, fmt.Errorf("%q is none of the answers", c)
		}
		picked = append(picked, c)
	}
	switch {
	case len(picked) == 0 && f.required:
		return nil, errors.New("it needs an answer")
	case len(picked) == 0:
		return nil, nil
	case f.multiple:
		return picked, nil
	}
	switch f.kind {
	case "boolean":
		return strconv.ParseBool(picked[0])
	case "integer":
		return strconv.ParseInt(picked[0], 10, 64)
	case "number":
		return strconv.ParseFloat(picked[0], 64)
	}
	return strings.Join(picked, ", "), nil
}
