package middleware

import (
	"fmt"

	"github.com/metaharness/peri/meta"
)

// Status says what became of a middleware in a session.
type Status string

const (
	Live        Status = "live"
	Closed      Status = "closed"
	Cascaded    Status = "cascaded"
	Unsupported Status = "unsupported"
)

// Fate is one middleware's status with its cause.
type Fate struct {
	Name   string
	Status Status
	// Cause says why it is not live, in words; Origin is the entry of the meta map that decided, if one did.
	Cause  string
	Origin meta.Origin
}

// Plan decides, for every middleware of the suite in order, whether the state lets it exist. It opens nothing.
func (s *Suite) Plan(state *meta.State) []Fate {
	out := make([]Fate, len(s.all))
	for i := range s.all {
		m := &s.all[i]
		f := Fate{Name: m.Name, Status: Live}
		value, set := state.Explicit(m.Name)
		switch {
		case set && !value:
			f.Status, f.Origin = Closed, state.Why(m.Name).Origin
			f.Cause = "meta." + m.Name + ": false"
		case !set && m.Off:
			f.Status, f.Cause = Closed, "off unless meta."+m.Name+" is true"
		default:
			for _, r := range m.Requires {
				if need := out[s.index[r]]; need.Status != Live {
					f = cascaded(m.Name, need)
					break
				}
			}
		}
		out[i] = f
	}
	return out
}

// cascaded is the fate of what requires something that is not there.
func cascaded(name string, need Fate) Fate {
	return Fate{
		Name: name, Status: Cascaded, Origin: need.Origin,
		Cause: fmt.Sprintf("requires %s, which is %s", need.Name, need.Status),
	}
}
