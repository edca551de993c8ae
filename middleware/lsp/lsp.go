// Package lsp asks language servers about code. A server is started by the first call that needs it, serves the session and its
// children, is started anew when it died, and ends with the session.
package lsp

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "LspMiddleware"

//go:embed LSP.md
var doc string

const (
	defaultTimeout = 30 * time.Second
	defaultGrace   = 2 * time.Second
)

// Options are what settings and the host say. The zero value has no server.
type Options struct {
	Servers []Server `json:"servers,omitempty"`
	// Timeout bounds the start of a server and every request; 0 = 30 s. Grace is how long one may take to end; 0 = 2 s.
	Timeout time.Duration `json:"-"`
	Grace   time.Duration `json:"-"`
}

// Server is one language server. A Command with a slash is relative to the project's root, another is looked for on PATH.
// Values of Env may be secret: they are no part of what a session stores.
type Server struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"-"`
	// Languages are names of languages, or file extensions with their dot; none = what the command is known for.
	Languages []string    `json:"languages,omitempty"`
	Disabled  bool        `json:"disabled,omitempty"`
	Origin    meta.Origin `json:"origin,omitzero"`
}

// New makes the middleware. Every defect of the options is reported at once.
func New(o Options) (middleware.Middleware, error) {
	var errs []error
	for _, s := range o.Servers {
		if len(s.extensions()) == 0 {
			errs = append(errs, &meta.Error{
				Origin: s.Origin, Key: "lsp.servers." + s.Name + ".languages",
				Message: fmt.Sprintf("it is not known which files %s is for", s.Command), Suggestion: "write languages, such as [go] or [.zig]",
			})
		}
	}
	m := middleware.Middleware{
		Name: Name, Doc: "Asks language servers for definitions, references, types, symbols and diagnostics.",
		Deferred: toolview.MustSet(tool()),
	}
	if err := errors.Join(errs...); err != nil {
		return m, fmt.Errorf("lsp: %w", err)
	}
	m.Open = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		frozen := Options{}
		if len(env.Policy) > 0 {
			if err := json.Unmarshal(env.Policy, &frozen); err != nil {
				return nil, fmt.Errorf("lsp: the session's stored policy: %w", err)
			}
		}
		return open(env, o.revive(frozen))
	}
	m.Policy, _ = json.Marshal(o) // texts and booleans always marshal
	return m, nil
}

// revive gives frozen options what a policy does not hold.
func (o Options) revive(frozen Options) Options {
	frozen.Timeout, frozen.Grace = o.Timeout, o.Grace
	for i, f := range frozen.Servers {
		for _, s := range o.Servers {
			if s.Name == f.Name && s.Command == f.Command {
				frozen.Servers[i].Env = s.Env
			}
		}
	}
	if frozen.Timeout <= 0 {
		frozen.Timeout = defaultTimeout
	}
	if frozen.Grace <= 0 {
		frozen.Grace = defaultGrace
	}
	return frozen
}

// state is the language servers of one project folder. It is safe for concurrent use.
type state struct {
	opt     Options
	root    string // every link resolved
	servers []*server
	close   sync.Once
}

func open(env middleware.Env, o Options) (*middleware.Instance, error) {
	root := env.Project.Root
	if real, err := filepath.EvalSymlinks(root); err == nil && root != "" {
		root = real
	}
	s := &state{opt: o, root: root}
	var lacks []string
	for _, one := range o.Servers {
		srv := &server{Server: one, state: s}
		if one.Disabled {
			srv.detail = "switched off"
			lacks = append(lacks, one.Name+" is switched off")
		} else if path, err := s.find(one.Command); err != nil {
			srv.detail = err.Error()
			lacks = append(lacks, one.Name+": "+err.Error())
		} else {
			srv.path, srv.detail = path, "not started"
		}
		s.servers = append(s.servers, srv)
	}
	inst := &middleware.Instance{State: s, Facts: s.facts, Close: s.end}
	switch {
	case len(o.Servers) == 0:
		inst.Unsupported = "no language server is set up: write lsp.servers, such as {go: {command: gopls}}"
	case len(lacks) == len(o.Servers):
		inst.Unsupported = "no language server can be started: " + strings.Join(lacks, "; ")
	}
	inst.Child = func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
		real, err := filepath.EvalSymlinks(env.Project.Root)
		if env.Project.Root == "" || err != nil || real == s.root {
			return &middleware.Instance{State: s, Facts: s.facts}, nil // the parent's servers, which are not the child's to end
		}
		return open(env, s.opt)
	}
	return inst, nil
}

func (s *state) find(command string) (string, error) {
	if strings.ContainsRune(command, '/') && !filepath.IsAbs(command) {
		command = filepath.Join(s.root, command)
	}
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, nil
	case strings.ContainsAny(command, " \t"):
		return "", fmt.Errorf("there is no program %q: write its arguments as args", command)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s is not on PATH", command)
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("there is no program %s", command)
	}
	return "", fmt.Errorf("%s cannot be run", command)
}

func (s *state) facts() []middleware.Fact {
	out := make([]middleware.Fact, len(s.servers))
	for i, one := range s.servers {
		out[i] = middleware.Fact{
			Surface: "language", Name: one.Name, Doc: strings.Join(one.extensions(), " "), Detail: filepath.Base(one.Command) + ": " + one.status(),
		}
	}
	return out
}

// end stops every server: politely, then not.
func (s *state) end(ctx context.Context) error {
	var err error
	s.close.Do(func() {
		var all sync.WaitGroup
		for _, one := range s.servers {
			all.Go(func() { one.stop(ctx) })
		}
		all.Wait()
		err = ctx.Err()
	})
	return err
}
