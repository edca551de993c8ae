package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// The levels that a skill can come from.
const (
	Project = "project"
	User    = "user"
	Mounted = "mount"
	Plugin  = "plugin"
)

// Mount is one folder of skills.
type Mount struct {
	// Name is the first part of its skills' IDs.
	Name string
	// Layer is the level: Project, User, Mounted or Plugin.
	Layer string
	// Root is a folder that no link below it may lead out of; Dir is the folder of skills in it, "." = Root itself.
	Root, Dir string
	// Shown is how people know the folder, At where settings name it, if they do.
	Shown string
	At    meta.Origin
	// Replace holds what texts say and what is meant, in turn.
	Replace []string
}

// LoadOptions say where skills are and which of them there are.
type LoadOptions struct {
	// Mounts are in order of precedence.
	Mounts []Mount
	Rules  Rules
	// Reserved are slash commands, lower case, whose names a skill does not get.
	Reserved map[string]bool
}

// Entry is a skill that was found, whether or not sessions have it.
type Entry struct {
	Skill
	// By is the rule that keeps it from sessions; its zero value = nothing does.
	By toolview.Selector
	// Command is its slash command, without the slash; "" = it has none.
	Command string
	// First says that its name means it and no other.
	First bool
	// Missing are the tools that it lists and that sessions do not have, as it names them.
	Missing []string
}

// Denied reports whether sessions lack it.
func (e *Entry) Denied() bool { return e.By != (toolview.Selector{}) }

// Load reads every mount. Nothing in a file makes it fail: one that cannot be taken as it is written is a diagnostic, and
// its skill is absent. Diagnostics and entries are in the order of reading.
func Load(o LoadOptions) (*Catalog, []Entry, []meta.Diagnostic, error) {
	rules, err := o.Rules.compile()
	if err != nil {
		return nil, nil, nil, err
	}
	l := loader{files: map[string]bool{}, ids: map[string]bool{}}
	for _, m := range o.Mounts {
		l.mount(m)
	}
	entries := make([]Entry, 0, len(l.skills))
	var allowed []Skill
	for i := range l.skills {
		by, denied := rules.denies(&l.skills[i])
		if !denied {
			allowed = append(allowed, l.skills[i])
		}
		entries = append(entries, Entry{Skill: l.skills[i], By: by})
	}
	c := New(allowed, o.Mounts)
	for i := range entries {
		if e := &entries[i]; !e.Denied() {
			e.First, e.Command = c.First(&e.Skill), c.Command(&e.Skill, o.Reserved)
			l.collisions(c, e)
		}
	}
	l.unmatched(rules)
	return c, entries, l.diags, nil
}

// collisions tells of a skill that does not have the name that it asks for.
func (l *loader) collisions(c *Catalog, e *Entry) {
	switch {
	case !e.First:
		first, _ := c.Lookup(e.Name)
		l.report(meta.SeverityInfo, "skill_shadowed", e.Origin, fmt.Sprintf("skill %s is the one of %s; this one is reached as %s", e.Name, first.Origin.File, e.ID), "")
	case e.Command != "" && e.Command != e.Name:
		l.report(meta.SeverityWarning, "skill_command", e.Origin, fmt.Sprintf("/%s is a command of its own; this skill is /%s", e.Name, e.Command), "rename the skill")
	}
}

type loader struct {
	skills []Skill
	diags  []meta.Diagnostic
	files  map[string]bool // real paths of what was read
	ids    map[string]bool // lower case
}

func (l *loader) report(severity meta.Severity, code string, origin meta.Origin, message, suggestion string) {
	l.diags = append(l.diags, meta.Diagnostic{Severity: severity, Code: code, Key: "skills", Origin: origin, Message: message, Suggestion: suggestion})
}

// skill takes one SKILL.md: at is its real path below the root, dir its folder as the mount sees it, name what it is
// called there.
func (w *walk) skill(at, dir, name string) {
	origin := meta.Origin{Layer: w.m.Layer, File: path.Join(w.m.Shown, dir, name)}
	refuse := func(why, suggestion string) {
		w.report(meta.SeverityError, "skill_broken", origin, why+"; the skill is left out", suggestion)
	}
	full := path.Join(filepath.ToSlash(w.root), at)
	if w.files[full] {
		return // one file under two paths is one skill
	}
	w.files[full] = true
	id := "@" + path.Join(w.m.Name, dir)
	switch {
	case strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || strings.ContainsRune("()|,:*?[]\\", r) }):
		refuse("its folder's name cannot stand in an id", "use "+legalNames)
		return
	case w.ids[strings.ToLower(id)]:
		refuse("its id "+id+" is another skill's but for the case", "rename the folder")
		return
	}
	raw, err := read(w.opened, at)
	if err != nil {
		refuse(plain(err).Error(), "make it a readable file")
		return
	}
	r := w.parsed(raw, dir)
	for _, p := range r.notes {
		w.tell(meta.SeverityWarning, "skill_field", origin, p, "")
	}
	for _, p := range r.bad {
		w.tell(meta.SeverityError, "skill_broken", origin, p, "; the skill is left out")
	}
	if len(r.bad) > 0 {
		return
	}
	s := r.skill
	if s.Description == "" {
		w.report(meta.SeverityWarning, "skill_undescribed", origin, fmt.Sprintf("skill %s has no description, so it is not offered to the model", s.Name), "write description: and when to use it")
	}
	sum := sha256.Sum256(raw)
	s.ID, s.Origin, s.Sum = id, origin, hex.EncodeToString(sum[:])
	w.ids[strings.ToLower(id)] = true
	w.skills = append(w.skills, s)
}

// parsed reads a file's text.
func (w *walk) parsed(raw []byte, dir string) *reader {
	doc, bad := split(raw)
	if bad != nil {
		return &reader{bad: []problem{*bad}}
	}
	if dir == "." {
		dir = w.m.Name
	}
	return define(doc, path.Base(dir))
}

func (l *loader) tell(severity meta.Severity, code string, origin meta.Origin, p problem, more string) {
	origin.Line, origin.Column = p.line, p.column
	l.report(severity, code, origin, p.message+more, p.suggestion)
}

// read looks before it opens, since opening a pipe would wait for a writer.
func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("over %d KiB", maxFile>>10)
	}
	return raw, err
}

// plain is an error without the machine's own paths, which the diagnostic's origin gives better.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Find finds what an ID means, else what has the name: more than one when the name is not unique.
func Find(entries []Entry, name string) []*Entry {
	var named []*Entry
	word := strings.TrimPrefix(name, "/")
	for i := range entries {
		switch e := &entries[i]; {
		case strings.EqualFold(e.ID, word):
			return []*Entry{e}
		case strings.EqualFold(e.Name, word):
			named = append(named, e)
		}
	}
	return named
}
