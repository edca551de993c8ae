package mcp

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A server is given keys, and what it writes when it fails is shown to people, to models and in logs: so is the address of
// a request that failed. None of them is to hold a key.

// shortest is the length from which a value is looked for: a shorter one would take ordinary text along.
const shortest = 6

var secretive = regexp.MustCompile(`(?i)key|token|secret|pass|auth|cred`)

// keep remembers what of a definition, filled in, is not to be told: whatever came out of the program's environment, every
// header, the query of its address, and what is called a key.
func (s *server) keep(def *Server) {
	var found []string
	add := func(given, filled string, all bool) {
		if all {
			found = append(found, filled)
			if _, last, ok := strings.Cut(filled, " "); ok {
				found = append(found, last) // "Bearer" is no secret, what follows it is
			}
		}
		for rest := given; ; {
			_, after, ok := strings.Cut(rest, "${")
			name, next, closed := strings.Cut(after, "}")
			if !ok || !closed {
				return
			}
			if value, err := expand("${" + name + "}"); err == nil {
				found = append(found, value)
			}
			rest = next
		}
	}
	add(s.Command, def.Command, false)
	for i, a := range s.Args {
		add(a, def.Args[i], false)
	}
	for name, v := range s.Env {
		add(v, def.Env[name], secretive.MatchString(name))
	}
	for name, v := range s.Headers {
		add(v, def.Headers[name], true)
	}
	add(s.URL, def.URL, false)
	if u, err := url.Parse(def.URL); err == nil {
		found = append(found, u.RawQuery)
		for _, values := range u.Query() {
			found = append(found, values...)
		}
		if password, ok := u.User.Password(); ok {
			found = append(found, password)
		}
	}
	for _, v := range slices.Clone(found) {
		found = append(found, url.QueryEscape(v), url.PathEscape(v))
	}
	found = slices.DeleteFunc(found, func(v string) bool { return len(v) < shortest })
	// The longest first, so that no part of one is left behind.
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	s.mu.Lock()
	s.secrets = slices.Compact(found)
	s.mu.Unlock()
}

// told is an error as anybody may read it.
func (s *server) told(err error) string {
	s.mu.Lock()
	secrets := s.secrets
	s.mu.Unlock()
	text := clean(err.Error())
	for _, v := range secrets {
		text = strings.ReplaceAll(text, v, "[hidden]")
	}
	return text
}
