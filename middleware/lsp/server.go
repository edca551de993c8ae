package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// server is one language server: not started, running, or dead and to be started anew.
type server struct {
	Server
	state *state
	path  string // of the program; "" = it cannot be started

	// turn is held by the one call that talks to the server. It is a channel, so that waiting for it can end.
	turn     chan struct{}
	once     sync.Once
	run      *running // under turn
	failures int      // under turn: starts in a row that led to nothing
	last     time.Time

	mu     sync.Mutex
	detail string
	ended  bool
	now    *running // the one to end
}

// running is one process with its connection.
type running struct {
	cmd    *exec.Cmd
	conn   *jsonrpc2.Conn
	stderr *tail
	done   chan struct{} // closed when the process has ended and its group is gone
	docs   map[string]*document
	seen   map[string]stamp
	// changed says that the last call found other files changed.
	changed bool

	mu        sync.Mutex
	published map[string]published
	came      chan struct{} // closed and made anew when diagnostics come
	busy      map[string]bool
}

// errDied is what a call gets whose server is gone.
var errDied = errors.New("the language server ended")

// maxFailures is how many starts in a row may lead to nothing before the next one has to wait.
const (
	maxFailures = 3
	pause       = 30 * time.Second
)

func (s *server) status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.detail
}

func (s *server) say(detail string) {
	s.mu.Lock()
	s.detail = detail
	s.mu.Unlock()
}

// with runs f with a server that is ready, alone. One that died meanwhile is started anew, once.
func (s *server) with(ctx context.Context, f func(context.Context, *running) error) error {
	s.once.Do(func() { s.turn = make(chan struct{}, 1) })
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for try := 0; ; try++ {
		r, err := s.ready(ctx)
		if err != nil {
			return err
		}
		err = f(ctx, r)
		switch {
		case err == nil:
			s.failures = 0
			return nil
		case !r.dead():
			return err
		}
		s.say("died; " + r.last())
		if try == 1 || ctx.Err() != nil {
			return fmt.Errorf("%w: %s", errDied, r.last())
		}
	}
}

func (r *running) dead() bool {
	select {
	case <-r.conn.DisconnectNotify():
		return true
	default:
		return false
	}
}

// last is what a server wrote last.
func (r *running) last() string {
	if text := r.stderr.text(); text != "" {
		return "its last words: " + text
	}
	return "it said nothing"
}

// ready returns the running server, or starts one.
func (s *server) ready(ctx context.Context) (*running, error) {
	if s.run != nil && !s.run.dead() {
		return s.run, nil
	}
	if s.run != nil {
		s.run.finish()
	}
	if s.failures >= maxFailures && time.Since(s.last) < pause {
		return nil, fmt.Errorf("the language server %s failed %d times in a row; it is tried again in %s", s.Name, s.failures, pause)
	}
	s.failures++
	s.last = time.Now()
	r, err := s.launch()
	if err != nil {
		s.say("failed: " + err.Error())
		return nil, err
	}
	s.run = r
	if err := s.greet(ctx, r); err != nil {
		r.finish()
		err = fmt.Errorf("the language server %s did not start: %w; %s", s.Name, err, r.last())
		s.say("failed: " + err.Error())
		return nil, err
	}
	s.say("running")
	return r, nil
}

// launch starts the process and connects to it.
func (s *server) launch() (*running, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.New("the session is closed")
	}
	cmd := exec.Command(s.path, s.Args...)
	cmd.Dir = s.state.root
	cmd.Env = os.Environ()
	for k, v := range s.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.WaitDelay = time.Second
	lead(cmd)
	r := &running{
		cmd: cmd, stderr: &tail{}, done: make(chan struct{}), docs: map[string]*document{}, seen: nil,
		published: map[string]published{}, came: make(chan struct{}), busy: map[string]bool{},
	}
	cmd.Stderr = r.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// An own pipe: the library's reader must not race with Wait closing it.
	out, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = feed
	err = cmd.Start()
	feed.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("the language server %s cannot be started: %w", s.Name, err)
	}
	s.now = r
	r.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(pipes{out, in}, frames{}),
		jsonrpc2.HandlerWithError(r.handle).SuppressErrClosed(), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	go func() {
		_ = cmd.Wait()
		kill(cmd) // whatever it left of its group
		_ = r.conn.Close()
		close(r.done)
	}()
	return r, nil
}

// pipes are a process' two ends.
type pipes struct {
	*os.File
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p pipes) Close() error { return errors.Join(p.in.Close(), p.File.Close()) }

// finish ends a process at once and waits for it.
func (r *running) finish() {
	kill(r.cmd)
	<-r.done
}

// stop ends the server: politely, then not.
func (s *server) stop(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	r := s.now
	s.mu.Unlock()
	if r == nil {
		return
	}
	polite, cancel := context.WithTimeout(ctx, s.state.opt.Grace)
	defer cancel()
	if !r.dead() {
		if r.call(polite, "shutdown", nil, nil) == nil {
			_ = r.conn.Notify(polite, "exit", nil)
		}
	}
	select {
	case <-r.done:
	case <-polite.Done():
	}
	r.finish()
	s.say("ended")
}

// call makes one request. When its time is over while the server does not even read it, the server is ended: nothing else
// would free the pipe.
func (r *running) call(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = json.RawMessage("null")
	}
	var sent atomic.Bool
	defer context.AfterFunc(ctx, func() {
		if !sent.Load() {
			kill(r.cmd)
		}
	})()
	waiter, err := r.conn.DispatchCall(ctx, method, params)
	sent.Store(true)
	if err == nil {
		err = waiter.Wait(ctx, result)
	}
	var refused *jsonrpc2.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return fmt.Errorf("the language server refuses: %.500s", refused.Message)
	}
	return err
}

func (r *running) notify(ctx context.Context, method string, params any) error {
	var sent atomic.Bool
	defer context.AfterFunc(ctx, func() {
		if !sent.Load() {
			kill(r.cmd)
		}
	})()
	err := r.conn.Notify(ctx, method, params)
	sent.Store(true)
	return err
}

// greet is the protocol's beginning.
func (s *server) greet(ctx context.Context, r *running) error {
	root := uriOf(s.state.root)
	locates := map[string]any{"linkSupport": true}
	params := map[string]any{
		"processId": os.Getpid(), "rootUri": root, "clientInfo": map[string]any{"name": "peri"},
		"workspaceFolders": []any{map[string]any{"uri": root, "name": filepath.Base(s.state.root)}},
		"capabilities": map[string]any{
			"general":   map[string]any{"positionEncodings": []string{"utf-16"}},
			"window":    map[string]any{"workDoneProgress": true},
			"workspace": map[string]any{"workspaceFolders": true, "configuration": true, "symbol": map[string]any{}, "didChangeWatchedFiles": map[string]any{}},
			"textDocument": map[string]any{
				"synchronization": map[string]any{}, "definition": locates, "references": map[string]any{},
				"hover":              map[string]any{"contentFormat": []string{"markdown", "plaintext"}},
				"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
				"publishDiagnostics": map[string]any{"versionSupport": true},
			},
		},
	}
	var result json.RawMessage
	if err := r.call(ctx, "initialize", params, &result); err != nil {
		return err
	}
	return r.notify(ctx, "initialized", map[string]any{})
}

// handle answers what a server asks and takes what it tells. A server may ask for nothing that changes a file.
func (r *running) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	params := json.RawMessage("null")
	if req.Params != nil {
		params = *req.Params
	}
	switch req.Method {
	case "textDocument/publishDiagnostics":
		var p published
		if json.Unmarshal(params, &p) == nil {
			r.mu.Lock()
			r.published[p.URI] = p
			close(r.came)
			r.came = make(chan struct{})
			r.mu.Unlock()
		}
	case "$/progress":
		var p struct {
			Token json.RawMessage `json:"token"`
			Value struct{ Kind string }
		}
		if json.Unmarshal(params, &p) == nil {
			r.mu.Lock()
			if p.Value.Kind == "end" {
				delete(r.busy, string(p.Token))
			} else {
				r.busy[string(p.Token)] = true
			}
			close(r.came)
			r.came = make(chan struct{})
			r.mu.Unlock()
		}
	case "workspace/configuration":
		var p struct{ Items []any }
		_ = json.Unmarshal(params, &p)
		return make([]any, min(len(p.Items), 1000)), nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false}, nil
	case "workspace/workspaceFolders", "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest":
		return nil, nil
	default:
		if !req.Notif {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported"}
		}
	}
	return nil, nil
}

// settled waits until the server is done with what it told it is busy with, but no longer than d.
func (r *running) settled(ctx context.Context, d time.Duration) {
	r.until(ctx, d, func() bool { return len(r.busy) == 0 })
}

// until waits for something that news may bring. is runs under the lock.
func (r *running) until(ctx context.Context, d time.Duration, is func() bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		r.mu.Lock()
		ok, news := is(), r.came
		r.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-news:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		case <-r.conn.DisconnectNotify():
			return false
		}
	}
}

// tail keeps the last of what a server writes beside the protocol.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 600

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-maxTail):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-maxTail):]...)
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.buf), "")), " ")
}
