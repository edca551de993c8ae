package subagent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

const (
	// generatedKey is where a session keeps the agents of its own making.
	generatedKey = "generated"
	// maxGenerated and maxBody bound what a model can make a session keep.
	maxGenerated = 32
	maxBody      = 64 << 10
)

// state is the agents of one session: the roster, which never changes, and those that the model made. It is safe for
// concurrent use.
type state struct {
	roster *roster
	limits *limits
	store  middleware.Store
	root   string // the project's folder; "" = there is none

	mu        sync.Mutex
	generated []Definition // in the order of their making
}

// restore brings the generated agents of a resumed session back.
func (s *state) restore(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	raw, ok, err := s.store.Load(ctx, generatedKey)
	if err != nil || !ok {
		return err
	}
	if err := json.Unmarshal(raw, &s.generated); err != nil {
		return fmt.Errorf("subagent: the session's generated agents: %w", err)
	}
	return nil
}

// made are the generated agents.
func (s *state) made() []Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.generated)
}

// generate adds an agent, or puts it in the place of an earlier one that was generated under its name. bad is what the
// model reads.
func (s *state) generate(ctx context.Context, d Definition) (bad string, err error) {
	d.Origin = meta.Origin{Layer: "generated"}
	if taken, ok := s.roster.catalog.Lookup(d.Name); ok {
		return fmt.Sprintf("The name `%s` is taken by an agent of %s: choose another.", taken.Name, taken.source()), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(s.generated), func(g Definition) bool { return g.Name == d.Name })
	if next = append(next, d); len(next) > maxGenerated {
		return fmt.Sprintf("A session can have %d generated agents: use one of those there are, or define it anew under its name.", maxGenerated), nil
	}
	if s.store != nil {
		raw, err := json.Marshal(next)
		if err != nil {
			return "", fmt.Errorf("subagent: %w", err)
		}
		if err := s.store.Save(ctx, generatedKey, raw); err != nil {
			return "", fmt.Errorf("subagent: keeping agent %s: %w", d.Name, err)
		}
	}
	s.generated = next
	return "", nil
}

// lookup finds what the model may call: an offered agent, or one that it made.
func (s *state) lookup(name string) (*Definition, bool) {
	if d, ok := s.roster.lookup(name); ok {
		return d, true
	}
	for _, d := range s.made() {
		if d.Name == name {
			return &d, true
		}
	}
	return nil, false
}

// Agent completes a spawn by a definition of the session, also one that is not offered to the model.
func (s *state) Agent(name string) (toolview.Spawn, bool) {
	d, ok := s.lookup(name)
	if !ok {
		d, ok = s.roster.catalog.Lookup(name)
	}
	if !ok {
		return toolview.Spawn{}, false
	}
	return s.bounded(d.Spawn()), true
}

// bounded holds a spawn to the session's limit of steps.
func (s *state) bounded(sp toolview.Spawn) toolview.Spawn {
	if most := s.limits.Load().MaxTurns; sp.MaxTurns <= 0 || sp.MaxTurns > most {
		sp.MaxTurns = most
	}
	return sp
}

// List is the definitions by name, then the generated ones.
func (s *state) List() []middleware.AgentInfo {
	var out []middleware.AgentInfo
	for _, d := range slices.Concat(s.roster.catalog.All(), s.made()) {
		out = append(out, d.Info())
	}
	return out
}

// unknown is the answer to a name that nobody here has.
func (s *state) unknown(name string) string {
	names := slices.Clone(s.roster.offered)
	for _, d := range s.made() {
		names = append(names, d.Name)
	}
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	if len(names) == 0 {
		return fmt.Sprintf("There is no agent `%s`, and none is listed. Leave `agent` out to fork.", name)
	}
	text := fmt.Sprintf("There is no agent `%s`.", name)
	if near := meta.Nearest(name, names); len(near) > 0 {
		text += fmt.Sprintf(" Did you mean `%s`?", near[0])
	}
	return text + " Agents: `" + strings.Join(names, "`, `") + "`. Leave `agent` out to fork."
}
