package closuretest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// The suite of these tests: four middlewares as somebody outside this module would write them.

type noteArgs struct {
	Text string `json:"text" doc:"what to keep"`
}

// notebook is one session's notes.
type notebook struct {
	mu    sync.Mutex
	notes []string
}

func (n *notebook) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, text)
}

func (n *notebook) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.notes...)
}

func takeNote(_ context.Context, n *notebook, _ *toolview.Call, in noteArgs) (*message.Result, error) {
	n.add(in.Text)
	return message.Say("kept"), nil
}

func listNotes(_ context.Context, n *notebook, _ *toolview.Call, _ struct{}) (*message.Result, error) {
	return message.Say(strings.Join(n.all(), "\n")), nil
}

// notes keeps what the model wants to remember: direct tools, a Live text, a route and a contribution.
func notes() middleware.Middleware {
	return middleware.Middleware{
		Name: "Notes", Doc: "Keeps notes.",
		Segments: []prompt.Segment{{ID: "20_notes", Zone: prompt.Live, Text: "Keep notes with `TakeNote`; {{who}} reads them.", Vars: []string{"who"}, Needs: []string{"TakeNote"}}},
		Tools: toolview.MustSet(
			toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "TakeNote", Aliases: []string{"note_add"}}, Doc: "Keeps a note; see ListNotes.", Effects: toolview.Internal}, takeNote),
			toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "ListNotes"}, Doc: "Lists the notes.", Effects: toolview.Internal}, listNotes),
		),
		Routes: []middleware.RouteDecl{{Name: "notes", Doc: "Shows the notes."}},
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			n := &notebook{}
			return &middleware.Instance{
				State: n, Vars: map[string]string{"who": "the user"},
				Routes: []middleware.Route{{
					RouteDecl: middleware.RouteDecl{Name: "notes", Doc: "Shows the notes."},
					Run: func(context.Context, string) (middleware.RouteReply, error) {
						return middleware.RouteReply{Text: strings.Join(n.all(), "\n") + "."}, nil
					},
				}},
				Contribute: func(_ context.Context, _ *middleware.Step, t *prompt.Tail) error {
					t.Add(fmt.Sprintf("There are %d notes so far.", len(n.all())))
					return nil
				},
			}, nil
		},
	}
}

type place struct {
	Place string `json:"place" doc:"a town"`
}

// weather has deferred tools, some of which are known at run time only.
func weather() middleware.Middleware {
	tool := func(name string) toolview.Tool {
		return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Tells the weather of a place.", Effects: toolview.OpenWorld},
			func(context.Context, any, *toolview.Call, place) (*message.Result, error) {
				return message.Say("rain"), nil
			})
	}
	return middleware.Middleware{
		Name: "Weather", Doc: "Tells the weather.", Dynamic: "wx__",
		Deferred: toolview.MustSet(tool("Forecast")),
		Segments: []prompt.Segment{{ID: "30_weather", Order: 30, Text: "It rains a lot."}},
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			live := &toolview.Live{}
			live.Publish(toolview.MustSet(tool("Forecast"), tool("wx__station")))
			return &middleware.Instance{Deferred: live, Facts: func() []middleware.Fact {
				return []middleware.Fact{{Surface: "station", Name: "north", Doc: "A station in the north."}}
			}}, nil
		},
	}
}

// roster is a fixed list of agents.
type roster []toolview.Spawn

func (r roster) Agent(name string) (toolview.Spawn, bool) {
	for _, s := range r {
		if s.Agent == name {
			return s, true
		}
	}
	return toolview.Spawn{}, false
}

func (r roster) List() []middleware.AgentInfo {
	var out []middleware.AgentInfo
	for _, s := range r {
		out = append(out, middleware.AgentInfo{Name: s.Agent, Doc: s.Description, Origin: "builtin"})
	}
	return out
}

// guard judges and watches calls, and brings an agent.
func guard() middleware.Middleware {
	return middleware.Middleware{
		Name: "Guard", Doc: "Judges calls.", Gates: true,
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{
				Hooks: middleware.Hooks{
					Gate: passing(func(c *toolview.Call) middleware.Verdict {
						if c.Tool().Effects.Has(toolview.OpenWorld) {
							return middleware.Verdict{Decision: middleware.Ask, Reason: "it leaves this machine"}
						}
						return middleware.Verdict{Decision: middleware.Pass}
					}),
					WrapTool: func(next middleware.ToolFunc) middleware.ToolFunc {
						return func(ctx context.Context, c *toolview.Call) (*message.Result, error) { return next(ctx, c) }
					},
				},
				Agents: roster{{Agent: "sentry", Description: "Looks around.", Body: "You look around.", Origin: "builtin"}},
			}, nil
		},
	}
}

func passing(judge func(*toolview.Call) middleware.Verdict) func(context.Context, []*toolview.Call, []middleware.Verdict) {
	return func(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
		for i, c := range calls {
			out[i] = judge(c)
		}
	}
}

// finder finds and runs deferred tools.
func finder() middleware.Middleware {
	type query struct {
		Words string `json:"words" doc:"what to look for"`
	}
	type run struct {
		Name string          `json:"name" doc:"a found tool"`
		Args json.RawMessage `json:"args,omitempty" doc:"its arguments"`
	}
	return middleware.Middleware{
		Name: "Finder", Doc: "Finds deferred tools.",
		Tools: toolview.MustSet(
			toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "FindTool"}, Doc: "Finds a tool; run it with RunTool.", Effects: toolview.Internal, Finder: true},
				func(_ context.Context, _ any, c *toolview.Call, in query) (*message.Result, error) {
					for e := range c.View().Deferred() {
						if strings.Contains(in.Words, e.Tool.Name) {
							return message.Say(e.Tool.Name + ": " + e.Tool.Doc), nil
						}
					}
					return message.Say("Nothing found."), nil
				}),
			toolview.NewForwarder(toolview.Tool{Decl: toolview.Decl{Name: "RunTool"}, Doc: "Runs a found tool.", Finder: true},
				func(in run) (toolview.Inner, error) { return toolview.Inner{Name: in.Name, Args: in.Args}, nil }),
		),
	}
}

// planner needs the notes and closes with them.
func planner() middleware.Middleware {
	return middleware.Middleware{
		Name: "Planner", Doc: "Plans by notes.", Requires: []string{"Notes"}, Off: true,
		Segments: []prompt.Segment{{ID: "40_plan", Order: 40, Text: "Plan first."}},
	}
}

func healthy() []middleware.Middleware {
	return []middleware.Middleware{notes(), planner(), weather(), guard(), finder()}
}
