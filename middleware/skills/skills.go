// Package skills lets models and people load written know-how: folders with a SKILL.md in the Agent Skills format.
//
// What is frozen at a session's creation is the catalog: which skills there are, their names, descriptions and limits.
// The text of a skill is read when it is loaded, from the real path that its place leads to then. One that has changed
// since is loaded as it is now, under its frozen limits, and whoever watches the session is told; one that is gone or
// cannot be read fails to load with the reason, and stays in the catalog.
//
// A skill's allowed-tools and disallowed-tools only narrow: from the moment it is loaded until the next prompt, calls
// that its lists do not let pass are refused, for the session and for every child that it makes or continues meanwhile; a
// child made meanwhile stays bound. The view does not change, so that the prompt cache lives on. Loading a further skill
// narrows further. A skill never gives what the session lacks, nor spares an approval.
package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = catalog.Owner

// The tools of the middleware.
const (
	SkillTool    = catalog.ToolName
	DiscoverTool = "DiscoverSkills"
)

// Options are the skills that sessions have. They are the session's policy, but for the places that texts are read from.
type Options struct {
	// Catalog is what is allowed of the skills that were found; nil = none. What other middlewares bring as extras comes
	// behind it, and its texts are read from the catalog's mounts too.
	Catalog *catalog.Catalog
	// Reserved are slash commands of others, lower case: a skill of that name is called by its qualified id.
	Reserved map[string]bool
}

// New makes the middleware. What is derived from the catalog is made once and shared by every session.
func New(o Options) middleware.Middleware {
	raw, err := json.Marshal(o.Catalog)
	if err != nil {
		panic(fmt.Sprintf("skills: %v", err)) // plain text always marshals
	}
	f := factory{o: o, policy: raw, roster: newRoster(o.Catalog, o.Reserved)}
	return middleware.Middleware{
		Name: Name,
		Doc:  "Loads written know-how from folders of skills, for the model or by slash command.",
		Segments: []prompt.Segment{{
			ID: "13_skills", Zone: prompt.Live, Order: 130, Text: prompt.Text("13_skills"),
			Needs: []string{SkillTool}, Vars: []string{"skills"},
		}},
		Tools:       toolview.MustSet(skillTool(nil)),
		Deferred:    toolview.MustSet(discoverTool()),
		RouteFamily: true,
		Policy:      raw,
		Open:        f.open,
	}
}

// factory opens the middleware. It is immutable.
type factory struct {
	o      Options
	policy []byte
	roster *roster
}

// open serves the policy that the session was created with, which after a resume may be another than the program's.
func (f *factory) open(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
	r := f.roster
	brought := env.Extras(toolview.ExtraSkills)
	if !bytes.Equal(env.Policy, f.policy) || len(brought) > 0 {
		var all []catalog.Skill
		var by []string
		for _, raw := range append([]toolview.Extra{{Value: env.Policy}}, brought...) {
			var some []catalog.Skill
			if err := json.Unmarshal(raw.Value, &some); err != nil {
				return nil, fmt.Errorf("skills: the session's skills: %w", err)
			}
			all = append(all, some...)
			by = append(by, slices.Repeat([]string{raw.Owner}, len(some))...)
		}
		r = newRoster(catalog.New(all, f.o.Catalog.Mounts()), f.o.Reserved)
		for i, owner := range by {
			r.facts[i].By = owner
		}
	}
	if len(r.catalog.All()) == 0 {
		return &middleware.Instance{Unsupported: "no skill is there, or all are denied"}, nil
	}
	return instance(&session{roster: r, notice: env.Notice}), nil
}

// child serves an agent, which is bound by what binds its parent as long as it lives.
func (s *session) child(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
	k := &session{roster: s.roster, notice: env.Notice, parent: s}
	var err error
	if env.Resumed {
		err = k.restore(ctx, env.Store)
	} else {
		err = k.inherit(ctx, env.Store, s.bonds())
	}
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	return instance(k), nil
}

func instance(s *session) *middleware.Instance {
	return &middleware.Instance{
		State:    s,
		Tools:    s.roster.tools,
		Deferred: s.roster.deferred,
		Vars:     map[string]string{"skills": s.roster.summary},
		Routes:   s.routes(),
		Facts:    func() []middleware.Fact { return s.roster.facts },
		Written:  s.roster.written,
		Hooks:    middleware.Hooks{Input: s.input, Rewrite: s.rewrite, Stop: s.stop},
		Child:    s.child,
	}
}
