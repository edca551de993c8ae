package exchange

import (
	"errors"
	"net/http"
)

// ErrRedirected ends a request to a server that would send it elsewhere.
var ErrRedirected = errors.New("the server sends requests elsewhere: write where to as the base URL")

// Straight is c without redirects: a header with a key would follow them to whoever they name.
func Straight(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	straight := *c
	straight.CheckRedirect = func(*http.Request, []*http.Request) error { return ErrRedirected }
	return &straight
}
