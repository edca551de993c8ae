package web

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/metaharness/peri/toolview/address"
)

// spelt is how web.search is written.
const spelt = "write searxng:https://host, or brave:BRAVE_API_KEY with the name of the environment variable that holds the key"

// backend is one that settings can name.
type backend interface {
	Searcher
	idle()
}

// choice is the setting web.search, read: either the address of a SearXNG server or the variable with Brave's key.
type choice struct {
	searxng  *url.URL
	variable string
}

// variables are the names that may hold the key. A project's setting must not be able to send another vendor's key to
// Brave, so that BRAVE has to be in the name.
var variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kinds is what looks like the name of a backend and not like a key that was put in its place.
var kinds = regexp.MustCompile(`^[a-z]{1,20}$`)

// choose reads the setting. A text that may be a key itself is not repeated.
func choose(spec string) (choice, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch kind {
	case "searxng":
		u, err := address.Parse(rest)
		if err != nil {
			return choice{}, fmt.Errorf("web: web.search: %w; %s", err, spelt)
		}
		if u.RawQuery != "" {
			return choice{}, fmt.Errorf("web: web.search %q: leave out what follows the question mark; %s", spec, spelt)
		}
		return choice{searxng: u}, nil
	case "brave":
		if !variables.MatchString(rest) || !strings.Contains(strings.ToUpper(rest), "BRAVE") {
			return choice{}, fmt.Errorf("web: web.search: what follows brave: is no name of an environment variable with BRAVE in it; %s", spelt)
		}
		return choice{variable: rest}, nil
	}
	if !kinds.MatchString(kind) {
		return choice{}, fmt.Errorf("web: web.search: unknown backend: %s", spelt)
	}
	return choice{}, fmt.Errorf("web: web.search %q: unknown backend: %s", kind, spelt)
}

// open makes the backend. Without one, missing is the reason.
func (c choice) open(braveURL string) (b backend, missing string, err error) {
	if c.searxng != nil {
		return &searxng{base: c.searxng, get: newGetter(nil)}, "", nil
	}
	key := strings.TrimSpace(os.Getenv(c.variable))
	if key == "" {
		return nil, fmt.Sprintf("set the environment variable %s to the key of Brave's search API", c.variable), nil
	}
	b, err = newBrave(braveURL, key)
	return b, "", err
}
