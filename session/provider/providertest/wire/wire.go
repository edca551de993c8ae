// Package wire is a vendor's server for tests. It is written from the public references of the Messages API, the Responses
// API and Chat Completions, takes nothing that they refuse, and answers with streams of their shape, whole or broken. It
// listens on 127.0.0.1.
package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/metaharness/peri/prompt/message"
)

// Key is the only key that the server takes.
const Key = "sk-wire-0123456789-secret"

// API is what the server speaks.
type API string

const (
	// Messages is Anthropic's, Responses and Chat are OpenAI's.
	Messages  API = "messages"
	Responses API = "responses"
	Chat      API = "chat"
)

// Reply is one answer. What it holds is streamed in the order reasoning, text, calls.
type Reply struct {
	Reasoning, Text string
	// Hidden is reasoning that the vendor shows in no words.
	Hidden bool
	Calls  []Call
	// Stop is end, tool_use, length or refusal; "" = what follows from Calls.
	Stop  string
	Usage message.Usage

	// Status other than 0 answers with an error: the Code in the vendor's shape, and Text. RetryAfter is a header.
	Status           int
	Code, RetryAfter string
	// Fail ends the stream with an error event of that code, Cut > 0 with that many of its events; Drop says whether the
	// connection is torn, or closed as if all had been sent. Split > 0 ends it inside an event, that many bytes into it.
	Fail  string
	Cut   int
	Split int
	Drop  bool
}

// ToolSearch is the name of a call that the Responses API makes as its own tool search.
const ToolSearch = "tool_search"

// Call is one tool use of a reply.
type Call struct{ ID, Name, Args string }

// Request is one that the server took.
type Request struct {
	Header http.Header
	Body   []byte
	// Turns is how many messages or items it held.
	Turns int
	// Read and Wrote are the bytes of the longest prefixes that a cache read for it, and wrote.
	Read, Wrote int
	// Last is the text of the last message that is the user's or a tool's.
	Last string
}

// Server plays replies.
type Server struct {
	API API
	// URL is the base URL as the vendor's SDK wants it.
	URL string
	// Answer decides about each request; nil = the queue that Play fills.
	Answer func(*Request) Reply
	// Alternate refuses neighbours of one role, as the templates of some models do.
	Alternate bool
	// Lax takes requests that say what a test made wrong on purpose, and only records the problem.
	Lax bool

	t        testing.TB
	mu       sync.Mutex
	queue    []Reply
	requests []Request
	problems []string
	cache    cache
	issued   map[string]bool
}

// New starts a server that is closed when the test ends.
func New(t testing.TB, api API) *Server {
	s := &Server{API: api, t: t, issued: map[string]bool{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	if api != Messages {
		s.URL += "/v1"
	}
	return s
}

// Play queues replies.
func (s *Server) Play(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests are those so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Problems are what was wrong with the requests so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	reply, stream := s.take(r, body)
	s.mu.Unlock()
	if reply.Status != 0 {
		s.refuse(w, reply)
		return
	}
	s.play(w, reply, stream)
}

// take checks a request and picks its reply.
func (s *Server) take(r *http.Request, body []byte) (Reply, []string) {
	if !s.admitted(r) {
		return Reply{Status: http.StatusUnauthorized, Code: s.authCode(), Text: "invalid key: " + given(r)}, nil
	}
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		return Reply{Status: http.StatusOK}, nil
	}
	c := &check{server: s}
	req := &Request{Header: r.Header.Clone(), Body: body}
	var usage message.Usage
	switch s.API {
	case Messages:
		usage = c.messages(r, req)
	case Responses:
		usage = c.responses(r, req)
	case Chat:
		usage = c.chat(r, req)
	}
	s.requests = append(s.requests, *req)
	if len(c.problems) > 0 {
		s.problems = append(s.problems, c.problems...)
		if !s.Lax {
			s.t.Errorf("wire: request %d: %v\n%s", len(s.requests), c.problems, body)
		}
		return Reply{Status: http.StatusBadRequest, Code: "invalid_request_error", Text: fmt.Sprint(c.problems)}, nil
	}
	reply := Reply{Status: http.StatusTeapot, Text: "nothing was queued"}
	switch {
	case s.Answer != nil:
		reply = s.Answer(req)
	case len(s.queue) > 0:
		reply, s.queue = s.queue[0], s.queue[1:]
	}
	if reply.Usage == (message.Usage{}) {
		reply.Usage = usage
		reply.Usage.Output = 1 + len(reply.Text)/4
	}
	return reply, s.stream(reply, len(s.requests))
}

func given(r *http.Request) string {
	return r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
}

func (s *Server) admitted(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer "+Key || s.API == Messages && r.Header.Get("X-Api-Key") == Key
}

func (s *Server) authCode() string {
	if s.API == Messages {
		return "authentication_error"
	}
	return "invalid_api_key"
}

func (s *Server) refuse(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	w.WriteHeader(r.Status)
	switch s.API {
	case Messages:
		fmt.Fprintf(w, `{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_1"}`, quote(r.Code), quote(r.Text))
	default:
		fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":%s}}`, quote(r.Text), quote(r.Code))
	}
}

// Events counts the events that a reply is streamed in.
func (s *Server) Events(r Reply) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stream(r, 0))
}

func (s *Server) stream(r Reply, n int) []string {
	switch {
	case r.Status != 0:
		return nil
	case s.API == Messages:
		return s.messagesStream(r, n)
	case s.API == Responses:
		return s.responsesStream(r, n)
	}
	return s.chatStream(r, n)
}

func (s *Server) play(w http.ResponseWriter, r Reply, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := w.(http.Flusher)
	flush.Flush()
	for i, e := range events {
		if r.Cut > 0 && i == r.Cut {
			if r.Split > 0 {
				io.WriteString(w, e[:min(r.Split, len(e)-1)])
				flush.Flush()
			}
			if r.Drop {
				panic(http.ErrAbortHandler)
			}
			return
		}
		if _, err := io.WriteString(w, e); err != nil {
			return
		}
		flush.Flush()
	}
}

// id makes ids that are the same in every run.
func id(prefix string, n, i int) string { return prefix + strconv.Itoa(n) + "_" + strconv.Itoa(i) }
