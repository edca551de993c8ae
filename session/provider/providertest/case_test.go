package providertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/openai"
	"github.com/metaharness/peri/session/provider/providertest/wire"
	"github.com/metaharness/peri/session/store/memory"
)

// Case 56: the day and a file change between two turns, and the prefix does not.
func TestVolatileFactsStandBehindThePrefix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "status")
	for name, r := range rigs(t) {
		t.Run(name, func(t *testing.T) {
			r.t = t
			o := r.options()
			suite, err := middleware.NewSuite(volatile(), middleware.Middleware{
				Name: "Status", Doc: "tells the time and what a file says",
				Open: func(context.Context, middleware.Env) (*middleware.Instance, error) {
					return &middleware.Instance{Contribute: func(_ context.Context, _ *middleware.Step, t *prompt.Tail) error {
						b, err := os.ReadFile(file)
						t.Add(fmt.Sprintf("NOW %s, status %s", r.now.Format(time.DateOnly), b))
						return err
					}}, nil
				},
			}, owner("Tools", leaf("Echo", echoSchema)))
			require.NoError(t, err)
			o.Suite = suite
			s, err := session.New(t.Context(), o)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close(context.Background())) }()
			require.NoError(t, os.WriteFile(file, []byte("clean"), 0o600))
			r.turn(s, "one", wire.Reply{Text: "done"})
			require.NoError(t, os.WriteFile(file, []byte("dirty"), 0o600))
			r.now = r.now.Add(time.Hour)
			r.turn(s, "two", wire.Reply{Text: "done"})

			sent := r.server.Requests()
			require.Contains(t, string(sent[0].Body), "NOW 2026-01-01, status clean")
			require.Contains(t, string(sent[1].Body), "NOW 2026-01-02, status dirty")
			require.True(t, strings.HasPrefix(string(unmarked(sent[1].Body)), string(opened(unmarked(sent[0].Body)))))
			require.NotContains(t, string(sent[1].Body), "clean", "what was true before is not kept")
		})
	}
}

// A key is in nothing that a session tells or keeps, also when it is refused and the vendor repeats it.
func TestAKeyIsInNoEventAndInNoJournal(t *testing.T) {
	const wrong = "sk-secret-wrong-4711"
	for name, find := range map[wire.API]func(url string) (func(string) (middleware.ModelFunc, error), error){
		wire.Messages: func(url string) (func(string) (middleware.ModelFunc, error), error) {
			p, err := anthropic.New(anthropic.Options{Key: wrong, BaseURL: url})
			return p.Models, err
		},
		wire.Responses: func(url string) (func(string) (middleware.ModelFunc, error), error) {
			p, err := openai.New(openai.Options{Key: wrong, BaseURL: url})
			return p.Models, err
		},
		wire.Chat: func(url string) (func(string) (middleware.ModelFunc, error), error) {
			p, err := openai.New(openai.Options{Name: "ollama", API: openai.Chat, Key: wrong, BaseURL: url})
			return p.Models, err
		},
	} {
		t.Run(string(name), func(t *testing.T) {
			models, err := find(wire.New(t, name).URL)
			require.NoError(t, err)
			suite, err := middleware.NewSuite()
			require.NoError(t, err)
			store := &memory.Store{}
			s, err := session.New(t.Context(), session.Options{
				Blueprint: middleware.Blueprint{Suite: suite, Model: "m"}, Models: models, Store: store, ID: "s",
			})
			require.NoError(t, err)
			var all strings.Builder
			var last error
			for e, err := range s.Prompt(t.Context(), session.Text("hi")) {
				b, jsonErr := json.Marshal(e)
				require.NoError(t, jsonErr)
				fmt.Fprintf(&all, "%s %+v %#v %v\n", b, e, e, err)
				if err != nil {
					last = err
				}
			}
			require.ErrorContains(t, last, "the key was refused")
			require.NoError(t, s.Close(t.Context()))
			entries, err := store.Load(t.Context(), "s")
			require.NoError(t, err)
			b, err := json.Marshal(entries)
			require.NoError(t, err)
			fmt.Fprintf(&all, "%s %+v", b, last)
			require.Contains(t, all.String(), "invalid key", "the vendor's word is there")
			require.NotContains(t, all.String(), "4711")
		})
	}
}

func TestOptionsPrintNoKey(t *testing.T) {
	const key = "the-key-4711"
	for _, o := range []any{
		anthropic.Options{Key: key, BaseURL: "https://user:the-key-4711@host/x?key=the-key-4711"},
		openai.Options{Key: key, BaseURL: "https://user:the-key-4711@host/x?key=the-key-4711"},
	} {
		text := fmt.Sprintf("%v %+v %#v %s", o, o, o, o)
		require.Contains(t, text, "host", "presence")
		require.NotContains(t, text, "4711")
	}
	_, err := anthropic.New(anthropic.Options{Key: key, BaseURL: "host/the-key-4711", Thinking: "much", TTL: "1y"})
	require.ErrorContains(t, err, "https://HOST")
	require.ErrorContains(t, err, "adaptive")
	require.ErrorContains(t, err, "5m or 1h")
	require.NotContains(t, err.Error(), "4711")
	_, err = openai.New(openai.Options{Key: key, BaseURL: "host", API: "soap", Effort: "huge"})
	require.ErrorContains(t, err, "responses or chat")
	require.ErrorContains(t, err, `"huge"`)
}
