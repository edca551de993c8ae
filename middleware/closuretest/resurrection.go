package closuretest

import (
	"context"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/session"
)

// NoResurrection reports closed middlewares that an override or the host brought back.
const NoResurrection = "no-resurrection"

func override(id string) string { return "Closuretest wrote this in the place of " + id + "." }

// overrides are a document for each segment, and the keys that ask for it.
func overrides(segments []string) (keys []string, docs meta.Documents) {
	files := fstest.MapFS{}
	for _, id := range segments {
		files[id+".md"] = &fstest.MapFile{Data: []byte(override(id))}
	}
	return segments, meta.Documents{{Layer: "project", Dir: "prompts", FS: files}}
}

func noResurrection(ctx context.Context, t *trial) {
	set := setup{closed: t.closed}
	if len(t.closed) == 0 && t.own != nil {
		return // overrides of the project's own are looked at as they are
	}
	if len(t.closed) == 0 {
		// The absences of the other trials count only if an override shows while its owner is open.
		t.overridden(ctx, set)
		return
	}
	var ids []string
	for _, m := range t.list {
		for _, s := range m.Segments {
			if t.seen.gone[m.Name] && !t.base.gone[m.Name] {
				ids = append(ids, s.ID)
			}
		}
	}
	set.keys, set.docs = overrides(ids)
	s, err := t.open(ctx, set)
	if err != nil {
		t.failed("session", err)
		return
	}
	for _, id := range ids {
		if strings.Contains(systemText(s.System()), override(id)) {
			t.leak(t.segmentOwner(id), "segment "+id, "came back by its override")
		}
	}
	t.unchanged(s, "an override")
	t.host(s)
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
}

func (t *trial) overridden(ctx context.Context, set setup) {
	var ids []string
	for _, r := range t.seen.shown() {
		ids = append(ids, r.ID)
	}
	set.keys, set.docs = overrides(ids)
	s, err := t.open(ctx, set)
	if err != nil {
		t.failed("session", err)
		return
	}
	shown := map[string]bool{}
	for _, b := range s.System() {
		for _, id := range b.Segments {
			shown[id] = true
		}
	}
	for _, r := range s.Base().Segments() {
		if shown[r.ID] && !strings.Contains(systemText(s.System()), override(r.ID)) {
			t.leak(r.Owner, "segment "+r.ID, "is not what its override says")
		}
	}
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
}

// host tries whatever a host can switch.
func (t *trial) host(s *subject) {
	var all []string
	for tool := range t.owners {
		all = append(all, tool)
	}
	slices.Sort(all)
	try := map[string]func() error{
		"unpause":                 func() error { return s.Unpause(sorted(t.seen.gone)...) },
		"a host's list of all":    func() error { return s.SetTools(all, nil) },
		"a host's wildcard":       func() error { return s.SetTools([]string{"**"}, nil) },
		"a host's list by owners": func() error { return s.SetTools(owners(t.seen.gone), nil) },
		"an empty host's list":    func() error { return s.SetTools(nil, nil) },
	}
	for _, name := range sorted(try) {
		if err := try[name](); err != nil {
			t.failed(name, err)
		}
		for _, f := range s.Surface() {
			if t.seen.gone[f.Owner] {
				t.leak(f.Owner, f.Surface+" "+f.Name, "came back by %s", name)
			}
		}
		if err := s.SetTools(nil, nil); err != nil {
			t.failed(name, err)
		}
	}
	if err := s.Pause(t.closed...); err == nil {
		t.leak("", "pause", "takes %s, which is closed", strings.Join(t.closed, ", "))
	}
	t.unchanged(s, "the host")
}

func owners(gone map[string]bool) []string {
	var out []string
	for _, n := range sorted(gone) {
		out = append(out, "@"+n)
	}
	return out
}

// unchanged compares a session with what was seen of another with the same set closed.
func (t *trial) unchanged(s *subject, by string) {
	var was session.Surface
	for _, f := range t.seen.surface {
		if !strings.HasPrefix(f.Surface, session.ChildPrefix) {
			was = append(was, f)
		}
	}
	now := s.Surface()
	for _, f := range now.Minus(was) {
		t.leak(f.Owner, f.Surface+" "+f.Name, "appeared by %s", by)
	}
	for _, f := range was.Minus(now) {
		t.leak(f.Owner, f.Surface+" "+f.Name, "left by %s", by)
	}
	if a, b := systemText(t.seen.system), systemText(s.System()); a != b {
		t.leak(t.parted(t.seen.segments, s.Base().Segments()), "system prompt", "changed by %s: %s", by, difference(a, b))
	}
}

func (t *trial) segmentOwner(id string) string {
	for _, m := range t.list {
		for _, s := range m.Segments {
			if s.ID == id {
				return m.Name
			}
		}
	}
	return ""
}

// parted is the owner of the first segment whose text differs.
func (t *trial) parted(a, b []prompt.Rendered) string {
	for _, x := range a {
		for _, y := range b {
			if x.ID == y.ID && x.Text != y.Text {
				return x.Owner
			}
		}
	}
	return ""
}
