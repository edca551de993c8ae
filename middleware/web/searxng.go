package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// searxng asks a SearXNG server through its JSON format. The server is named in settings, so it may stand in a private
// network; redirects to another host are not followed.
type searxng struct {
	base *url.URL
	get  *getter
}

func (s *searxng) idle() { s.get.client.CloseIdleConnections() }

func (s *searxng) Search(ctx context.Context, q Query) ([]Hit, error) {
	text := strings.TrimSpace(q.Text + " " + sites(q.Domains))
	values := url.Values{"q": {text}, "format": {"json"}, "categories": {"general"}}
	if q.Code {
		values.Set("categories", "it")
	}
	u := s.base.JoinPath("search")
	u.RawQuery = values.Encode()
	r, err := s.get.fetch(ctx, u, "application/json")
	switch {
	case err != nil:
		return nil, fmt.Errorf("the search server: %s", s.get.why(err))
	case r.elsewhere != nil:
		return nil, fmt.Errorf("the search server redirects to another host, %s", r.elsewhere.Hostname())
	case r.code == http.StatusForbidden:
		return nil, fmt.Errorf("the search server answered %s: its operator has to allow the format json", r.status)
	case r.code != http.StatusOK:
		return nil, fmt.Errorf("the search server answered %s", r.status)
	}
	var answer struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       string
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return nil, fmt.Errorf("the search server did not answer with JSON: %w", err)
	}
	var hits []Hit
	for _, h := range answer.Results {
		hits = append(hits, Hit{Title: h.Title, URL: h.URL, Excerpt: h.Content, Date: h.PublishedDate})
	}
	return hits, nil
}

// sites is the part of a query that keeps hits to hosts, as most engines read it.
func sites(domains []string) string {
	out := make([]string, len(domains))
	for i, d := range domains {
		out[i] = "site:" + d
	}
	return strings.Join(out, " OR ")
}
