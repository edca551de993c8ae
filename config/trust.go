package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/metaharness/peri/meta"
)

// Standing is what the user has said about the project's folder. Digest is that of the entries of the project and
// local layers that could run code, widen or close, with Options.Risks; "" when there are none, and then nothing needs
// trust.
type Standing struct {
	Trusted  bool
	Digest   string
	Withheld []Withheld // empty when trusted; by layer, then position
}

// Withheld is one entry that is read and not applied.
type Withheld struct {
	Key    string
	Origin meta.Origin
	Why    string
}

func untrusted(name string) bool { return name == Project || name == Local }

// judge compares what the project wants with what the user has agreed to, and gives the layers' trees without what is
// withheld.
func judge(l *Loaded, layers []*layer, more []string, found *problems) []*value {
	mode := trustedMode(layers)
	var (
		lines []string
		all   []*value
	)
	for _, y := range layers {
		if y.tree == nil {
			continue
		}
		if !untrusted(y.Name) {
			all = append(all, y.tree)
			continue
		}
		s := sieve{layer: y.Name, mode: mode}
		all = append(all, s.strip(&tree, y.tree, ""))
		slices.SortStableFunc(s.withheld, func(a, b Withheld) int { return comparePlaces(a.Origin, a.Key, b.Origin, b.Key) })
		l.Trust.Withheld = append(l.Trust.Withheld, s.withheld...)
		for _, e := range y.meta {
			if !e.Value {
				s.lines = append(s.lines, line("closes", y.Name, e.Key, nil))
			}
		}
		lines = append(lines, s.lines...)
	}
	for _, m := range more {
		lines = append(lines, line("risk", "", m, nil))
	}
	if len(lines) == 0 {
		l.Trust.Trusted = true
		return trees(layers)
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, s := range lines {
		sum.Write([]byte(s + "\n"))
	}
	l.Trust.Digest = hex.EncodeToString(sum.Sum(nil))
	var err error
	if l.Trust.Trusted, err = Trusted(l.Home, l.Root, l.Trust.Digest); err != nil {
		found.warn("trust_unreadable", meta.Origin{File: trustFile(l.Home)}, "", err.Error(), "repair or remove the file; until then nothing is trusted")
	}
	if l.Trust.Trusted {
		l.Trust.Withheld = nil
		return trees(layers)
	}
	for _, w := range l.Trust.Withheld {
		found.warn("untrusted", w.Origin, w.Key, w.Key+" is not applied: "+w.Why, "peri trust, once you have read it")
	}
	return all
}

// line is one entry of the digest, in a form that no other entry can have.
func line(what, layer, key string, v any) string {
	b, err := json.Marshal([]any{what, layer, key, v})
	if err != nil {
		// Every value comes from a parsed file, which holds nothing that JSON cannot write.
		panic(err)
	}
	return string(b)
}

// trustedMode is the mode below the project's layers.
func trustedMode(layers []*layer) string {
	for _, y := range layers {
		if y.Name == Global {
			perms, _ := y.tree.member("permissions")
			if mode, ok := perms.value.member("mode"); ok {
				return mode.scalar.(string)
			}
		}
	}
	return "default"
}

// sieve takes the risky entries out of one layer.
type sieve struct {
	layer, mode string
	withheld    []Withheld
	lines       []string
}

func (s *sieve) strip(n *node, v *value, path string) *value {
	out := &value{kind: mapping, at: v.at}
	for _, m := range v.members {
		under, at := n.at(m.name), join(path, m.name)
		if under == nil {
			out.members = append(out.members, m)
			continue
		}
		if why := s.why(under, m.value); why != "" {
			s.withheld = append(s.withheld, Withheld{at, m.at, why})
			s.lines = append(s.lines, line("sets", s.layer, at, m.plain()))
			continue
		}
		if m.kind == mapping {
			m.value = s.strip(under, m.value, at)
		}
		out.members = append(out.members, m)
	}
	return out
}

func (s *sieve) why(n *node, v *value) string {
	switch n.risk {
	case risky:
		return "it could run code or widen what is allowed, and the project is not trusted"
	case riskyTrue, riskyFalse:
		if v.scalar == (n.risk == riskyTrue) {
			return fmt.Sprintf("%t widens what is allowed, and the project is not trusted", v.scalar)
		}
	case riskyMode:
		if mode := v.scalar.(string); slices.Index(modes, mode) > slices.Index(modes, s.mode) {
			return fmt.Sprintf("%s is wider than %s, and the project is not trusted", mode, s.mode)
		}
	}
	return ""
}

// UntrustedClosings lists the entries of an untrusted project or local layer that decide that a middleware with gates
// is closed. A caller that runs sessions refuses to while there are any. gates says whether a middleware has some.
func (l *Loaded) UntrustedClosings(gates func(middleware string) bool) []meta.Entry {
	if l.Trust.Trusted {
		return nil
	}
	type decided struct {
		meta.Entry
		layer string
	}
	last := map[string]decided{}
	var order []string
	ownClosing := map[string]bool{}
	for _, layer := range l.Meta {
		for _, e := range layer.Entries {
			name := e.Key
			if k, ok := l.keys.Lookup(name); ok {
				name = k.Name
			}
			if _, ok := last[name]; !ok {
				order = append(order, name)
			}
			if layer.Name == Global && !e.Value {
				ownClosing[name] = true
			}
			last[name] = decided{e, layer.Name}
		}
	}
	var out []meta.Entry
	for _, name := range order {
		if d := last[name]; !d.Value && untrusted(d.layer) && !ownClosing[name] && gates(name) {
			out = append(out, d.Entry)
		}
	}
	return out
}

type trustJSON struct {
	Version  int               `json:"version"`
	Projects map[string]string `json:"projects"` // real path of the root → digest
}

func trustFile(home string) string { return filepath.Join(home, "trust.json") }

// Trusted says whether the user has trusted exactly this digest for the project. An error comes with false.
func Trusted(home, root, digest string) (bool, error) {
	store, err := readTrust(home)
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false, fmt.Errorf("config: trust: %w", err)
	}
	return digest != "" && store.Projects[real] == digest, nil
}

// Trust records that the user trusts the project as it is: the Digest of its Standing. The empty digest takes trust
// back. It writes home/trust.json, readable by its user alone, and never into the project.
func Trust(home, root, digest string) error {
	store, err := readTrust(home)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("config: trust: %w", err)
	}
	if digest == "" {
		delete(store.Projects, real)
	} else {
		store.Projects[real] = digest
	}
	b, err := json.MarshalIndent(store, "", "  ")
	if err != nil {
		return fmt.Errorf("config: trust: %w", err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("config: trust: %w", err)
	}
	return WriteFile(trustFile(home), append(b, '\n'), 0o600)
}

func readTrust(home string) (trustJSON, error) {
	store := trustJSON{Version: 1, Projects: map[string]string{}}
	b, err := os.ReadFile(trustFile(home))
	if errors.Is(err, fs.ErrNotExist) {
		return store, nil
	}
	if err != nil {
		return store, fmt.Errorf("config: trust: %w", err)
	}
	if err := json.Unmarshal(b, &store); err != nil {
		return store, fmt.Errorf("config: trust: %s: %w", trustFile(home), err)
	}
	if store.Version != 1 {
		return store, fmt.Errorf("config: trust: %s: unknown version %d", trustFile(home), store.Version)
	}
	if store.Projects == nil {
		store.Projects = map[string]string{}
	}
	return store, nil
}
