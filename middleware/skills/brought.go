package skills

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

// with is the roster with the skills that others bring into a session, behind all others. Nothing brought leaves it as it
// is.
func (r *roster) with(brought []toolview.Extra, reserved map[string]bool) (*roster, error) {
	all, mounts := slices.Clone(r.catalog.All()), r.catalog.Mounts()
	own, by := len(all), []string(nil)
	for _, x := range brought {
		var folders []catalog.Brought
		if err := json.Unmarshal(x.Value, &folders); err != nil {
			return nil, fmt.Errorf("skills: the skills of %s: %w", x.Owner, err)
		}
		for _, f := range folders {
			mounts, all = append(mounts, f.Mount), append(all, f.Skills...)
			by = append(by, slices.Repeat([]string{x.Owner}, len(f.Skills))...)
		}
	}
	if by == nil {
		return r, nil
	}
	out := newRoster(catalog.New(all, mounts), reserved)
	for i, owner := range by {
		out.facts[own+i].By = owner
	}
	return out, nil
}
