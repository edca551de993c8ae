package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// hub is the servers of one session, in the order of their names.
type hub struct {
	env     middleware.Env
	opt     Options
	servers []*server
	spill   spill
	life    context.Context // ends when the hub closes
	stop    context.CancelFunc
	running sync.WaitGroup
	opened  atomic.Bool // the session did not wait any longer

	direct, deferred toolview.Live
	routes           atomic.Pointer[[]middleware.Route] // of prompts

	mu    sync.Mutex // one publication at a time
	flaws []flaw     // what the servers offer together cannot be
	had   string     // what was published last, by content
}

// open starts every server and waits for them, within the budget.
func open(ctx context.Context, env middleware.Env, given []Server) (*middleware.Instance, error) {
	opt, lacking, err := thaw(env.Policy, given)
	if err != nil {
		return nil, err
	}
	more, err := brought(env)
	if err != nil {
		return nil, err
	}
	opt.Servers = joined(opt.Servers, more, env.Notice)
	h, err := newHub(env, opt, lacking)
	if err != nil {
		return nil, err
	}
	inst := h.instance()
	inst.Child = h.child(&inst)
	if !slices.ContainsFunc(h.servers, func(s *server) bool { return s.state != disabled }) {
		why := "no server is configured: add one to mcp.servers"
		if len(h.servers) > 0 {
			why = "every configured server is switched off"
		}
		inst.Unsupported = why
		return &inst, nil
	}
	h.start()
	if err := h.wait(ctx); err != nil {
		return nil, errors.Join(err, h.close(context.WithoutCancel(ctx)))
	}
	return &inst, nil
}

// joined adds servers that others bring. The settings' own names come first.
func joined(own, more []Server, notice func(string)) []Server {
	for _, s := range more {
		if slices.ContainsFunc(own, func(o Server) bool { return o.Name == s.Name }) {
			notice(fmt.Sprintf("the server %s that is brought along is not started, since the settings have one of this name", s.Name))
			continue
		}
		own = append(own, s)
	}
	slices.SortStableFunc(own, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return own
}

// instance is the hub as a session has it.
func (h *hub) instance() middleware.Instance {
	return middleware.Instance{
		State: h, Tools: &h.direct, Deferred: &h.deferred,
		Routes: []middleware.Route{{RouteDecl: command(), Run: h.command}}, LiveRoutes: h.commands,
		Facts: h.facts, Diagnostics: h.diagnostics, Close: h.close,
	}
}

func newHub(env middleware.Env, opt Options, lacking map[string]string) (*hub, error) {
	h := &hub{env: env, opt: opt}
	h.spill.dir = opt.Outputs
	for _, def := range opt.Servers {
		s, err := newServer(h, def, lacking[def.Name])
		if err != nil {
			return nil, err
		}
		h.servers = append(h.servers, s)
	}
	h.life, h.stop = context.WithCancel(context.Background())
	h.publish()
	return h, nil
}

// start connects every server beside the others.
func (h *hub) start() {
	for _, s := range h.servers {
		if s.state == connecting {
			h.running.Go(func() { s.live(h.life) })
		}
	}
}

// wait returns when every server is there or has failed once, or the budget is spent. It fails when ctx ends.
func (h *hub) wait(ctx context.Context) error {
	defer h.opened.Store(true)
	t := time.NewTimer(h.opt.Budget)
	defer t.Stop()
	for _, s := range h.servers {
		for {
			ok, moved := s.settled()
			if ok {
				break
			}
			select {
			case <-moved:
			case <-t.C:
				h.late()
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// late tells who was not waited for.
func (h *hub) late() {
	var names []string
	for _, s := range h.servers {
		if ok, _ := s.settled(); !ok {
			names = append(names, s.Name)
		}
	}
	if len(names) > 0 {
		h.notice("not waited for any longer than %v: %s; what they offer comes when they are there", h.opt.Budget, strings.Join(names, ", "))
	}
}

// close ends every server and returns when nothing of them is left.
func (h *hub) close(context.Context) error {
	h.stop()
	h.running.Wait()
	return h.spill.close()
}

func (h *hub) notice(format string, args ...any) { h.env.Notice(fmt.Sprintf(format, args...)) }

// named finds a server.
func (h *hub) named(name string) (*server, bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

// diagnostics are what is wrong with the servers now.
func (h *hub) diagnostics() []meta.Diagnostic {
	var out []meta.Diagnostic
	for _, s := range h.servers {
		s.mu.Lock()
		st, why, o := s.state, s.why, s.offer
		s.mu.Unlock()
		d := meta.Diagnostic{Severity: meta.SeverityWarning, Key: "mcp.servers." + s.Name, Origin: s.Origin}
		switch st {
		case failed, reconnecting:
			d.Code, d.Message = "mcp_server_"+string(st), fmt.Sprintf("server %s is %s: %s", s.Name, st, why)
			out = append(out, d)
		case connecting:
			d.Code, d.Message = "mcp_server_late", fmt.Sprintf("server %s did not start within %v; what it offers comes when it is there", s.Name, h.opt.Budget)
			out = append(out, d)
		}
		for _, f := range o.flaws {
			d.Code, d.Message, d.Severity = f.code, f.String(), f.severity
			out = append(out, d)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.flaws {
		out = append(out, meta.Diagnostic{Severity: f.severity, Code: f.code, Key: "mcp.servers." + f.server, Message: f.String()})
	}
	return out
}
