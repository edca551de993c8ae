package models_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/models"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

// asked asks a model one thing.
func asked(t *testing.T, f *models.Factory, name string) error {
	t.Helper()
	m, err := f.Models(name)
	require.NoError(t, err)
	_, err = m(t.Context(), &middleware.Request{Messages: []*message.Message{message.Of(message.User, "hi")}}, func(message.Event) {})
	return err
}

func TestEachVendorIsReachedByItsName(t *testing.T) {
	for name, c := range map[string]struct {
		api wire.API
		env func(url string) map[string]string
		set func(url string) models.Provider
	}{
		"anthropic/claude": {wire.Messages, func(url string) map[string]string {
			return map[string]string{"ANTHROPIC_API_KEY": wire.Key, "ANTHROPIC_BASE_URL": url}
		}, nil},
		"openai/gpt-5.6": {wire.Responses, func(url string) map[string]string {
			return map[string]string{"OPENAI_API_KEY": wire.Key, "OPENAI_BASE_URL": url}
		}, nil},
		"ollama/llama3:8b": {wire.Chat, func(url string) map[string]string {
			return map[string]string{"OLLAMA_API_KEY": wire.Key, "OLLAMA_HOST": strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")}
		}, nil},
		"openai-compatible/org/model": {wire.Chat, func(string) map[string]string {
			return map[string]string{"MY_KEY": wire.Key, "OPENAI_API_KEY": "sk-not-this-one"}
		}, func(url string) models.Provider { return models.Provider{BaseURL: url, KeyEnv: "MY_KEY"} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(t, c.api)
			s.Play(wire.Reply{Text: "hello"})
			env := c.env(s.URL)
			f := &models.Factory{Env: func(n string) string { return env[n] }}
			vendor, model, _ := strings.Cut(name, "/")
			if c.set != nil {
				f.Providers = map[string]models.Provider{vendor: c.set(s.URL)}
			}
			require.NoError(t, asked(t, f, name))
			require.Contains(t, string(s.Requests()[0].Body), `{"model":"`+model+`"`)
		})
	}
}

// catcher is a server that keeps the headers it is sent.
func catcher(t *testing.T) (url string, sent func() string) {
	var mu sync.Mutex
	var all strings.Builder
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&all, r.URL, r.Header)
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(h.Close)
	return h.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

func TestOpenAIsKeyGoesToNoOtherServer(t *testing.T) {
	url, sent := catcher(t)
	env := map[string]string{"OPENAI_API_KEY": "sk-openai-key", "ANTHROPIC_API_KEY": "sk-ant-key", "ANTHROPIC_AUTH_TOKEN": "sk-ant-token"}
	for n, v := range env {
		t.Setenv(n, v) // what an SDK might read by itself
	}
	f := &models.Factory{
		Env:       func(n string) string { return env[n] },
		Providers: map[string]models.Provider{"openai-compatible": {BaseURL: url + "/v1"}, "ollama": {BaseURL: url + "/v1"}},
	}
	for _, name := range []string{"openai-compatible/m", "ollama/m"} {
		require.ErrorIs(t, asked(t, f, name), message.ErrBadRequest)
	}
	require.Equal(t, 2, strings.Count(sent(), "/v1/chat/completions"))
	require.NotContains(t, sent(), "sk-")

	// Presence: beside OpenAI's base URL it is meant for that server.
	env["OPENAI_BASE_URL"] = url + "/v1"
	require.Error(t, asked(t, &models.Factory{Env: f.Env}, "openai-compatible/m"))
	require.Contains(t, sent(), "Bearer sk-openai-key")
	require.NotContains(t, sent(), "sk-ant")
}

func TestOllamasHostIsReadAsOllamaReadsIt(t *testing.T) {
	url, sent := catcher(t)
	host := strings.TrimPrefix(url, "http://")
	_, port, _ := strings.Cut(host, ":")
	for _, h := range []string{host, url, url + "/", ":" + port, "0.0.0.0:" + port, url + "/v1"} {
		f := &models.Factory{Env: func(n string) string { return map[string]string{"OLLAMA_HOST": h}[n] }}
		before := strings.Count(sent(), "/v1/chat/completions ")
		require.Error(t, asked(t, f, "ollama/m"))
		require.Equal(t, before+1, strings.Count(sent(), "/v1/chat/completions "), h)
	}
}

func TestCheckSpendsNothing(t *testing.T) {
	var paths []string
	status := http.StatusOK
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, `{"data":[],"error":{"message":"bad key sk-1234","type":"authentication_error"}}`)
	}))
	defer h.Close()
	env := map[string]string{
		"ANTHROPIC_API_KEY": "sk-1234", "ANTHROPIC_BASE_URL": h.URL, "OPENAI_API_KEY": "sk-1234", "OPENAI_BASE_URL": h.URL + "/v1",
		"OLLAMA_HOST": h.URL,
	}
	f := &models.Factory{Env: func(n string) string { return env[n] }}
	all := []string{"anthropic/m", "openai/m", "ollama/m", "openai-compatible/m"}
	for _, name := range all {
		require.NoError(t, f.Check(t.Context(), name))
	}
	status = http.StatusUnauthorized
	for _, name := range all {
		err := f.Check(t.Context(), name)
		require.ErrorIs(t, err, message.ErrAuth)
		require.NotContains(t, err.Error(), "1234")
	}
	for _, p := range paths {
		require.Equal(t, "GET /v1/models", p)
	}
	require.NoError(t, f.Check(t.Context(), "offline"))
	require.Error(t, f.Check(t.Context(), "elsewhere/m"))
}

func TestNoKeyFollowsARedirect(t *testing.T) {
	url, sent := catcher(t)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, url+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer h.Close()
	env := map[string]string{
		"ANTHROPIC_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-1", "ANTHROPIC_BASE_URL": h.URL, "OPENAI_BASE_URL": h.URL + "/v1",
	}
	for _, name := range []string{"anthropic/m", "openai/m", "openai-compatible/m"} {
		f := &models.Factory{Env: func(n string) string { return env[n] }}
		err := asked(t, f, name)
		require.ErrorIs(t, err, message.ErrBadRequest)
		require.ErrorContains(t, err, "base URL")
	}
	require.Empty(t, sent())
}
