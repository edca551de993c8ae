package closuretest

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing/fstest"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/store/memory"
)

// Frozen reports what changed of a session although it is fixed.
const Frozen = "frozen"

// changed is what the kit writes into files while a session lives.
const changed = "ClosuretestChanged"

func frozen(ctx context.Context, t *trial) {
	root, err := t.folder()
	if err != nil {
		t.failed("root", err)
		return
	}
	set := setup{root: root}
	if shown := t.seen.shown(); len(shown) > 0 {
		set.keys, set.docs = overrides([]string{shown[0].ID})
	}
	s, err := t.open(ctx, set)
	if err != nil {
		t.failed("session", err)
		return
	}
	digest, surface := s.Digest(), s.Surface()
	for range t.turns() {
		if err := s.turn(prompted); err != nil {
			t.failed("turn", err)
		}
	}
	before := s.sent.requests()[0].prefix()
	t.same(s, "turns", digest, before)
	if err := disturb(root); err != nil {
		t.failed("files", err)
	}
	if len(set.keys) > 0 {
		files, _ := set.docs[0].FS.(fstest.MapFS)
		files[set.keys[0]+".md"] = &fstest.MapFile{Data: []byte(changed)}
	}
	for _, l := range s.opt.Layers {
		for i := range l.Entries {
			l.Entries[i].Value = !l.Entries[i].Value
		}
	}
	if err := s.turn(prompted); err != nil {
		t.failed("turn", err)
	}
	t.same(s, "changed files and layers", digest, before)
	if err := s.end(nil); err != nil {
		t.failed("session", err)
	}
	t.resumed(ctx, s, root, digest, before, surface)
}

// same compares a session's digest and last request with those of its beginning.
func (t *trial) same(s *subject, after, digest, prefix string) {
	if got := s.Digest(); got != digest {
		t.leak("", "digest", "changed after %s from %s to %s", after, digest, got)
	}
	sent := s.sent.requests()
	if got := sent[len(sent)-1].prefix(); got != prefix {
		t.leak(t.wrapper(), "system prompt and tools", "changed after %s: %s", after, difference(prefix, got))
	}
}

// resumed opens the journal as another process would read it.
func (t *trial) resumed(ctx context.Context, s *subject, root, digest, prefix string, surface session.Surface) {
	entries, err := s.store.Load(ctx, sessionID)
	var read []session.Entry
	if err == nil {
		err = json.Unmarshal([]byte(jsonOf(entries)), &read)
	}
	store := &memory.Store{}
	if err == nil {
		err = store.Append(ctx, sessionID, read...)
	}
	if err != nil {
		t.failed("journal", err)
		return
	}
	r, err := t.open(ctx, setup{root: root, store: store, resume: true})
	if err != nil {
		t.failed("resume", err)
		return
	}
	if got := r.Surface(); len(got.Minus(surface))+len(surface.Minus(got)) > 0 {
		for _, f := range append(got.Minus(surface), surface.Minus(got)...) {
			t.leak(f.Owner, f.Surface+" "+f.Name, "differs after a resume")
		}
	}
	if err := r.turn(prompted); err != nil {
		t.failed("resumed turn", err)
	}
	t.same(r, "a resume", digest, prefix)
	if err := r.end(nil); err != nil {
		t.failed("resumed session", err)
	}
}

// disturb writes into every file of a folder and into those that sessions are known to read.
func disturb(root string) error {
	files := []string{"AGENTS.md", "CLAUDE.md", filepath.Join(".peri", "AGENTS.md")}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if rel, bad := filepath.Rel(root, path); bad == nil && !slices.Contains(files, rel) {
				files = append(files, rel)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(changed+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}
