package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// web is what one connection over HTTP has open. It sends the server's headers to the server alone, and its end is the end
// of every request.
type web struct {
	life    context.Context
	stop    context.CancelFunc
	base    *http.Transport
	at      *url.URL
	headers map[string]string
	refused atomic.Int32 // the status with which the server refused the latest request as unauthorised
}

// reach prepares a connection over HTTP.
func (s *server) reach(def *Server) (*web, sdk.Transport, error) {
	at, err := url.Parse(def.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, nil, fmt.Errorf("%w: url is no http or https address", errPermanent)
	}
	w := &web{at: at, headers: def.Headers, base: http.DefaultTransport.(*http.Transport).Clone()}
	w.life, w.stop = context.WithCancel(context.Background())
	context.AfterFunc(w.life, w.base.CloseIdleConnections)
	t := &sdk.StreamableClientTransport{
		Endpoint: def.URL, HTTPClient: &http.Client{Transport: w}, MaxEventSize: maxMessage,
	}
	if def.OAuth != nil {
		if t.OAuthHandler, err = s.authorise(def.OAuth, w); err != nil {
			w.stop()
			return nil, nil, err
		}
	}
	return w, t, nil
}

// RoundTrip is for the SDK's client.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(w.life, cancel)
	r = r.Clone(ctx)
	home := r.URL.Scheme == w.at.Scheme && r.URL.Host == w.at.Host
	if home {
		for name, value := range w.headers {
			r.Header.Set(name, value)
		}
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	if home {
		w.refused.Store(0)
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			w.refused.Store(int32(resp.StatusCode))
		}
	}
	resp.Body = &body{resp.Body, func() { stop(); cancel() }}
	return resp, nil
}

// explain says what a refused request needs.
func (w *web) explain(err error) error {
	err = w.discreet(err)
	status := w.refused.Load()
	if status == 0 {
		return err
	}
	return fmt.Errorf("%w: the server refused the request (%d): give it a token in headers, or set oauth: %w", errPermanent, status, err)
}

// discreet keeps what the address may hold of a secret, its user and its query, out of what people are told.
func (w *web) discreet(err error) error {
	text := err.Error()
	for _, secret := range []string{w.at.RawQuery, w.at.User.String()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	if text == err.Error() {
		return err
	}
	return hushed{text, err}
}

// hushed is an error with another text.
type hushed struct {
	text string
	error
}

func (h hushed) Error() string { return h.text }
func (h hushed) Unwrap() error { return h.error }

// body is a response's body whose end lets go of what its request held.
type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// expanded is the server with its environment variables filled in.
func (s *Server) expanded() (Server, error) {
	out := *s
	var errs []error
	fill := func(where, text string) string {
		v, err := expand(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
		return v
	}
	out.Command, out.URL = fill("command", s.Command), fill("url", s.URL)
	out.Args = nil
	for _, a := range s.Args {
		out.Args = append(out.Args, fill("args", a))
	}
	out.Env, out.Headers = map[string]string{}, map[string]string{}
	for _, n := range slices.Sorted(maps.Keys(s.Env)) {
		out.Env[n] = fill("env "+n, s.Env[n])
	}
	for _, n := range slices.Sorted(maps.Keys(s.Headers)) {
		out.Headers[n] = fill("header "+n, s.Headers[n])
	}
	return out, errors.Join(errs...)
}

// expand fills ${NAME} and ${NAME:-word} in. Any other $ is itself.
func expand(text string) (string, error) {
	var b strings.Builder
	var errs []error
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), errors.Join(errs...)
		}
		name, after, closed := strings.Cut(rest, "}")
		bare, word, fallback := strings.Cut(name, ":-")
		if !closed || !variable(bare) {
			b.WriteString("${")
			text = rest
			continue
		}
		text = after
		value, set := os.LookupEnv(bare)
		switch {
		case set && (value != "" || !fallback):
			b.WriteString(value)
		case fallback:
			b.WriteString(word)
		default:
			errs = append(errs, fmt.Errorf("the environment variable %s is not set", bare))
		}
	}
}

func variable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return name != ""
}
