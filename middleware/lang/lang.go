// Package lang tells the agent in which language its user wants to read.
package lang

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
)

// Name is the meta key.
const Name = "LangMiddleware"

// Options are what settings say about language.
type Options struct {
	// Language is a name or tag as a person writes it ("German", "pt-BR"); "" = the text is absent.
	Language string `json:"language,omitempty"`
}

// New makes the middleware.
func New(o Options) middleware.Middleware {
	m := middleware.Middleware{
		Name: Name,
		Doc:  "Answers in the language that settings name.",
		Segments: []prompt.Segment{{
			ID: "language", Zone: prompt.Live, Order: 76, Text: prompt.Text("language"), Vars: []string{"language"},
		}},
		Open: open,
	}
	// One line: a setting must not be able to grow into further instructions by accident.
	o.Language = strings.Join(strings.Fields(o.Language), " ")
	// Also no language is a policy: a resumed session must not get one.
	m.Policy, _ = json.Marshal(o) // a struct of text always marshals
	return m
}

func open(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	var o Options
	if len(env.Policy) > 0 {
		if err := json.Unmarshal(env.Policy, &o); err != nil {
			return nil, fmt.Errorf("lang: stored policy: %w", err)
		}
	}
	return &middleware.Instance{Vars: map[string]string{"language": o.Language}}, nil
}
