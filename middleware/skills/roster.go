package skills

import (
	"fmt"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

const (
	// maxSummary bounds what the list of skills adds to every request, in bytes, and maxLine what one of them does. What
	// does not fit is found by searching.
	maxSummary = 8 << 10
	maxLine    = 300
)

// roster is a catalog with all that is derived from it: what the model is told and what a call resolves against are one
// list. It is immutable and shared by sessions.
type roster struct {
	catalog         *catalog.Catalog
	commands        map[string]string // by ID; "" = none
	tools, deferred *toolview.Set
	summary         string
	written         []string // the files of those that have one
	facts           []middleware.Fact
}

func newRoster(c *catalog.Catalog, reserved map[string]bool) *roster {
	r := &roster{catalog: c, commands: make(map[string]string, len(c.All()))}
	offered := 0
	for i := range c.All() {
		s := &c.All()[i]
		r.commands[s.ID] = c.Command(s, reserved)
		if s.ForModel() {
			offered++
		}
		if s.Origin.File != "" {
			r.written = append(r.written, s.Origin.File)
		}
		r.facts = append(r.facts, middleware.Fact{
			Surface: "skill", Name: s.ID, Doc: s.Description, Detail: detail(s),
		})
	}
	skill, discover := skillTool(r), discoverTool()
	if offered == 0 {
		why := "no skill is there for the model to load"
		skill.Unsupported, discover.Unsupported = why, why
	}
	r.tools, r.deferred = toolview.MustSet(skill), toolview.MustSet(discover)
	r.summary = r.summarize(offered)
	return r
}

// detail is a skill's fact: its level, its file and what is special about it.
func detail(s *catalog.Skill) string {
	words := []string{s.Origin.Layer, s.Origin.File}
	if !s.ForModel() {
		words = append(words, "not-for-model")
	}
	if s.NoUser {
		words = append(words, "not-for-user")
	}
	if s.Allow != nil || s.Deny != nil {
		words = append(words, "narrows")
	}
	return strings.Join(words, " ")
}

// summarize lists the skills that fit, by precedence.
func (r *roster) summarize(offered int) string {
	var b strings.Builder
	listed := 0
	for i := range r.catalog.All() {
		s := &r.catalog.All()[i]
		if !s.ForModel() {
			continue
		}
		l := "- " + r.called(s) + ": " + cut(s.Description, maxLine) + "\n"
		if b.Len()+len(l) > maxSummary {
			break
		}
		b.WriteString(l)
		listed++
	}
	if rest := offered - listed; rest > 0 {
		fmt.Fprintf(&b, "\n%d more skills are not listed here: a search for skills finds them by what they are for.\n", rest)
	}
	return strings.TrimRight(b.String(), "\n")
}

// called is how the model names a skill.
func (r *roster) called(s *catalog.Skill) string {
	if r.catalog.First(s) {
		return "`" + s.Name + "`"
	}
	return "`" + s.ID + "`"
}

// cut is a text on one line of at most n bytes, cut behind a word.
func cut(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[:n], "")
	if i := strings.LastIndexByte(text, ' '); i > n/2 {
		text = text[:i]
	}
	return text + " …"
}
