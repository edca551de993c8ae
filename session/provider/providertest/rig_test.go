package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/toolsearch"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/openai"
	"github.com/metaharness/peri/session/provider/providertest/wire"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

const weatherSchema = `{"type":"object","properties":{"task_id":{"type":"string"},"where":{"type":"string"}},"required":["task_id"]}`

func leaf(name, schema string) toolview.Tool {
	return toolview.Tool{
		Decl: toolview.Decl{Name: name}, Doc: "Tells of " + name + ".", Schema: json.RawMessage(schema),
		Run: func(_ context.Context, c *toolview.Call) (*message.Result, error) {
			return message.Say(c.Name() + " got " + string(c.Args())), nil
		},
	}
}

const echoSchema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

func owner(name string, tools ...toolview.Tool) middleware.Middleware {
	return middleware.Middleware{
		Name: name, Doc: "owns tools", Tools: toolview.MustSet(tools...),
		Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{}, nil
		},
	}
}

// spawner delegates to a helper, or to a fork.
func spawner() middleware.Middleware {
	type in struct {
		Fork bool `json:"fork,omitempty" doc:"to oneself"`
	}
	return owner("Spawner", toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Spawn"}, Doc: "Delegates."},
		func(_ context.Context, _ any, _ *toolview.Call, in in, h toolview.Host) (*message.Result, error) {
			if in.Fork {
				return h.Spawn(toolview.Spawn{Fork: true, Prompt: "you are a fork"})
			}
			return h.Spawn(toolview.Spawn{Agent: "helper", Body: "You help.", Prompt: "help me"})
		}))
}

// volatile adds what differs at every step, behind the last message.
func volatile() middleware.Middleware {
	var mu sync.Mutex
	n := 0
	return middleware.Middleware{
		Name: "Volatile", Doc: "tells what changes",
		Segments: []prompt.Segment{
			{ID: "intro", Text: "You work, and <never> stop."},
			{ID: "day", Zone: prompt.Live, Text: "It began on {{day}}.", Vars: []string{"day"}},
		},
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			return &middleware.Instance{
				Vars: map[string]string{"day": env.Now().Format(time.DateOnly)},
				Contribute: func(_ context.Context, step *middleware.Step, t *prompt.Tail) error {
					mu.Lock()
					defer mu.Unlock()
					n++
					t.Add(fmt.Sprintf("TAIL %s: tick %d.", step.Session, n))
					return nil
				},
			}, nil
		},
	}
}

// rig is a session against a vendor's server.
type rig struct {
	t      *testing.T
	server *wire.Server
	native bool
	find   func() func(string) (middleware.ModelFunc, error)
	name   string
	now    time.Time
	store  *memory.Store
	remote *toolview.Live

	mu    sync.Mutex
	plans map[string][]wire.Reply // by conversation
	who   []string                // of each request
	life  string                  // tells the children of a resumed session apart
}

var tailOf = regexp.MustCompile(`TAIL ([^:]+): tick`)

func (r *rig) answer(q *wire.Request) wire.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := tailOf.FindAllSubmatch(q.Body, -1)
	if len(m) != 1 {
		r.t.Errorf("the tail is there %d times: %s", len(m), q.Body)
		return wire.Reply{Text: "?"}
	}
	who := string(m[0][1])
	r.who = append(r.who, who+r.life)
	kind := who
	if who != "main" {
		kind = "helper"
		if bytes.Contains(q.Body, []byte("you are a fork")) {
			kind = "fork"
		}
	}
	if len(r.plans[kind]) == 0 {
		return wire.Reply{Text: kind + " is done"}
	}
	next := r.plans[kind][0]
	r.plans[kind] = r.plans[kind][1:]
	return next
}

func (r *rig) options() session.Options {
	r.t.Helper()
	suite, err := middleware.NewSuite(volatile(), owner("Tools", leaf("Echo", echoSchema)), owner("Extra", leaf("Extra", echoSchema)),
		spawner(), middleware.Middleware{
			Name: "Remote", Doc: "has servers", Dynamic: "mcp__",
			Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
				return &middleware.Instance{Tools: r.remote}, nil
			},
		},
		middleware.Middleware{Name: "Weather", Doc: "knows the weather", Deferred: toolview.MustSet(leaf("get_weather", weatherSchema))},
		toolsearch.New())
	require.NoError(r.t, err)
	return session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Model: r.name, Root: r.t.TempDir()},
		ID:        "main", Models: r.find(), Store: r.store, Now: func() time.Time { return r.now },
	}
}

func (r *rig) turn(s *session.Session, text string, plan ...wire.Reply) {
	r.t.Helper()
	r.mu.Lock()
	r.plans["main"] = plan
	r.mu.Unlock()
	for _, err := range s.Prompt(r.t.Context(), session.Text(text)) {
		require.NoError(r.t, err)
	}
	require.Empty(r.t, r.plans["main"], "all that was planned was asked for")
}

func call(name, args string) wire.Reply {
	return wire.Reply{Calls: []wire.Call{{Name: name, Args: args}}}
}

// play takes the i-th turn.
func (r *rig) play(s *session.Session, i int) {
	r.t.Helper()
	done := wire.Reply{Text: fmt.Sprintf("turn %d is done", i)}
	var plan []wire.Reply
	switch i % 6 {
	case 1:
		plan = []wire.Reply{call("Echo", `{"text":"<a> & \"b\""}`)}
	case 2:
		plan = []wire.Reply{{Reasoning: "Thinking.", Text: "Three at once.", Calls: []wire.Call{
			{Name: "Echo", Args: `{"text":"1"}`}, {Name: "mcp__a__x", Args: `{"text":"2"}`}, {Name: "Nope", Args: `{}`},
		}}}
	case 3:
		search, run := call(toolsearch.SearchTool, `{"query":"select:get_weather"}`), call(toolsearch.ExecuteTool, `{"name":"get_weather","arguments":{"task_id":"t-9"}}`)
		if r.native {
			run = call("get_weather", `{"task_id":"t-9"}`)
			if r.server.API == wire.Responses {
				search.Calls[0].Name = wire.ToolSearch
			}
		}
		plan = []wire.Reply{search, run}
	case 4:
		r.plans["helper"] = []wire.Reply{call("Echo", `{"text":"help"}`), call("Echo", `{"text":"help"}`)}
		plan = []wire.Reply{call("Spawn", `{}`)}
	case 5:
		r.plans["fork"] = []wire.Reply{call("Echo", `{"text":"fork"}`)}
		plan = []wire.Reply{call("Spawn", `{"fork":true}`)}
	}
	r.turn(s, fmt.Sprintf("this is turn %d", i), append(plan, done)...)
	if i%6 == 3 {
		require.Contains(r.t, text(s), `get_weather got {"task_id":"t-9"}`, "what a deferred tool is sent arrives")
	}
}

func text(s *session.Session) string {
	var b strings.Builder
	for _, m := range s.Messages() {
		for _, res := range m.Results() {
			b.WriteString(res.Text() + "\n")
		}
	}
	return b.String()
}

func rigs(t *testing.T) map[string]*rig {
	all := map[string]*rig{}
	add := func(name string, api wire.API, native bool, model string, find func(url string) func(string) (middleware.ModelFunc, error)) {
		r := &rig{
			server: wire.New(t, api), native: native, name: model, store: &memory.Store{}, plans: map[string][]wire.Reply{},
			now: time.Date(2026, 1, 1, 23, 50, 0, 0, time.UTC), remote: &toolview.Live{},
		}
		r.remote.Publish(toolview.MustSet(leaf("mcp__a__x", echoSchema), leaf("mcp__b__y", echoSchema)))
		r.server.Answer = r.answer
		// Each session has adapters of its own, which remember nothing.
		r.find = func() func(string) (middleware.ModelFunc, error) { return find(r.server.URL) }
		all[name] = r
	}
	for _, native := range []bool{false, true} {
		suffix := map[bool]string{true: ", native search"}[native]
		add("Anthropic"+suffix, wire.Messages, native, "anthropic/claude-wire", func(url string) func(string) (middleware.ModelFunc, error) {
			p, err := anthropic.New(anthropic.Options{Key: wire.Key, BaseURL: url, NativeSearch: native})
			require.NoError(t, err)
			return p.Models
		})
		add("OpenAI"+suffix, wire.Responses, native, "openai/gpt-5.6", func(url string) func(string) (middleware.ModelFunc, error) {
			p, err := openai.New(openai.Options{Key: wire.Key, BaseURL: url, NativeSearch: native})
			require.NoError(t, err)
			return p.Models
		})
	}
	add("a compatible server", wire.Chat, false, "ollama/wire", func(url string) func(string) (middleware.ModelFunc, error) {
		p, err := openai.New(openai.Options{Name: "ollama", API: openai.Chat, Key: wire.Key, BaseURL: url})
		require.NoError(t, err)
		return p.Models
	})
	return all
}

func unmarked(body []byte) []byte {
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,"prompt_cache_breakpoint":{"mode":"explicit"}`} {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	return body
}

// opened is a request up to its tail.
func opened(body []byte) []byte {
	at := bytes.Index(body, []byte("TAIL "))
	if bytes.HasSuffix(body[:at], []byte(`\n\n`)) {
		return body[:at-len(`\n\n`)]
	}
	for _, start := range []string{`,{"role":"user","content":[{"type":"text","text":"`, `,{"type":"message","role":"user","content":[{"type":"input_text","text":"`, `,{"role":"user","content":"`} {
		if bytes.HasSuffix(body[:at], []byte(start)) {
			return body[:at-len(start)]
		}
	}
	panic("the tail stands in an odd place: " + string(body[max(at-80, 0):at]))
}

// array is the tools of a request, rest what stands behind them.
func array(body []byte) string {
	body = unmarked(body)
	from := bytes.Index(body, []byte(`"tools":[`))
	return string(body[from : len(body)-len(rest(body))])
}

func rest(body []byte) []byte {
	body = unmarked(body)
	for _, next := range []string{`,"system":[`, `,"input":[`, `,"messages":[`} {
		if i := bytes.Index(body, []byte(next)); i >= 0 {
			return body[i:]
		}
	}
	panic("a request without messages")
}
