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

// TestNoCachedByteChangesInThirtyTurns takes turns with calls, children, forks, a deferred tool, a pause and a resume.
func TestNoCachedByteChangesInThirtyTurns(t *testing.T) {
	const paused, resumed, turns = 12, 20, 30
	for name, r := range rigs(t) {
		t.Run(name, func(t *testing.T) {
			r.t = t
			o := r.options()
			s, err := session.New(t.Context(), o)
			require.NoError(t, err)
			at := 0
			for i := 1; i <= turns; i++ {
				switch i {
				case 8: // a server came back, its tools in another order
					r.remote.Publish(toolview.MustSet(leaf("mcp__b__y", echoSchema), leaf("mcp__a__x", echoSchema)))
				case paused:
					require.NoError(t, s.Pause("Extra"))
					at = len(r.who)
				case resumed:
					for c, n := range r.last() {
						if c == "main" {
							r.who[n] = "main, resumed"
						}
					}
					r.life = ", resumed"
					require.NoError(t, s.Close(t.Context()))
					r.store = stored(t, r.store)
					o = r.options()
					s, err = session.Resume(t.Context(), o, "main")
					require.NoError(t, err)
				}
				r.play(s, i)
				r.now = r.now.Add(20 * time.Minute)
			}
			require.NoError(t, s.Close(t.Context()))
			r.stable(at)
			r.quiet()
		})
	}
}

// stored is a store whose journals have been through JSON.
func stored(t *testing.T, from *memory.Store) *memory.Store {
	ids, err := from.List(t.Context())
	require.NoError(t, err)
	to := &memory.Store{}
	for _, id := range ids {
		entries, err := from.Load(t.Context(), id)
		require.NoError(t, err)
		b, err := json.Marshal(entries)
		require.NoError(t, err)
		require.NotContains(t, string(b), wire.Key, "no key is stored")
		require.NotContains(t, string(b), "TAIL", "and no tail")
		var back []session.Entry
		require.NoError(t, json.Unmarshal(b, &back))
		require.NoError(t, to.Append(t.Context(), id, back...))
	}
	return to
}

// stable requires that every request of a conversation begins with the one before it, but for the tools where main's
// was paused, and that the vendor's cache reads what was written.
func (r *rig) stable(paused int) {
	t := r.t
	sent := r.server.Requests()
	require.Len(t, sent, len(r.who))
	last := map[string]int{}
	broken := 0
	for i, q := range sent {
		who := r.who[i]
		before, known := last[who]
		last[who] = i
		require.NotZero(t, q.Turns)
		if !known {
			continue
		}
		if who == "main" && known && before < paused && i >= paused {
			broken++
			require.NotEqual(t, array(sent[before].Body), array(q.Body), "the tools did change")
			require.True(t, bytes.HasPrefix(rest(q.Body), opened(rest(sent[before].Body))), "and nothing else")
			continue
		}
		require.True(t, bytes.HasPrefix(unmarked(q.Body), opened(unmarked(sent[before].Body))),
			"request %d of %s:\n%s\n%s", i, who, sent[before].Body, q.Body)
		if r.server.API != wire.Chat { // whose tail shares a message with the prompt
			require.GreaterOrEqual(t, q.Read, sent[before].Wrote, "request %d of %s reads what was written before", i, who)
		}
	}
	require.Equal(t, 1, broken, "the cache was rewritten once")
	require.GreaterOrEqual(t, len(last), 11, "children had conversations of their own")
}

// last is the last request of each conversation.
func (r *rig) last() map[string]int {
	last := map[string]int{}
	for i, who := range r.who {
		last[who] = i
	}
	return last
}

// quiet requires that no request shows a key or a mark in what a model reads.
func (r *rig) quiet() {
	for _, q := range r.server.Requests() {
		require.NotContains(r.t, string(q.Body), wire.Key)
		require.NotContains(r.t, string(q.Body), "ends_cache")
		require.Contains(r.t, string(q.Body), "It began on 2026-01-01.")
		if !r.native {
			require.NotContains(r.t, array(q.Body), "get_weather", "deferred tools are in no array")
		}
	}
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

// Case 55: a server that goes and comes back has its tools where they were.
func TestReconnectedToolsKeepTheirPlaces(t *testing.T) {
	r := rigs(t)["Anthropic"]
	r.t = t
	s, err := session.New(t.Context(), r.options())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	r.turn(s, "one", wire.Reply{Text: "done"})
	r.remote.Publish(toolview.MustSet(leaf("mcp__b__y", echoSchema)))
	r.turn(s, "two", wire.Reply{Text: "done"})
	r.remote.Publish(toolview.MustSet(leaf("mcp__b__y", echoSchema), leaf("mcp__a__x", echoSchema)))
	r.turn(s, "three", wire.Reply{Text: "done"})
	sent := r.server.Requests()
	require.Contains(t, array(sent[0].Body), "mcp__a__x")
	require.NotContains(t, array(sent[1].Body), "mcp__a__x")
	require.Equal(t, array(sent[0].Body), array(sent[2].Body))
}

// Case 23: what a search shows of a tool is all of its schema.
func TestASearchShowsTheWholeSchema(t *testing.T) {
	for name, r := range rigs(t) {
		t.Run(name, func(t *testing.T) {
			r.t = t
			s, err := session.New(t.Context(), r.options())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close(context.Background())) }()
			r.play(s, 3)
			sent := r.server.Requests()
			shown := string(sent[len(sent)-1].Body)
			if !r.native {
				shown = strings.ReplaceAll(shown, `\"`, `"`)
			}
			require.Contains(t, shown, weatherSchema)
		})
	}
}

// A session keeps the same calls whichever way its model found and ran a deferred tool.
func TestNativeSearchLeavesTheSameTranscript(t *testing.T) {
	all := rigs(t)
	transcript := func(name string) (string, string) {
		r := all[name]
		r.t = t
		s, err := session.New(t.Context(), r.options())
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		r.play(s, 3)
		var uses []string
		for _, m := range s.Messages() {
			for _, u := range m.Uses() {
				uses = append(uses, fmt.Sprintf("%s %s %s", u.Name, u.Args, u.Tool))
			}
		}
		last := r.server.Requests()
		return strings.Join(uses, "\n"), string(last[len(last)-1].Body)
	}
	for vendor, reference := range map[string]string{"Anthropic": `"tool_reference","tool_name":"get_weather"`, "OpenAI": `"type":"tool_search_output"`} {
		proxied, plainBody := transcript(vendor)
		native, body := transcript(vendor + ", native search")
		require.Equal(t, proxied, native)
		require.Contains(t, body, reference)
		require.Contains(t, body, `"defer_loading":true`)
		require.NotContains(t, body, `"name":"ExecuteExtraTool"`, "the model calls by name")
		require.NotContains(t, plainBody, `"defer_loading"`)
		require.Contains(t, plainBody, `"name":"ExecuteExtraTool"`)
	}
}
