package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/address"
)

// maxRead bounds how long a document may take to arrive, however late it is.
const maxRead = 60 * time.Second

// source is one document at work in a session.
type source struct {
	Source
	all  *session
	part string // in tool names
	gate gate
	auth credentials // set before the first tool is published

	state  state  // under session.mu
	unkept []byte // under session.mu: the document, until it is stored
}

// state is what has become of a source.
type state struct {
	tools      []toolview.Tool
	usable     int
	title      string
	detail     string
	done, late bool
}

// read reads the document and makes its tools. Whatever fails is told and kept as the source's detail.
func (s *source) read(ctx context.Context) {
	var next state
	doc, from, err := s.document(ctx)
	if err == nil {
		next, err = s.build(doc, from)
	}
	if ctx.Err() != nil {
		err = errors.New("the session was closed")
	}
	if err != nil {
		next = state{detail: "failed: " + err.Error()}
		if ctx.Err() == nil {
			s.all.notice(fmt.Sprintf("openapi: %s: %v", s.Name, err))
		}
	}
	next.done = true
	s.all.mu.Lock()
	next.late = s.state.late
	s.state = next
	s.all.mu.Unlock()
	if next.late && err == nil {
		s.all.notice(fmt.Sprintf("openapi: %s: %s", s.Name, next.detail))
	}
}

// document reads and parses. from is the address that relative servers belong to, nil for a file.
func (s *source) document(ctx context.Context) (*document, *url.URL, error) {
	from, err := s.from()
	if err != nil {
		return nil, nil, err
	}
	data, kept := s.kept(ctx)
	if !kept {
		if from != nil {
			data, err = s.fetch(ctx, from)
		} else {
			data, err = s.file()
		}
	}
	if err != nil {
		return nil, nil, err
	}
	doc, err := parse(data)
	if err != nil {
		var at *placed
		line := 0
		if errors.As(err, &at) {
			line = at.line
		}
		return nil, nil, fmt.Errorf("%s: %s", s.place(line), brief(err))
	}
	if !kept {
		s.keep(ctx, data)
	}
	return doc, from, nil
}

// from is the document's address, nil for a file.
func (s *source) from() (*url.URL, error) {
	if !isAddress(s.Document) {
		return nil, nil
	}
	return address.Parse(s.Document)
}

// place names a line of the document.
func (s *source) place(line int) string {
	if line <= 0 {
		return s.Document
	}
	return fmt.Sprintf("%s:%d", s.Document, line)
}

func (s *source) file() ([]byte, error) {
	path := s.Document
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("%s: the home folder is not known", s.Document)
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.all.root, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file", s.Document)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.Document, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is no regular file", s.Document)
	case info.Size() > maxDocument:
		return nil, fmt.Errorf("%s: is larger than %d MiB", s.Document, maxDocument>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Document, err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDocument))
}

// fetch gets the document. Its address stands in settings, so that it may be a private one; credentials go along where
// settings say that they belong to the same server.
func (s *source) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the document's address cannot be used: %w", err)
	}
	req.Header.Set("Accept", "application/json, application/yaml, text/yaml, */*;q=0.5")
	req.Header.Set("User-Agent", "peri")
	if base, err := address.Parse(s.Base); err == nil && base.Scheme == u.Scheme && base.Host == u.Host {
		if c, err := s.Auth.resolve(); err == nil {
			c.apply(req)
		}
	}
	r, err := s.all.open.do(req, maxDocument)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the document was not fetched: %s", u.Host, why(err, maxRead))
	case r.elsewhere != nil:
		return nil, fmt.Errorf("%s: the document has moved to %s: write that address", u.Host, r.elsewhere)
	case r.code != http.StatusOK:
		return nil, fmt.Errorf("%s: the server answered %s", u.Host, r.status)
	case r.more:
		return nil, fmt.Errorf("%s: the document is larger than %d MiB", u.Host, maxDocument>>20)
	}
	return r.body, nil
}

// build makes the tools. An operation that cannot be one is told of and left out.
func (s *source) build(doc *document, from *url.URL) (state, error) {
	next := state{title: doc.title}
	problems := doc.bad
	auth, authErr := s.Auth.resolve()
	s.auth = auth
	unsupported := ""
	if authErr != nil {
		unsupported = authErr.Error()
	}
	main, mainErr := s.base(doc, from)
	ids := make([]string, len(doc.ops))
	for i := range doc.ops {
		ids[i] = doc.ops[i].id
	}
	ids, repeated := distinct(doc.ops, ids)
	problems = append(problems, repeated...)
	names, collisions := toolNames(s.part, ids)
	hosts := map[string]bool{}
	for i := range doc.ops {
		op := &doc.ops[i]
		base, err := main, mainErr
		if s.Base == "" {
			base, err = op.server(doc, from)
		}
		var t toolview.Tool
		var p *plan
		if err == nil {
			t, p, err = op.tool(base, s.Auth, doc.v31)
		}
		if err == nil {
			p.authorized = main != nil && base.Scheme == main.Scheme && base.Host == main.Host
			t, err = s.complete(t, p, names[i], ids[i], unsupported)
		}
		if err != nil {
			problems = append(problems, problem{op.line, fmt.Sprintf("%s is left out: %s", op.id, strings.TrimPrefix(brief(err), "toolview: "))})
			continue
		}
		if !s.gate.offers(t.Decl) {
			continue
		}
		next.tools = append(next.tools, t)
		hosts[base.Host] = true
		if unsupported == "" {
			next.usable++
		}
	}
	for _, id := range collisions {
		problems = append(problems, problem{0, fmt.Sprintf("operation %s shares its name with another and is told apart by a hash", id)})
	}
	s.tell(problems)
	next.detail = detail(&next, len(doc.ops)+len(doc.bad), hosts, len(problems), unsupported)
	if len(next.tools) == 0 && mainErr != nil {
		return next, mainErr
	}
	return next, nil
}

// distinct tells operations apart that have one id.
func distinct(ops []operation, ids []string) ([]string, []problem) {
	seen := map[string]bool{}
	var out []problem
	for i, id := range ids {
		if seen[id] {
			out = append(out, problem{ops[i].line, fmt.Sprintf("operation id %q is there twice", id)})
			ids[i] = id + " " + ops[i].method + " " + ops[i].path
		}
		seen[ids[i]] = true
	}
	return ids, out
}

func detail(next *state, all int, hosts map[string]bool, problems int, unsupported string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d operations", len(next.tools), all)
	if len(hosts) == 1 {
		for h := range hosts {
			b.WriteString(" at " + h)
		}
	} else if len(hosts) > 1 {
		fmt.Fprintf(&b, " at %d hosts", len(hosts))
	}
	if problems > 0 {
		fmt.Fprintf(&b, ", %d problems", problems)
	}
	if unsupported != "" {
		b.WriteString(", unsupported: " + unsupported)
	}
	return b.String()
}

// maxTold bounds how many problems of one document are told one by one.
const maxTold = 20

func (s *source) tell(problems []problem) {
	for i, p := range problems {
		if i == maxTold {
			s.all.notice(fmt.Sprintf("openapi: %s: %d more problems like these", s.Name, len(problems)-i))
			return
		}
		s.all.notice(fmt.Sprintf("openapi: %s: %s: %s", s.Name, s.place(p.line), p.text))
	}
}

// base is where the source's credentials belong: the address in settings, else the document's own.
func (s *source) base(doc *document, from *url.URL) (*url.URL, error) {
	if s.Base != "" {
		return address.Parse(s.Base)
	}
	return serverOf(doc.servers, from)
}

// complete makes a tool that can be called, and checks it alone: what is wrong with one is not the others' fault.
func (s *source) complete(t toolview.Tool, p *plan, name, id, unsupported string) (toolview.Tool, error) {
	t.Decl = toolview.Decl{
		Name: name, Family: Family, Groups: []string{"restapi"}, Category: "api", Private: true, Server: s.Name, Leaf: id,
	}
	t.Unsupported = unsupported
	host, reads := p.base.Hostname(), t.Effects.Has(toolview.ReadOnly)
	operation := s.Name + "/" + id
	t.Subjects = toolview.Subjects(func(struct{}) []toolview.Subject {
		return []toolview.Subject{
			{Kind: toolview.Domain, Value: host, ReadOnly: reads},
			{Kind: toolview.Name, Value: operation, ReadOnly: reads},
		}
	})
	through := s.client(p.base)
	t.Run = func(ctx context.Context, c *toolview.Call) (*message.Result, error) {
		return s.call(ctx, c, p, through)
	}
	set, err := toolview.NewSet(t)
	if err != nil {
		return t, err
	}
	return *set.All()[0], nil
}

// client is what a base is reached through: an address that settings name may be a private one.
func (s *source) client(base *url.URL) *client {
	for _, named := range []string{s.Base, s.Document} {
		if !isAddress(named) {
			continue
		}
		if u, err := address.Parse(named); err == nil && u.Host == base.Host {
			return s.all.open
		}
	}
	return s.all.guarded
}

func (s *source) call(ctx context.Context, c *toolview.Call, p *plan, through *client) (*message.Result, error) {
	timed, cancel := context.WithTimeout(ctx, s.all.opt.Timeout)
	defer cancel()
	defer context.AfterFunc(s.all.ctx, cancel)()
	req, err := p.request(timed, c.Args())
	if err != nil {
		return message.Fail(fmt.Sprintf("Nothing was sent: %v.", err)), nil
	}
	if p.authorized {
		s.auth.apply(req)
	}
	r, err := through.do(req, maxBody)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.all.ctx.Err() != nil:
		return message.Fail("The session is closed."), nil
	case err != nil:
		return message.Fail(s.auth.hide(fmt.Sprintf("%s %s got no answer from %s: %s.", p.method, p.path, p.base.Host, why(err, s.all.opt.Timeout)))), nil
	}
	return s.result(p, r), nil
}
