// Package catalog reads skills from their folders and is the one list of them that a session has: what is shown, found,
// loaded and counted comes from here, after one decision about what is allowed.
package catalog

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Skill is what a session keeps of one SKILL.md: all but its text, which is read when it is loaded.
type Skill struct {
	// ID is @mount/path, which nothing else has. Name is what people and models call it; of several with one name the
	// first has it.
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Hint says what may follow its slash command.
	Hint string `json:"hint,omitempty"`
	// NoModel keeps it from the model, NoUser from the slash commands; neither touches the other.
	NoModel bool `json:"no_model,omitempty"`
	NoUser  bool `json:"no_user,omitempty"`
	// Allow and Deny narrow what may be called while it is at work; Allow nil = no such list, empty = nothing.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
	// Sum is the SHA-256 of its file, in hex.
	Sum string `json:"sum"`
	// Origin is its level, and its file as people know it.
	Origin meta.Origin `json:"origin"`
}

// ForModel reports whether a model is offered the skill. One that says nothing of what it is for is not.
func (s *Skill) ForModel() bool { return !s.NoModel && s.Description != "" }

// qualified is the ID as a slash command can spell it.
func (s *Skill) qualified() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.ID, "@"), "/", ":")
}

var legal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

const legalNames = "1 to 64 of a-z A-Z 0-9 _ . -, a letter or digit first"

// Catalog is the skills of a session, by precedence. It is immutable and safe for concurrent use; a nil Catalog is empty.
type Catalog struct {
	skills []Skill
	byName map[string]int // lower case → the first of that name
	byID   map[string]int // lower case
	mounts map[string]Mount
}

// New holds skills in their order of precedence. Their texts are read from the mounts.
func New(skills []Skill, mounts []Mount) *Catalog {
	c := &Catalog{
		skills: skills, byName: make(map[string]int, len(skills)), byID: make(map[string]int, len(skills)),
		mounts: make(map[string]Mount, len(mounts)),
	}
	for i := range skills {
		if name := strings.ToLower(skills[i].Name); !has(c.byName, name) {
			c.byName[name] = i
		}
		c.byID[strings.ToLower(skills[i].ID)] = i
	}
	for _, m := range mounts {
		c.mounts[m.Name] = m
	}
	return c
}

func has(m map[string]int, key string) bool { _, ok := m[key]; return ok }

// All returns the skills by precedence. The slice is not to be changed.
func (c *Catalog) All() []Skill {
	if c == nil {
		return nil
	}
	return c.skills
}

// Mounts are the folders that texts are read from, in no order.
func (c *Catalog) Mounts() []Mount {
	var out []Mount
	if c != nil {
		for _, m := range c.mounts {
			out = append(out, m)
		}
	}
	return out
}

// Where is the catalog of those skills that keep wants.
func (c *Catalog) Where(keep func(*Skill) bool) *Catalog {
	var kept []Skill
	for i := range c.All() {
		if keep(&c.skills[i]) {
			kept = append(kept, c.skills[i])
		}
	}
	return New(kept, c.Mounts())
}

// Lookup finds a skill by its ID or by its name; a slash before it and case do not count.
func (c *Catalog) Lookup(name string) (*Skill, bool) {
	if c == nil {
		return nil, false
	}
	word := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "/"))
	index := c.byName
	if strings.HasPrefix(word, "@") {
		index = c.byID
	}
	i, ok := index[word]
	if !ok {
		return nil, false
	}
	return &c.skills[i], true
}

// First reports whether a skill is the one that its name means.
func (c *Catalog) First(s *Skill) bool {
	i, ok := c.byName[strings.ToLower(s.Name)]
	return ok && c.skills[i].ID == s.ID
}

// Command is the slash command of a skill: its name, or its qualified ID when the name means another one or is among the
// reserved, which are lower case. "" = people cannot call it.
func (c *Catalog) Command(s *Skill, reserved map[string]bool) string {
	switch {
	case s.NoUser:
		return ""
	case !c.First(s) || reserved[strings.ToLower(s.Name)]:
		return s.qualified()
	}
	return s.Name
}

// MarshalJSON writes the skills; the mounts are another on every machine.
func (c *Catalog) MarshalJSON() ([]byte, error) {
	skills := c.All()
	if skills == nil {
		skills = []Skill{}
	}
	return json.Marshal(skills)
}
