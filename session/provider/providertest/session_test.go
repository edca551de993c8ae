package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/providertest/wire"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

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
