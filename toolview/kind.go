package toolview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// KindLists are lists for one kind of tool alone; the other kinds do not feel them.
type KindLists struct {
	Kind Kind `json:"kind"`
	// Allow nil = no list, empty = nothing of the kind.
	Allow []Selector `json:"allow"`
	Deny  []Selector `json:"deny,omitempty"`
	// Categories are globs of which one must match the tool's category; nil = no such filter. What has no category is
	// rejected by one.
	Categories []string    `json:"categories"`
	Origin     meta.Origin `json:"origin"`
}

// Kind is a kind of tool.
type Kind string

const (
	// Plain is every tool that is of no other kind.
	Plain Kind = "tools"
	// Served is the tools of servers, Skilled those that load skills.
	Served  Kind = "mcp"
	Skilled Kind = "skills"
)

func kindOf(d *Decl) Kind {
	switch {
	case d.inGroup("mcp"):
		return Served
	case d.inGroup("skill"):
		return Skilled
	}
	return Plain
}

type kindFrame struct {
	kind       Kind
	allow      *list
	deny       list
	categories []*pattern // nil = no filter
	filter     bool
	origin     meta.Origin
}

func newKindFrame(k KindLists) (*kindFrame, error) {
	f := &kindFrame{kind: k.Kind, origin: k.Origin, filter: k.Categories != nil}
	var errs []error
	if !slices.Contains([]Kind{Plain, Served, Skilled}, k.Kind) {
		errs = append(errs, &meta.Error{Origin: k.Origin, Message: fmt.Sprintf("%q is no kind of tool", k.Kind), Suggestion: "write tools, mcp or skills"})
	}
	if k.Allow != nil {
		l, err := compile(k.Allow, false)
		f.allow, errs = &l, append(errs, err)
	}
	deny, err := compile(k.Deny, true)
	f.deny, errs = deny, append(errs, err)
	for _, c := range k.Categories {
		p, err := globPattern(strings.ToLower(strings.TrimSpace(c)))
		if err != nil {
			errs = append(errs, &meta.Error{Origin: k.Origin, Message: fmt.Sprintf("category %q: %v", c, err), Suggestion: "write a category's name, or a pattern"})
			continue
		}
		f.categories = append(f.categories, p)
	}
	return f, errors.Join(errs...)
}

func (f *kindFrame) scoped() bool { return f.deny.scoped || f.allow != nil && f.allow.scoped }

func (f *kindFrame) judge(owner string, d *Decl, finder bool) (Gate, Selector) {
	if kindOf(d) != f.kind {
		return "", Selector{}
	}
	if f.allow != nil && !finder {
		if listed, _ := f.allow.lists(owner, d); !listed {
			return GateListed, Selector{Text: fmt.Sprintf("not among what %s allows", f.kind), Origin: f.origin}
		}
	}
	if f.filter && !finder && !f.has(d.Category) {
		return GateListed, Selector{Text: fmt.Sprintf("its category %q is not among the categories of %s", d.Category, f.kind), Origin: f.origin}
	}
	if s, ok := f.deny.denies(owner, d); ok {
		return GateDenied, s
	}
	return "", Selector{}
}

func (f *kindFrame) has(category string) bool {
	if category == "" {
		return false
	}
	for _, p := range f.categories {
		if p.match(strings.ToLower(category)) {
			return true
		}
	}
	return false
}

func (f *kindFrame) refuses(t *touch) *refusal {
	if kindOf(t.decl) != f.kind {
		return nil
	}
	if no := f.deny.refuses(t); no != nil || f.allow == nil {
		return no
	}
	return f.allow.restrains(t)
}
