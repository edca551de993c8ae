package subagent

import (
	"encoding/json"
	"fmt"

	"github.com/metaharness/peri/toolview"
)

// with is the roster with the agents that others bring into a session, which stand between the built-in ones and all
// others. Nothing brought leaves it as it is.
func (r *roster) with(brought []toolview.Extra) (*roster, error) {
	var more []Definition
	for _, x := range brought {
		var defs []Definition
		if err := json.Unmarshal(x.Value, &defs); err != nil {
			return nil, fmt.Errorf("subagent: the agents of %s: %w", x.Owner, err)
		}
		for _, d := range defs {
			d.by = x.Owner
			more = append(more, d)
		}
	}
	if len(more) == 0 {
		return r, nil
	}
	return newRoster(r.catalog.under(more), r.limits), nil
}

// under is the catalog with definitions that give way to any but built-in ones.
func (c *Catalog) under(more []Definition) *Catalog {
	var defs, builtIn []Definition
	for _, d := range c.All() {
		if d.Origin.Layer == BuiltIn {
			builtIn = append(builtIn, d)
		} else {
			defs = append(defs, d)
		}
	}
	return NewCatalog(append(append(defs, more...), builtIn...)...)
}
