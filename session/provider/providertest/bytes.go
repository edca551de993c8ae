package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

var contribution = prompt.Contribution{Owner: "Kit", Text: "TAIL: remember the milk."}

// histories are what sessions come to hold.
func histories() map[string][]*message.Message {
	use := func(id, name, args string) message.Part {
		return message.Part{Kind: message.ToolUse, Use: &message.Use{ID: id, Name: name, Args: json.RawMessage(args)}}
	}
	result := func(id string, r message.Result) message.Part {
		r.UseID = id
		return message.Part{Kind: message.ToolResult, Result: &r}
	}
	assistant := func(parts ...message.Part) *message.Message {
		return &message.Message{Role: message.Assistant, Parts: parts}
	}
	tool := func(parts ...message.Part) *message.Message {
		return &message.Message{Role: message.Tool, Parts: parts}
	}
	return map[string][]*message.Message{
		"a failed call": {assistant(use("c1", "Echo", `{"text":"x"}`)), tool(result("c1", *message.Fail("no")))},
		"a result of nothing, of structure and of blanks": {
			assistant(use("c1", "Now", ""), use("c2", "Now", "{}"), use("c3", "Now", "{}")),
			tool(result("c1", message.Result{}), result("c2", message.Result{Structured: json.RawMessage(`{"a": 1}`)}), result("c3", *message.Say(" \n"))),
		},
		"names and ids that a model made up": {
			assistant(use("id with space", "admin.tools/list", "{}"), use(strings.Repeat("x", 90), strings.Repeat("n", 90), "{}"), use("é", "", "{}")),
			tool(result("id with space", *message.Fail("no")), result(strings.Repeat("x", 90), *message.Fail("no")), result("é", *message.Fail("no"))),
		},
		"arguments that are no object": {
			assistant(use("c1", "Echo", `"{\"text\": broken"`), use("c2", "Echo", `[1, 2]`), use("c3", "Echo", `{"text":`)),
			tool(result("c1", *message.Fail("no")), result("c2", *message.Fail("no")), result("c3", *message.Fail("no"))),
		},
		"a turn that was cut off, and the next prompt": {
			assistant(use("c1", "Now", "{}")), tool(result("c1", *message.Fail("Cancelled."))), message.Of(message.User, "again"),
		},
		"two prompts and a blank one":      {message.Of(message.User, "more"), message.Of(message.User, " "), message.Of(message.User, "still more")},
		"an answer of a route, and blanks": {message.Of(message.Assistant, "There is no command /x."), message.Of(message.Assistant, "\n"), message.Of(message.User, "hm")},
		"an answer as the last word":       {message.Of(message.Assistant, "Well.")},
		"a result with an image": {
			assistant(use("c1", "Now", "{}"), use("c2", "Now", "{}")),
			tool(result("c1", message.Result{Parts: []message.Part{{Kind: message.Text, Text: "see"}, {Kind: message.Image, MIME: "image/png", Data: []byte("png")}}}), result("c2", *message.Say("b"))),
		},
	}
}

func takesHistory(t *testing.T, s Subject) {
	for name, h := range histories() {
		p := s.Play(t, Tuning{}, said)
		_, _, err := answer(t, p, request(p, h...))
		require.NoError(t, err, name)
	}
}

func takesMedia(t *testing.T, s Subject) {
	parts := []message.Part{
		{Kind: message.Text, Text: "look"},
		{Kind: message.Image, MIME: "image/png", Data: []byte("\x89PNG")},
		{Kind: message.Image, MIME: "image/jpeg", URI: "https://example.com/a.jpg"},
		{Kind: message.Image, MIME: "image/x-odd", Data: []byte("odd")},
		{Kind: message.Document, MIME: "application/pdf", Data: []byte("%PDF")},
		{Kind: message.Document, MIME: "application/pdf", URI: "https://example.com/a.pdf"},
		{Kind: message.Document, MIME: "text/markdown", Data: []byte("# Title & <tag>")},
		{Kind: message.Document, MIME: "application/zip", Data: []byte("PK")},
		{Kind: message.Document, MIME: "text/plain", Data: nil, URI: "file:///etc/passwd"},
		{Kind: message.Image},
	}
	p := s.Play(t, Tuning{}, said)
	r := request(p)
	r.Messages = []*message.Message{{Role: message.User, Parts: parts}}
	_, _, err := answer(t, p, r)
	require.NoError(t, err)
	sent := string(p.Server.Requests()[0].Body)
	for _, want := range []string{"iVBORw=="[:4], "https://example.com/a.jpg", "# Title & <tag>", "image/x-odd, which this model cannot read", "application/zip, which", "file:///etc/passwd, which this model cannot open"} {
		require.Contains(t, sent, want)
	}
}

func tail(t *testing.T, s Subject) {
	for name, h := range histories() {
		p := s.Play(t, Tuning{}, said, said)
		r := request(p, h...)
		r.Tail = []prompt.Contribution{contribution}
		_, _, err := answer(t, p, r)
		require.NoError(t, err, name)
		sent := string(p.Server.Requests()[0].Body)
		require.Equal(t, 1, strings.Count(sent, contribution.Text), name)
		require.Contains(t, p.Server.Requests()[0].Last, contribution.Text, "it is in the last message of %s", name)
		r.Tail = nil
		_, _, err = answer(t, p, r)
		require.NoError(t, err)
		require.NotContains(t, string(p.Server.Requests()[1].Body), "TAIL", "nothing keeps it")
	}
}

func sameBytes(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said, said, said)
	r := request(p)
	other := s.Play(t, Tuning{}, said)
	for range 2 {
		_, _, err := answer(t, p, r)
		require.NoError(t, err)
	}
	_, _, err := answer(t, p, request(p)) // another view of the same tools
	require.NoError(t, err)
	_, _, err = answer(t, other, request(p))
	require.NoError(t, err)
	sent := p.Server.Requests()
	for i := range sent {
		require.Equal(t, string(other.Server.Requests()[0].Body), string(sent[i].Body))
	}
}

func storedBytes(t *testing.T, s Subject) {
	for name, h := range histories() {
		p := s.Play(t, Tuning{}, said, said)
		r := request(p, h...)
		r.Messages = append(r.Messages, message.Of(message.Assistant, "<a> & \u2028 \xff"), &message.Message{Role: message.Assistant, Parts: []message.Part{
			{Kind: message.ToolUse, Use: &message.Use{ID: "z", Name: "Echo", Args: json.RawMessage(`{ "text" : "<b> & \u003cc\u003e \\u003c` + "\u2028" + `" }`)}},
		}}, &message.Message{Role: message.Tool, Parts: []message.Part{{Kind: message.ToolResult, Result: &message.Result{UseID: "z", Parts: []message.Part{{Kind: message.Text, Text: "ok"}}}}}})
		_, _, err := answer(t, p, r)
		require.NoError(t, err, name)
		kept := next(r)
		kept.View = view()
		kept.Messages = nil
		for _, m := range r.Messages {
			b, err := json.Marshal(sound(m))
			require.NoError(t, err)
			back := new(message.Message)
			require.NoError(t, json.Unmarshal(b, back))
			kept.Messages = append(kept.Messages, back)
		}
		_, _, err = answer(t, p, kept)
		require.NoError(t, err)
		sent := p.Server.Requests()
		require.Equal(t, string(sent[0].Body), string(sent[1].Body), name)
	}
}

// sound is a message with arguments that are JSON, as a session keeps them.
func sound(m *message.Message) *message.Message {
	c := *m
	c.Parts = append([]message.Part(nil), m.Parts...)
	for i := range c.Parts {
		if u := c.Parts[i].Use; u != nil && len(u.Args) > 0 && !json.Valid(u.Args) {
			v := *u
			v.Args, _ = json.Marshal(string(u.Args))
			c.Parts[i].Use = &v
		}
	}
	return &c
}

// prefix grows a conversation and looks at the bytes: without its marks, its tail and what closes it, each request begins
// the next one.
func prefix(t *testing.T, s Subject) {
	var replies []wire.Reply
	for i := range 12 {
		replies = append(replies, wire.Reply{Text: fmt.Sprintf("step %d", i), Calls: []wire.Call{{Name: "Echo", Args: `{"text":"x"}`}}})
	}
	p := s.Play(t, Tuning{}, replies...)
	r := request(p)
	for i := range replies {
		r.Tail = []prompt.Contribution{{Owner: "Kit", Text: fmt.Sprintf("TAIL %d", i)}}
		m, _, err := answer(t, p, r)
		require.NoError(t, err)
		r = next(r, m, results(m, fmt.Sprintf("result %d", i)))
		if i%4 == 3 {
			r = next(r, message.Of(message.User, "and now"))
		}
	}
	var before []byte
	for i, q := range p.Server.Requests() {
		now := plain(q.Body)
		if i > 0 {
			require.True(t, bytes.HasPrefix(now, before), "request %d does not begin as the last did:\n%s\n%s", i, before, now)
		}
		at := bytes.Index(now, []byte("TAIL "))
		require.Positive(t, at)
		before = now[:opening(now, at)]
	}
}

// plain is a request without the marks that end cached prefixes.
func plain(body []byte) []byte {
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,"prompt_cache_breakpoint":{"mode":"explicit"}`} {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	return body
}

// opening is where the message that holds the tail at begins, or where the tail does in a message that it shares.
func opening(body []byte, at int) int {
	if bytes.HasSuffix(body[:at], []byte(`\n\n`)) {
		return at - len(`\n\n`)
	}
	open := 0
	for _, start := range []string{`,{"role":"user"`, `,{"type":"message","role":"user"`} {
		open = max(open, bytes.LastIndex(body[:at], []byte(start)))
	}
	return open
}

// reads lets the server play its cache.
func reads(t *testing.T, s Subject) {
	var replies []wire.Reply
	for i := range 10 {
		r := wire.Reply{Text: fmt.Sprintf("step %d", i)}
		for range 1 + i%3*15 { // more blocks than a vendor looks back
			r.Calls = append(r.Calls, wire.Call{Name: "Now", Args: `{}`})
		}
		replies = append(replies, r)
	}
	p := s.Play(t, Tuning{}, replies...)
	r := request(p)
	for range replies {
		r.Tail = []prompt.Contribution{contribution}
		m, _, err := answer(t, p, r)
		require.NoError(t, err)
		r = next(r, m, results(m, "noon"))
	}
	sent := p.Server.Requests()
	require.Positive(t, sent[0].Wrote)
	for i := 1; i < len(sent); i++ {
		want := sent[i-1].Wrote
		if !s.Marks {
			continue
		}
		require.Equal(t, want, sent[i].Read, "request %d reads what the last one wrote", i)
		require.Greater(t, sent[i].Wrote, want)
	}
}

func schemas(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said)
	_, _, err := answer(t, p, request(p))
	require.NoError(t, err, "the server takes no union at the top and no reference")
	sent := string(p.Server.Requests()[0].Body)
	require.Contains(t, sent, textSchema, "what needs no change has none")
	require.Contains(t, sent, `must also match`, "what cannot be shown is said")
	order := []string{`"Echo"`, `"Now"`, `"Open"`, `"Tree"`}
	at := 0
	for _, name := range order {
		i := strings.Index(sent[at:], `"name":`+name)
		require.GreaterOrEqual(t, i, 0, "tools stand in the view's order")
		at += i
	}
}

func forgets(t *testing.T, s Subject) {
	p := s.Play(t, Tuning{}, said)
	gone := make(chan struct{})
	func() {
		r := request(p)
		r.Messages = []*message.Message{message.Of(message.User, "go on")}
		runtime.AddCleanup(r.Messages[0], func(struct{}) { close(gone) }, struct{}{})
		_, _, err := answer(t, p, r)
		require.NoError(t, err)
	}()
	for range 200 {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(p.Model)
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("a conversation is kept though its session is gone")
}
