// Package mcp connects servers of the Model Context Protocol: their tools become tools, their prompts slash commands, their
// resources something to list and read, and what they ask a person reaches one.
//
// A server that is slow, fails or dies never holds a session up: it is told of, tried again, and what it offered last stays.
// What it offers and cannot be used is left out alone. One limit: a server over HTTP that lists an entry with a field of a
// wrong type, such as a number for a name, loses that whole list; a process loses the entry.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the middleware's key.
const Name = "McpMiddleware"

// Options are the servers and the limits that hold for them. The zero value has no server.
type Options struct {
	Servers []Server `json:"servers,omitempty"`
	// Budget is how long a session waits for its servers to start; 0 = 5 s. Who comes later is there from the next step on.
	Budget time.Duration `json:"budget,omitempty"`
	// Start is how long one attempt to connect may take before it is given up and made again; 0 = 60 s.
	Start time.Duration `json:"start,omitempty"`
	// Grace is how long a server may take to end by itself before it is made to; 0 = 2 s.
	Grace time.Duration `json:"grace,omitempty"`
	// OutputCap is how many bytes of text of one result a model is shown; 0 = 40,000. Media do not count.
	OutputCap int `json:"output_cap,omitempty"`
	// Outputs is the folder that keeps what was longer, the newest 200 of all sessions; "" = a temporary one that goes with
	// the session.
	Outputs string `json:"outputs,omitempty"`
}

// Server is one server: either Command or URL is set. In Command, Args, Env, URL and Headers, ${NAME} stands for an
// environment variable, and ${NAME:-word} for word where that is not set.
type Server struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env is added to the few variables that a server inherits; Headers go with every request to URL. Neither is stored
	// with a session: a resumed one takes them from its program's options.
	Env     map[string]string `json:"-"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"-"`
	OAuth   *OAuth            `json:"oauth,omitempty"`
	// Disabled leaves it unconnected.
	Disabled bool `json:"disabled,omitempty"`
	// Trusted lets its annotations say what its tools do.
	Trusted bool `json:"trusted,omitempty"`
	// Direct selects its tools that are not deferred. Allow narrows what it offers: every list must have a tool; nil = no
	// list. Deny always wins. A word or glob is about its own names for its tools.
	Direct []toolview.Selector   `json:"direct,omitempty"`
	Allow  [][]toolview.Selector `json:"allow,omitempty"`
	Deny   []toolview.Selector   `json:"deny,omitempty"`
	// Timeout is how long a call may go on without a word; 0 = 10 minutes.
	Timeout time.Duration `json:"timeout,omitempty"`
	Origin  meta.Origin   `json:"origin,omitzero"`
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&o.Budget, 5*time.Second)
	set(&o.Start, time.Minute)
	set(&o.Grace, 2*time.Second)
	if o.OutputCap <= 0 {
		o.OutputCap = 40_000
	}
	return o
}

// Check says what is wrong with the options, all of it.
func (o Options) Check() error {
	var errs []error
	seen := map[string]bool{}
	for i := range o.Servers {
		s := &o.Servers[i]
		fail := func(text, write string) {
			errs = append(errs, &meta.Error{Origin: s.Origin, Key: "mcp.servers." + s.Name, Message: text, Suggestion: write})
		}
		switch {
		case strings.TrimSpace(s.Name) == "":
			fail("a server without a name", "name it")
		case seen[s.Name]:
			fail("two servers have this name", "rename one")
		case s.Command == "" && s.URL == "" && !s.Disabled:
			fail("it has neither a command nor a url", "write one of them")
		case s.Command != "" && s.URL != "":
			fail("it has both a command and a url", "keep one of them")
		}
		seen[s.Name] = true
		if _, err := newGate(s); err != nil {
			errs = append(errs, err)
		}
		if err := s.OAuth.check(); err != nil {
			fail(err.Error(), "")
		}
	}
	return errors.Join(errs...)
}

// frozen is the policy of a session: the options without what may be secret. Needs names, by server, the variables and
// headers that it had.
type frozen struct {
	Options
	Needs map[string][]string `json:"needs,omitempty"`
}

// New makes the middleware. What Check refuses is an error.
func New(o Options) (middleware.Middleware, error) {
	if err := o.Check(); err != nil {
		return middleware.Middleware{}, fmt.Errorf("mcp: %w", err)
	}
	o.Servers = slices.Clone(o.Servers)
	slices.SortFunc(o.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	f := frozen{Options: o}
	for i := range o.Servers {
		if names := o.Servers[i].secrets(); len(names) > 0 {
			if f.Needs == nil {
				f.Needs = map[string][]string{}
			}
			f.Needs[o.Servers[i].Name] = names
		}
	}
	policy, err := json.Marshal(f)
	if err != nil {
		return middleware.Middleware{}, fmt.Errorf("mcp: %w", err)
	}
	return middleware.Middleware{
		Name:        Name,
		Doc:         "Connects servers of the Model Context Protocol: their tools, prompts and resources.",
		Dynamic:     prefix,
		RouteFamily: true,
		Routes:      []middleware.RouteDecl{command()},
		Policy:      policy,
		Open: func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
			return open(ctx, env, o.Servers)
		},
	}, nil
}

func command() middleware.RouteDecl {
	return middleware.RouteDecl{Name: "mcp", Doc: "The servers: which are there, and what they offer.", Args: "[NAME | reconnect NAME]"}
}

func (s *Server) secrets() []string {
	return append(slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers))...)
}

// thaw reads the policy of a session and gives its servers what was not stored with it: from the options of the program,
// for a server that is still the same.
func thaw(policy json.RawMessage, given []Server) (Options, map[string]string, error) {
	var f frozen
	if len(policy) > 0 {
		if err := json.Unmarshal(policy, &f); err != nil {
			return Options{}, nil, fmt.Errorf("mcp: the session's policy: %w", err)
		}
	}
	lacking := map[string]string{}
	for i := range f.Servers {
		s := &f.Servers[i]
		same := slices.IndexFunc(given, func(g Server) bool { return g.Name == s.Name && g.reaches(s) })
		if same >= 0 {
			s.Env, s.Headers = given[same].Env, given[same].Headers
		} else if len(f.Needs[s.Name]) > 0 {
			lacking[s.Name] = "the settings no longer have this server, and with it went its " + strings.Join(f.Needs[s.Name], ", ")
		}
	}
	return f.withDefaults(), lacking, nil
}

// reaches reports whether both are the same program or address, so that what one is told the other may know.
func (s *Server) reaches(other *Server) bool {
	return s.Command == other.Command && slices.Equal(s.Args, other.Args) && s.URL == other.URL
}
