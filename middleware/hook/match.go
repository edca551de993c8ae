package hook

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// compiled is one hook with its matcher.
type compiled struct {
	Entry
	index int
	names []string // lower case: the matcher is nothing but names
	re    *regexp.Regexp
}

// compile refuses what could not run, since a hook that is written is meant to.
func compile(entries []Entry) ([]compiled, error) {
	out := make([]compiled, 0, len(entries))
	var errs []error
	for i, e := range entries {
		c := compiled{Entry: e, index: i}
		if err := c.check(); err != nil {
			errs = append(errs, fmt.Errorf("hook: %w", &meta.Error{Origin: e.Origin, Key: "hooks." + e.Event, Message: err.Error()}))
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

var plainNames = regexp.MustCompile(`^[A-Za-z0-9_\- |,]+$`)

func (c *compiled) check() error {
	switch {
	case c.Type == "" && c.Command != "":
		c.Type = "command"
	case c.Type == "command" && strings.TrimSpace(c.Command) == "":
		return errors.New("a command hook needs a command")
	case c.Type == "http":
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("url %q: write an http or https address", c.URL)
		}
	case c.Type != "command" && c.Type != "prompt":
		return fmt.Errorf("type %q: write command or http", c.Type)
	}
	if c.Timeout < 0 {
		return errors.New("timeout: write a number of seconds above 0")
	}
	switch m := c.Matcher; {
	case m == "" || m == "*":
	case plainNames.MatchString(m):
		for name := range strings.FieldsFuncSeq(m, func(r rune) bool { return r == '|' || r == ',' }) {
			c.names = append(c.names, strings.ToLower(strings.TrimSpace(name)))
		}
	default:
		re, err := regexp.Compile("(?i)" + m)
		if err != nil {
			return fmt.Errorf("matcher %q: %w", m, err)
		}
		c.re = re
	}
	return nil
}

// matches reports whether the hook is about one of these words, which are lower case.
func (c *compiled) matches(words ...string) bool {
	if c.names == nil && c.re == nil || matched[c.Event] == "" {
		return true
	}
	for _, w := range words {
		if c.re != nil && c.re.MatchString(w) || slices.Contains(c.names, w) {
			return true
		}
	}
	return false
}

// names are the words by which matchers know a tool: its name and aliases, and those of the tool whose rules hold for it,
// so that a guard of Bash also guards what starts in the background.
func names(t *toolview.Tool) []string {
	out := make([]string, 0, 1+len(t.Aliases)+len(t.DeniedWith))
	out = append(out, strings.ToLower(t.Name))
	for _, list := range [...][]string{t.Aliases, t.DeniedWith} {
		for _, a := range list {
			out = append(out, strings.ToLower(a))
		}
	}
	return out
}
