package openapi

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Auth is how the calls of one source authenticate. The zero value sends nothing. In Token, Username and Password, `${NAME}`
// stands for an environment variable, which is read when a session opens.
type Auth struct {
	// Kind is bearer, basic or apiKey.
	Kind string `json:"kind,omitempty"`
	// Token is the bearer's, or the key.
	Token string `json:"token,omitempty"`
	// Username and Password are of basic.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	// Header or Query is the name under which an apiKey is sent.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
}

const (
	bearer = "bearer"
	basic  = "basic"
	apiKey = "apiKey"
)

// ParseAuth reads the setting: a text is a bearer's token; a map has `type`, and what that takes. Its errors never hold a
// value.
func ParseAuth(setting any) (Auth, error) {
	switch v := setting.(type) {
	case nil:
		return Auth{}, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return Auth{}, errors.New("is empty: write a token, such as ${API_TOKEN}, or leave it out")
		}
		return Auth{Kind: bearer, Token: v}, nil
	case map[string]any:
		return authOf(v)
	}
	return Auth{}, errors.New("is no text and no map: write a token, such as ${API_TOKEN}, or {type: bearer, token: ...}")
}

func authOf(m map[string]any) (Auth, error) {
	fields := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s, ok := m[k].(string)
		if !ok || strings.TrimSpace(s) == "" {
			return Auth{}, fmt.Errorf("%s is no text", k)
		}
		fields[k] = s
	}
	var needs []string
	a := Auth{Kind: fields["type"]}
	switch a.Kind {
	case bearer:
		needs, a.Token = []string{"token"}, fields["token"]
	case basic:
		needs, a.Username, a.Password = []string{"username", "password"}, fields["username"], fields["password"]
	case apiKey:
		needs, a.Token = []string{"value", "name"}, fields["value"]
		switch fields["in"] {
		case "", "header":
			a.Header = fields["name"]
		case "query":
			a.Query = fields["name"]
		default:
			return Auth{}, errors.New("in is neither header nor query")
		}
	default:
		return Auth{}, errors.New("type is not known: write bearer, basic or apiKey")
	}
	known := append([]string{"type"}, needs...)
	if a.Kind == apiKey {
		known = append(known, "in")
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, k) {
			return Auth{}, fmt.Errorf("%s is not of type %s: it takes %s", k, a.Kind, strings.Join(known[1:], ", "))
		}
	}
	for _, k := range needs {
		if fields[k] == "" {
			return Auth{}, fmt.Errorf("type %s needs %s", a.Kind, strings.Join(needs, " and "))
		}
	}
	if a.Header != "" && !headerName.MatchString(a.Header) {
		return Auth{}, fmt.Errorf("name %q is no name of a header", a.Header)
	}
	return a, nil
}

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	variable   = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	// reference is a value that holds no secret itself: a variable, and a word before it such as "Token".
	reference = regexp.MustCompile(`^([A-Za-z]{1,12} )?\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
)

// given stands in a policy for a value that settings spell out.
const given = "given"

// frozen is how it authenticates, without what is secret.
func (a Auth) frozen() Auth {
	for _, v := range []*string{&a.Token, &a.Username, &a.Password} {
		if *v != "" && !reference.MatchString(*v) {
			*v = given
		}
	}
	return a
}

// credentials is an Auth with its values.
type credentials struct {
	Auth
	secrets []string // what no text may hold
}

// resolve reads the variables. A policy that came back without its secret is an error: sending the stand-in would help
// nobody.
func (a Auth) resolve() (credentials, error) {
	c := credentials{Auth: a}
	for _, v := range []*string{&c.Token, &c.Username, &c.Password} {
		if *v == given {
			return c, errors.New("the settings no longer hold the key that it had when the session was created")
		}
		var missing string
		*v = variable.ReplaceAllStringFunc(*v, func(ref string) string {
			name := variable.FindStringSubmatch(ref)[1]
			value := os.Getenv(name)
			if value == "" {
				missing = name
			}
			return value
		})
		if missing != "" {
			return c, fmt.Errorf("the environment variable %s, which its auth names, is not set", missing)
		}
		if strings.ContainsFunc(*v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return c, errors.New("a value of its auth holds a line break or another control character")
		}
	}
	if c.Kind == basic {
		c.Token = base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
	}
	for _, s := range []string{c.Token, c.Password} {
		c.secrets = append(c.secrets, s)
		if esc := url.QueryEscape(s); esc != s {
			c.secrets = append(c.secrets, esc)
		}
	}
	// The longest first, so that no part of one is left behind.
	c.secrets = slices.DeleteFunc(c.secrets, func(s string) bool { return len(s) < 4 })
	slices.SortFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
	return c, nil
}

// apply authenticates a request.
func (c *credentials) apply(r *http.Request) {
	switch c.Kind {
	case bearer:
		r.Header.Set("Authorization", "Bearer "+c.Token)
	case basic:
		r.Header.Set("Authorization", "Basic "+c.Token)
	case apiKey:
		if c.Header != "" {
			r.Header.Set(c.Header, c.Token)
			return
		}
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += url.QueryEscape(c.Query) + "=" + url.QueryEscape(c.Token)
	}
}

// sets reports whether a parameter is one that authentication sends: the model is not asked for it.
func (a Auth) sets(in, name string) bool {
	switch in {
	case "header":
		return a.Header != "" && strings.EqualFold(name, a.Header)
	case "query":
		return a.Query != "" && name == a.Query
	}
	return false
}

// hide takes secrets out of a text that may have them from a server.
func (c *credentials) hide(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[hidden]")
	}
	return text
}
