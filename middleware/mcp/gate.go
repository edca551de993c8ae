package mcp

import (
	"errors"
	"strconv"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// gate is what a server's settings say about its tools.
type gate struct {
	allow        [][]toolview.Rule
	deny, direct []toolview.Rule
}

func newGate(s *Server) (*gate, error) {
	g := &gate{}
	var errs []error
	rules := func(from []toolview.Selector) []toolview.Rule {
		out := []toolview.Rule{}
		for _, sel := range from {
			r, err := toolview.ParseRule(own(sel.Text), sel.Origin)
			if err == nil && r.Scoped() {
				err = &meta.Error{Origin: sel.Origin, Message: "selector " + strconv.Quote(sel.Text) + ": a server's own lists take whole tools", Suggestion: "write it into tools.deny, with the tool's full name"}
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			out = append(out, r)
		}
		return out
	}
	for _, list := range s.Allow {
		g.allow = append(g.allow, rules(list))
	}
	g.deny, g.direct = rules(s.Deny), rules(s.Direct)
	return g, errors.Join(errs...)
}

// own makes a selector of a server's own names one of tools: here every tool is its.
func own(text string) string {
	terms := strings.Split(text, "|")
	for i, t := range terms {
		word := strings.TrimSpace(t)
		low := strings.ToLower(word)
		switch {
		case word == "*":
			terms[i] = "**" // its tools are private
		case word == "" || word == "**" || word[0] == '@' || low == "mcp" || strings.HasPrefix(low, "mcp:") || strings.HasPrefix(low, prefix):
		default:
			terms[i] = "mcp:*/" + word
		}
	}
	return strings.Join(terms, "|")
}

// offers reports whether the server's lists leave a tool.
func (g *gate) offers(d *toolview.Decl) bool {
	for _, list := range g.allow {
		if !listed(list, d) {
			return false
		}
	}
	return !covered(g.deny, d)
}

func listed(rules []toolview.Rule, d *toolview.Decl) bool {
	for i := range rules {
		if rules[i].Selects(Name, d) {
			return true
		}
	}
	return false
}

func covered(rules []toolview.Rule, d *toolview.Decl) bool {
	for i := range rules {
		if rules[i].Covers(Name, d) {
			return true
		}
	}
	return false
}
