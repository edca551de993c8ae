// Package web reads and searches the web. Everything that it reaches is checked on the way out: the scheme, the host, and
// the address that is really dialled.
package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/address"
)

// Name is the meta key.
const Name = "WebMiddleware"

var (
	//go:embed WebFetch.md
	fetchDoc string
	//go:embed WebSearch.md
	searchDoc string
	//go:embed CodeSearch.md
	codeDoc string
)

// noBackend is why searching is not there.
const noBackend = "set web.search to a search backend"

// Options are what settings and the host say about the web.
type Options struct {
	// Search is the backend: "searxng:" and the address of a SearXNG server whose JSON format is on, or "brave:" and the
	// name of the environment variable that holds the key of Brave's search API, with BRAVE in it; "" = none.
	Search string `json:"search,omitempty"`
	// AllowPrivate lets pages be fetched from loopback, private and other addresses that are not of the public net.
	AllowPrivate bool `json:"allow_private,omitempty"`
	// Searcher is a backend written in Go, which goes before Search. It is no part of the policy: a program that
	// resumes a session brings it along again.
	Searcher Searcher `json:"-"`
	// BraveURL is where Brave's API is asked, for a program that has it behind a server of its own; "" = Brave's own. No
	// setting can say it: the key goes there.
	BraveURL string `json:"-"`
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	if o.Search == "" {
		return nil
	}
	_, err := choose(o.Search)
	return err
}

// New makes the middleware. Options that Check refuses make Open fail.
func New(o Options) middleware.Middleware {
	found, code := searchTool(), codeTool()
	fetching := fetchTool()
	m := middleware.Middleware{
		Name:     Name,
		Doc:      "Fetches web pages as Markdown and searches the web and public code.",
		Tools:    toolview.MustSet(fetching, found),
		Deferred: toolview.MustSet(code),
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			s, err := open(env, o)
			if err != nil {
				return nil, err
			}
			inst := &middleware.Instance{State: s, Close: s.close}
			if s.search == nil {
				inst.Tools = toolview.MustSet(fetching, lacking(found, s.missing))
				inst.Deferred = toolview.MustSet(lacking(code, s.missing))
			}
			return inst, nil
		},
	}
	// The zero options are a policy too: a resumed session must not get a wider one.
	m.Policy, _ = json.Marshal(o) // text and a boolean always marshal
	return m
}

// lacking is a tool whose precondition does not hold.
func lacking(t toolview.Tool, why string) toolview.Tool {
	t.Unsupported = why
	return t
}

// web is what one session has open.
type web struct {
	get     *getter
	search  Searcher // nil: there is none
	missing string   // why not
	idle    func()   // nil: the session opened none
}

func open(env middleware.Env, given Options) (*web, error) {
	var o Options
	if len(env.Policy) > 0 {
		if err := json.Unmarshal(env.Policy, &o); err != nil {
			return nil, fmt.Errorf("web: stored policy: %w", err)
		}
	}
	guard := address.Public
	if o.AllowPrivate {
		guard = nil
	}
	w := &web{get: newGetter(guard), search: given.Searcher, missing: noBackend}
	if w.search != nil || o.Search == "" {
		return w, nil
	}
	c, err := choose(o.Search)
	if err != nil {
		return nil, err
	}
	b, missing, err := c.open(given.BraveURL)
	if err != nil {
		return nil, err
	}
	if w.missing = missing; b != nil {
		w.search, w.idle = b, b.idle
	}
	return w, nil
}

func (w *web) close(context.Context) error {
	w.get.client.CloseIdleConnections()
	if w.idle != nil {
		w.idle()
	}
	return nil
}

func fetchTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "WebFetch", Family: "web", Category: "web",
			Aliases: []string{"web_fetch", "webfetch", "fetch", "fetch_url", "read_url", "open_url"},
		},
		Title: "Fetch a page", Doc: strings.TrimSpace(fetchDoc),
		Effects: toolview.ReadOnly | toolview.OpenWorld,
		Subjects: func(args json.RawMessage) ([]toolview.Subject, error) {
			var in fetchArgs
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, err
			}
			u, err := address.Parse(in.URL)
			if err != nil {
				return nil, err
			}
			return []toolview.Subject{{Kind: toolview.Domain, Value: u.Hostname()}}, nil
		},
	}, fetch)
}

func searchTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "WebSearch", Family: "web", Category: "web",
			Aliases: []string{"web_search", "websearch", "google_web_search", "search_web"},
		},
		Title: "Search the web", Doc: strings.TrimSpace(searchDoc),
		Effects: toolview.ReadOnly | toolview.OpenWorld,
	}, searchFor(false))
}

func codeTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{
			Name: "CodeSearch", Family: "web", Category: "web",
			Aliases: []string{"code_search", "codesearch"},
		},
		Title: "Search public code", Doc: strings.TrimSpace(codeDoc),
		Effects: toolview.ReadOnly | toolview.OpenWorld,
	}, searchFor(true))
}
