package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
)

// onServer is the surface of servers.
const onServer = "server"

// look is a server as it stands at one moment.
type look struct {
	state         state
	why           string
	kind          string
	tools, direct int
	prompts       int
	resources     int
	flaws         []flaw
}

func (s *server) look() look {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := look{
		state: s.state, why: s.why, kind: "stdio", tools: len(s.offer.direct) + len(s.offer.deferred), direct: len(s.offer.direct),
		prompts: len(s.offer.routes), resources: s.offer.resources, flaws: s.offer.flaws,
	}
	if s.URL != "" {
		l.kind = "http"
	}
	return l
}

func (l *look) counts() string {
	out := fmt.Sprintf("%d tools", l.tools)
	if l.direct > 0 {
		out += fmt.Sprintf(" (%d direct)", l.direct)
	}
	if l.prompts > 0 {
		out += fmt.Sprintf(", %d prompts", l.prompts)
	}
	if l.resources > 0 {
		out += fmt.Sprintf(", %d resources", l.resources)
	}
	return out
}

// facts are the servers, each as it stands.
func (h *hub) facts() []middleware.Fact {
	out := make([]middleware.Fact, 0, len(h.servers))
	for _, s := range h.servers {
		l := s.look()
		f := middleware.Fact{Surface: onServer, Name: s.Name, Doc: l.why, Detail: string(l.state) + " " + l.kind}
		if s.Trusted {
			f.Detail += " trusted"
		}
		if l.state != disabled {
			f.Detail += ", " + l.counts()
		}
		if n := len(l.flaws); n > 0 {
			f.Detail += fmt.Sprintf(", %d left out", n)
		}
		out = append(out, f)
	}
	return out
}

// command is /mcp: the servers, one of them, or a new attempt to connect one.
func (h *hub) command(_ context.Context, args string) (middleware.RouteReply, error) {
	words := strings.Fields(args)
	var b strings.Builder
	switch {
	case len(words) == 0:
		for _, s := range h.servers {
			l := s.look()
			l.line(&b, s.Name)
		}
	case len(words) == 1:
		if s, ok := h.named(words[0]); ok {
			s.describe(&b)
			break
		}
		h.unknown(&b, words[0])
	case len(words) == 2 && words[0] == "reconnect":
		s, ok := h.named(words[1])
		switch {
		case !ok:
			h.unknown(&b, words[1])
		case s.was() == disabled:
			fmt.Fprintf(&b, "The server %s is switched off in the settings.", s.Name)
		default:
			signal(s.again)
			fmt.Fprintf(&b, "The server %s is being connected anew.", s.Name)
		}
	default:
		b.WriteString("Write /mcp, /mcp NAME, or /mcp reconnect NAME.")
	}
	return middleware.RouteReply{Text: strings.TrimRight(b.String(), "\n")}, nil
}

func (l *look) line(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s: %s", name, l.state)
	if l.state != disabled {
		fmt.Fprintf(b, ", %s", l.counts())
	}
	if l.why != "" {
		fmt.Fprintf(b, " (%s)", l.why)
	}
	b.WriteByte('\n')
}

func (h *hub) unknown(b *strings.Builder, name string) {
	fmt.Fprintf(b, "There is no server %s.", name)
	var names []string
	for _, s := range h.servers {
		names = append(names, s.Name)
	}
	if near := meta.Nearest(name, names); len(near) > 0 {
		fmt.Fprintf(b, " Did you mean %s?", strings.Join(near, " or "))
	}
}

// describe tells all of one server.
func (s *server) describe(b *strings.Builder) {
	l := s.look()
	l.line(b, s.Name)
	s.mu.Lock()
	o := s.offer
	s.mu.Unlock()
	var lines []string
	for _, t := range slices.Concat(o.direct, o.deferred) {
		lines = append(lines, "  "+t.Name)
	}
	for _, r := range o.routes {
		lines = append(lines, "  /"+r.Name)
	}
	slices.Sort(lines)
	for _, f := range o.flaws {
		lines = append(lines, "  "+f.String())
	}
	b.WriteString(strings.Join(lines, "\n"))
}
