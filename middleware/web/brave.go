package web

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/toolview/address"
)

const (
	braveHost = "https://api.search.brave.com"
	// The longest query that the API takes.
	braveBytes, braveWords = 400, 50
	// braveCode puts where code is published and talked about further up, and leaves the rest in.
	braveCode = "$boost=3,site=github.com\n$boost=3,site=gitlab.com\n$boost=3,site=stackoverflow.com\n" +
		"$boost=3,site=pkg.go.dev\n$boost=3,site=docs.rs\n$boost=3,site=npmjs.com\n$boost=3,site=pypi.org\n" +
		"$boost=3,site=readthedocs.io\n$boost=3,site=developer.mozilla.org"
)

// brave asks Brave's web search API. Its key goes into one header and into no text; a redirect is not followed with it.
type brave struct {
	base *url.URL
	get  *getter
}

func newBrave(base, key string) (*brave, error) {
	if base == "" {
		base = braveHost
	}
	u, err := address.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("web: Brave's address: %w", err)
	}
	g := newGetter(nil)
	g.header = http.Header{"X-Subscription-Token": {key}}
	return &brave{base: u, get: g}, nil
}

func (b *brave) idle() { b.get.client.CloseIdleConnections() }

func (b *brave) Search(ctx context.Context, q Query) ([]Hit, error) {
	text := bounded(q.Text, sites(q.Domains))
	values := url.Values{
		"q": {text}, "count": {strconv.Itoa(min(max(q.Limit, 1), maxHits))},
		"result_filter": {"web"}, "text_decorations": {"false"},
	}
	if q.Code {
		values.Set("goggles", braveCode)
	}
	u := b.base.JoinPath("res", "v1", "web", "search")
	u.RawQuery = values.Encode()
	r, err := b.get.fetch(ctx, u, "application/json")
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server of Brave: %s", b.get.why(err))
	case r.elsewhere != nil:
		return nil, fmt.Errorf("the server of Brave redirects to %s, where its key is not sent", r.elsewhere.Hostname())
	case r.code != http.StatusOK:
		return nil, fmt.Errorf("the server of Brave answered %s", told(r))
	}
	var answer struct {
		Web struct {
			Results []struct {
				Title, URL, Description string
				Date                    string `json:"page_age"`
			}
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return nil, fmt.Errorf("the server of Brave did not answer with JSON of the known form: %w", err)
	}
	var hits []Hit
	for _, h := range answer.Web.Results {
		hits = append(hits, Hit{
			Title: html.UnescapeString(h.Title), URL: h.URL, Excerpt: html.UnescapeString(h.Description), Date: h.Date,
		})
	}
	return hits, nil
}

// errorCode is the form of the API's error codes. Nothing else of a refusal is repeated, since it may hold the key.
var errorCode = regexp.MustCompile(`^[A-Z][A-Z_]{2,60}$`)

// told is a refusal in words.
func told(r *reply) string {
	var e struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	out := strconv.Itoa(r.code) + " " + http.StatusText(r.code)
	_ = json.Unmarshal(r.body, &e) // what is no JSON has no code
	if errorCode.MatchString(e.Error.Code) {
		out += " (" + e.Error.Code + ")"
	}
	switch {
	case r.code == http.StatusTooManyRequests:
		out += ": the quota of its key is used up for now"
	case r.code == http.StatusUnauthorized, r.code == http.StatusForbidden, e.Error.Code == "SUBSCRIPTION_TOKEN_INVALID":
		out += ": its key is refused"
	}
	return out
}

// bounded cuts a query at a word to what the API takes, and keeps what stands behind it whole.
func bounded(text, behind string) string {
	words := strings.Fields(text)
	room, left := braveBytes-len(behind), braveWords-len(strings.Fields(behind))
	for len(words) > 1 && (len(words) > left || len(strings.Join(words, " ")) >= room) {
		words = words[:len(words)-1]
	}
	out := strings.Join(words, " ")
	for room > 1 && len(out) >= room {
		_, n := utf8.DecodeLastRuneInString(out)
		out = out[:len(out)-n]
	}
	return strings.TrimSpace(out + " " + behind)
}
