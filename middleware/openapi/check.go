package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/address"
)

func (o Options) check() error {
	var errs []error
	names := map[string]bool{}
	for _, s := range o.Sources {
		fail := func(key, format string, args ...any) {
			errs = append(errs, &meta.Error{
				Origin: s.Origin, Key: "openapi.sources." + s.Name + key, Message: fmt.Sprintf(format, args...),
			})
		}
		if names[s.Name] {
			fail("", "is there twice")
		}
		names[s.Name] = true
		if s.Name == "" || s.Document == "" {
			fail("", "needs a name and a document")
		}
		if isAddress(s.Document) {
			if _, err := address.Parse(s.Document); err != nil {
				fail(".document", "%v", err)
			}
		}
		if s.Base != "" {
			u, err := address.Parse(s.Base)
			if err == nil && (u.RawQuery != "" || u.Fragment != "") {
				err = errors.New("leave out what follows the path")
			}
			if err != nil {
				fail(".base", "%v", err)
			}
		}
		if _, err := newGate(s); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("openapi: %w", errors.Join(errs...))
	}
	return nil
}

func isAddress(document string) bool {
	low := strings.ToLower(document)
	return strings.HasPrefix(low, "http://") || strings.HasPrefix(low, "https://")
}

// gate is which operations of a source are offered.
type gate struct {
	allow [][]toolview.Rule
	deny  []toolview.Rule
}

func newGate(s Source) (gate, error) {
	var g gate
	var errs []error
	rules := func(list []toolview.Selector) []toolview.Rule {
		out := []toolview.Rule{}
		for _, sel := range list {
			r, err := toolview.ParseRule(sel.Text, sel.Origin)
			if err == nil && r.Scoped() {
				err = &meta.Error{Origin: sel.Origin, Message: fmt.Sprintf("%q has parentheses, and a source's list offers an operation or does not", sel.Text), Suggestion: "write permissions rules about calls"}
			}
			errs = append(errs, err)
			out = append(out, r)
		}
		return out
	}
	for _, list := range s.Allow {
		g.allow = append(g.allow, rules(list))
	}
	g.deny = rules(s.Deny)
	return g, errors.Join(errs...)
}

// offers reports whether a tool passes: it is judged under its own name and under that of its operation.
func (g *gate) offers(d toolview.Decl) bool {
	bare := toolview.Decl{Name: plainName(d.Leaf), Aliases: []string{d.Leaf}, Family: d.Family, Category: d.Category}
	meets := func(list []toolview.Rule) bool {
		for i := range list {
			if list[i].Covers(Name, &d) || list[i].Covers(Name, &bare) {
				return true
			}
		}
		return false
	}
	for _, list := range g.allow {
		if !meets(list) {
			return false
		}
	}
	return !meets(g.deny)
}

// sourceParts are the parts of tool names that stand for sources: unique, at most 24 bytes, without "__" and without "_" at
// an end, so that a name has one reading whatever an operation is called. It depends on what is set up and not on what
// has been read.
func sourceParts(sources []Source) map[string]string {
	count := map[string]int{}
	plain := func(name string) string {
		p := plainName(name)
		for strings.Contains(p, "__") {
			p = strings.ReplaceAll(p, "__", "_")
		}
		return strings.Trim(p, "_")
	}
	for _, s := range sources {
		count[strings.ToLower(plain(s.Name))]++
	}
	out := map[string]string{}
	for _, s := range sources {
		p := plain(s.Name)
		if p == "" || len(p) > 24 || count[strings.ToLower(p)] > 1 {
			p = strings.Trim(cut(p, 24-hashLen-1), "_")
			p = strings.TrimPrefix(p+"_"+hash(s.Name), "_")
		}
		out[s.Name] = p
	}
	return out
}

// maxName is the longest name of a tool that every vendor takes.
const maxName = 64

// toolNames names the operations of one source. Names that would be equal, also when case is ignored, are told apart by a
// hash of what they stand for, as is a name that had to be cut; collisions are what had to be told apart.
func toolNames(part string, ids []string) (names, collisions []string) {
	count := map[string]int{}
	for _, id := range ids {
		count[strings.ToLower(plainName(id))]++
	}
	names = make([]string, len(ids))
	for i, id := range ids {
		full := Prefix + part + "__" + plainName(id)
		twice := count[strings.ToLower(plainName(id))] > 1
		if twice || len(full) > maxName {
			full = cut(full, maxName-hashLen-1) + "_" + hash(id)
		}
		if twice {
			collisions = append(collisions, id)
		}
		names[i] = full
	}
	return names, collisions
}

// plainName is a text with what a tool's name cannot hold replaced.
func plainName(text string) string {
	b := []byte(text)
	for i, c := range b {
		if !(c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			b[i] = '_'
		}
	}
	return string(b)
}

const hashLen = 8

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLen]
}

func cut(text string, n int) string { return text[:min(len(text), n)] }
