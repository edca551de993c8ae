// Package toolsearch is the middleware by which a model finds and runs deferred tools.
package toolsearch

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	index "github.com/metaharness/peri/toolsearch"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "ToolSearchMiddleware"

// The two tools.
const (
	SearchTool  = "SearchExtraTools"
	ExecuteTool = "ExecuteExtraTool"
)

// usual is how many tools a search returns unless it asks for another number.
const usual = 5

//go:embed search.md
var searchDoc string

//go:embed execute.md
var executeDoc string

type searchArgs struct {
	Query string `json:"query" doc:"what the tool should do, select:NAME,NAME, or words with +required ones" min:"1"`
	Limit int    `json:"limit,omitempty" doc:"how many tools to return at most; 5 unless given" min:"1" max:"50"`
}

const executeSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"the tool's name as the search returned it","minLength":1},` +
	`"arguments":{"type":"object","description":"the tool's arguments, by its own schema"}},` +
	`"required":["name"],"additionalProperties":false}`

// Found is one tool in the structured result of a search.
type Found struct {
	Name   string          `json:"name"`
	Doc    string          `json:"doc"`
	Owner  string          `json:"owner"`
	Schema json.RawMessage `json:"schema"`
}

// New is the middleware. It has no options: what can be found is what the view of each step holds.
//
// The sessions of one suite share the indexes of views that read the same. What is shared is immutable and made of
// texts alone under the digest of those very texts, so that no session can learn or change anything of another by it;
// tools and their state stay with each session. All that a session may change is in what Open and Child return.
func New() middleware.Middleware {
	indexes := index.NewCache(shared)
	return middleware.Middleware{
		Name:    Name,
		Doc:     "Lets the model search for tools that it is not shown and run them.",
		Aliases: []string{"ToolSearch", "meta_harness"},
		Tools: toolview.MustSet(
			toolview.New(toolview.Tool{
				Decl: toolview.Decl{Name: SearchTool, Family: "toolsearch", Private: true},
				Doc:  strings.TrimSpace(searchDoc), Effects: toolview.Internal, Finder: true,
			}, search),
			toolview.Tool{
				Decl: toolview.Decl{Name: ExecuteTool, Family: "toolsearch", Private: true},
				Doc:  strings.TrimSpace(executeDoc), Effects: toolview.Internal, Finder: true,
				Schema: json.RawMessage(executeSchema), Unwrap: unwrap,
			},
		),
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return instance(ctx, env, indexes, nil)
		},
	}
}

// instance opens one session. A child finds for itself.
func instance(ctx context.Context, env middleware.Env, indexes *index.Cache, parent *state) (*middleware.Instance, error) {
	s, err := open(ctx, env, indexes, parent)
	if err != nil {
		return nil, err
	}
	return &middleware.Instance{
		State: s, Contribute: s.announce,
		Child: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return instance(ctx, env, indexes, s)
		},
	}, nil
}

// unwrap passes the arguments' own bytes on, so that whoever approves the call sees what the model wrote.
func unwrap(args json.RawMessage) (toolview.Inner, error) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return toolview.Inner{}, err
	}
	if in.Name = strings.TrimSpace(in.Name); in.Name == "" {
		return toolview.Inner{}, errors.New("name is empty: name the tool that is to run")
	}
	return toolview.Inner{Name: in.Name, Args: in.Arguments}, nil
}

func search(ctx context.Context, s *state, call *toolview.Call, in searchArgs) (*message.Result, error) {
	if s == nil {
		return nil, errors.New("toolsearch: the call has no state: its middleware was not opened")
	}
	if in.Limit == 0 {
		in.Limit = usual
	}
	found := []Found{}
	var names []string
	for _, h := range s.index(call.View()).Search(in.Query, in.Limit) {
		t := h.Entry.Tool
		found = append(found, Found{t.Name, t.Doc, h.Entry.Owner, t.Schema})
		names = append(names, t.Name)
	}
	s.remember(ctx, names)
	structured, err := json.Marshal(map[string][]Found{"tools": found})
	if err != nil {
		return nil, fmt.Errorf("toolsearch: %w", err)
	}
	r := message.Say(text(found))
	r.Structured = structured
	return r, nil
}

func text(found []Found) string {
	if len(found) == 0 {
		return "No tool matches. Describe what the tool should do in other words, in fewer words, or name it with select:NAME. If that finds nothing either, there is no such tool: go on without it."
	}
	var b strings.Builder
	for i, f := range found {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "## %s\n%s\nOwner: %s\nArguments: %s", f.Name, f.Doc, f.Owner, f.Schema)
	}
	b.WriteString("\n\nRun one with `" + ExecuteTool + "`.")
	return b.String()
}

// announce tells the model the names that it can search for. They go to the tail, since they change from step to
// step and no description may.
func (s *state) announce(_ context.Context, step *middleware.Step, tail *prompt.Tail) error {
	if step.View != nil && step.View.HasDeferred() {
		tail.Add(s.announcement(step.View))
	}
	return nil
}
