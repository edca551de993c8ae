package toolview

import (
	"errors"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Missing lists those of the required servers and tools that no owner of the chain offers, whatever lists and pauses
// say. An entry is a server's name or pattern, server/tool, or a tool's qualified name; case does not count.
func (v *View) Missing(required []string) ([]string, error) {
	var out []string
	var errs []error
	for _, text := range required {
		word := strings.TrimSpace(text)
		if !strings.Contains(word, "__") && !strings.Contains(word, ":") {
			word = "mcp:" + word
		}
		r, err := ParseRule(word, meta.Origin{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !v.offers(&r) {
			out = append(out, text)
		}
	}
	return out, errors.Join(errs...)
}

func (v *View) offers(r *Rule) bool {
	for i, set := range v.sets {
		for _, t := range set.All() {
			if r.Selects(v.bands[i].Owner, &t.Decl) {
				return true
			}
		}
	}
	return false
}
