package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/middleware/skills/catalog"
)

func (p *program) skillCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "The skills that are there, denied ones too, and where they come from", Args: takes(),
		RunE: func(*cobra.Command, []string) error { return p.listSkills() },
	}
	inspect := &cobra.Command{
		Use: "inspect NAME", Short: "All that is known of one skill, by its name or id", Args: takes("NAME"),
		Long: "Shows one skill: where it is, whether sessions have it and by which rule not, who may load it and what it narrows.\n" +
			"It exits with 1 when there is none of that name or id, or several of that name.",
		RunE: func(_ *cobra.Command, args []string) error { return p.inspectSkill(args[0]) },
	}
	for _, c := range []*cobra.Command{list, inspect} {
		c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	}
	return group("skill", "List, inspect, enable and disable skills", list, inspect, p.editCommand(config.Enable, true), p.editCommand(config.Disable, true))
}

// skillRow is one skill as --json shows it. State is on, denied or closed.
type skillRow struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Origin      string            `json:"origin"`
	File        string            `json:"file"`
	State       string            `json:"state"`
	Cause       string            `json:"cause,omitempty"`
	CauseFile   string            `json:"causeFile,omitempty"`
	CauseLine   int               `json:"causeLine,omitempty"`
	Command     string            `json:"command,omitempty"`
	Hint        string            `json:"argumentHint,omitempty"`
	First       bool              `json:"first"`
	ForModel    bool              `json:"forModel"`
	ForUser     bool              `json:"forUser"`
	Allow       []string          `json:"allowedTools"`
	Deny        []string          `json:"disallowedTools,omitempty"`
	Missing     []string          `json:"missing,omitempty"`
	Diagnostics []meta.Diagnostic `json:"diagnostics,omitempty"`
}

// skillRows are the skills of a setup.
func skillRows(setup *builtin.Setup) ([]skillRow, error) {
	plan, err := planned(setup)
	if err != nil {
		return nil, err
	}
	closed, cause := false, meta.Origin{}
	for _, m := range plan.Middlewares {
		if m.Name == skills.Name && m.State != "live" {
			closed, cause = true, m.Origin
		}
	}
	out := make([]skillRow, 0, len(setup.Skills))
	for i := range setup.Skills {
		e := &setup.Skills[i]
		row := skillRow{
			ID: e.ID, Name: e.Name, Description: e.Description, Origin: e.Origin.Layer, File: e.Origin.File, State: "on",
			Hint: e.Hint, First: e.First, ForModel: e.ForModel(), ForUser: !e.NoUser, Allow: e.Allow, Deny: e.Deny, Missing: e.Missing,
		}
		switch {
		case closed:
			row.State, row.Cause, row.CauseFile, row.CauseLine = "closed", skills.Name+" is closed", cause.File, cause.Line
		case e.Denied():
			row.State, row.Cause, row.CauseFile, row.CauseLine = "denied", e.By.Text, e.By.Origin.File, e.By.Origin.Line
		case e.Command != "":
			row.Command = "/" + e.Command
		}
		for _, d := range setup.Diagnostics {
			if d.Key == "skills" && d.Origin.File == e.Origin.File {
				row.Diagnostics = append(row.Diagnostics, d)
			}
		}
		out = append(out, row)
	}
	return out, nil
}

func (p *program) listSkills() (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	rows, err := skillRows(setup)
	if err != nil {
		return err
	}
	var found []meta.Diagnostic
	for _, d := range setup.Diagnostics {
		if d.Key == "skills" || strings.HasPrefix(d.Key, "skills.") {
			found = append(found, d)
		}
	}
	if p.json {
		if found == nil {
			found = []meta.Diagnostic{}
		}
		return p.object(map[string]any{"version": "peri.skills/v1", "skills": rows, "diagnostics": found})
	}
	w := &page{w: p.out}
	for _, r := range rows {
		w.row(r.Name, r.State, r.ID, r.File, short(r.Description))
	}
	if w.flush(); w.err != nil {
		return w.err
	}
	p.warn(found)
	if len(rows) == 0 {
		fmt.Fprintln(p.err, "hint: a skill is a folder with a SKILL.md in .peri/skills or .claude/skills")
	}
	return nil
}

func (p *program) inspectSkill(name string) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	e, err := skillNamed(setup.Skills, name)
	if err != nil {
		return err
	}
	rows, err := skillRows(setup)
	if err != nil {
		return err
	}
	row := rows[slices.IndexFunc(rows, func(r skillRow) bool { return r.ID == e.ID })]
	if p.json {
		return p.object(map[string]any{"version": "peri.skill/v1", "skill": row})
	}
	w := &page{w: p.out}
	fact := func(what, value string) {
		if value != "" {
			w.row(what, value)
		}
	}
	w.row("skill", row.Name)
	w.row("id", row.ID)
	fact("state", strings.TrimSpace(row.State+" "+row.Cause))
	fact("decided", place(row.CauseFile, row.CauseLine))
	w.row("file", row.File)
	w.row("origin", row.Origin)
	fact("what for", row.Description)
	fact("command", strings.TrimSpace(row.Command+" "+row.Hint))
	w.row("model", may(row.ForModel, "may load it", "is not offered it"))
	w.row("user", may(row.ForUser, "may call it", "has no command for it"))
	if row.Allow != nil {
		w.row("narrows to", strings.Join(row.Allow, ", "))
	}
	fact("keeps from", strings.Join(row.Deny, ", "))
	fact("missing", strings.Join(row.Missing, ", "))
	for _, d := range row.Diagnostics {
		w.row("note", d.String())
	}
	w.flush()
	return w.err
}

func may(yes bool, can, cannot string) string {
	if yes {
		return can
	}
	return cannot
}

// skillNamed is the one skill that a name or an id means.
func skillNamed(entries []catalog.Entry, name string) (*catalog.Entry, error) {
	found := catalog.Find(entries, name)
	if len(found) == 1 {
		return found[0], nil
	}
	var ids, names []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	if len(ids) > 0 {
		return nil, hint(fmt.Errorf("%d skills are called %s", len(ids), name), "name one by its id: "+strings.Join(ids, " or "))
	}
	for i := range entries {
		names = append(names, entries[i].Name, entries[i].ID)
	}
	err := fmt.Errorf("no skill %s", name)
	if near := meta.Nearest(name, names); len(near) > 0 {
		return nil, hint(err, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return nil, hint(err, "peri skill list names those that there are")
}
