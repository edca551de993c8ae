package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

// skills reads the skills that the settings let be seen into the options. What is denied by name, by id or with all of
// its kind, whichever list says so, is denied here once and for every use of it.
func (s *Setup) skills(o config.Options, plain *middleware.Suite, opt *Options) error {
	set := &s.Loaded.Settings
	mounts, diags := skillMounts(o, s.Loaded)
	reserved := reservedCommands(plain)
	tools := lists(set.Tools)
	rules := catalog.Rules{
		Deny:     selectors(set.Skills.Deny),
		ToolDeny: append(sound(tools.Deny), sound(selectors(set.Permissions.Deny))...),
	}
	for _, l := range tools.Allow {
		rules.ToolAllow = append(rules.ToolAllow, sound(l))
	}
	for _, l := range set.Skills.Allow {
		rules.Allow = append(rules.Allow, selectors(l))
	}
	mounts = append(mounts[:len(mounts):len(mounts)], s.pluginMounts(mounts)...)
	found, entries, more, err := catalog.Load(catalog.LoadOptions{Mounts: mounts, Rules: rules, Reserved: reserved})
	s.Skills, s.Diagnostics = entries, append(append(s.Diagnostics, diags...), more...)
	// What plugins bring comes by them, so that it leaves with them.
	s.found = found
	own := found.Where(func(k *catalog.Skill) bool { return k.Origin.Layer != catalog.Plugin })
	opt.Skills = skills.Options{Catalog: own, Reserved: reserved}
	if err == nil {
		s.Diagnostics = append(s.Diagnostics, s.unpreloaded(found)...)
	}
	return err
}

// unpreloaded reports the skills that agents want and will not get.
func (s *Setup) unpreloaded(found *catalog.Catalog) []meta.Diagnostic {
	var names []string
	for i := range found.All() {
		names = append(names, found.All()[i].Name)
	}
	var out []meta.Diagnostic
	for _, d := range s.Catalog.All() {
		for _, name := range d.Preload() {
			k, ok := found.Lookup(name)
			if ok && k.ForModel() {
				continue
			}
			note := meta.Diagnostic{
				Severity: meta.SeverityWarning, Code: "agent_skill", Key: "agents." + d.Name, Origin: d.Origin,
				Message: fmt.Sprintf("skills: %s is not preloaded: there is no such skill for a model", name),
			}
			if near := meta.Nearest(name, names); !ok && len(near) > 0 {
				note.Suggestion = "did you mean " + strings.Join(near, ", ") + "?"
			}
			out = append(out, note)
		}
	}
	return out
}

// sound leaves out what is no selector; the list's owner refuses it.
func sound(list []toolview.Selector) []toolview.Selector {
	out := []toolview.Selector{}
	for _, s := range list {
		if _, err := toolview.ParseRule(s.Text, s.Origin); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// reservedCommands are the slash commands that the suite declares, whether or not their owners are closed: closing one
// must not hand its command to a skill.
func reservedCommands(suite *middleware.Suite) map[string]bool {
	out := map[string]bool{}
	for _, m := range suite.All() {
		for _, r := range m.Routes {
			out[strings.ToLower(r.Name)] = true
		}
	}
	return out
}

// skillMounts are the folders of skills in order of precedence: the project's, the user's, those that settings name.
func skillMounts(o config.Options, l *config.Loaded) ([]catalog.Mount, []meta.Diagnostic) {
	at := places(o, l)
	var out []catalog.Mount
	if at.Root != "" {
		out = append(out,
			catalog.Mount{Name: "project", Layer: catalog.Project, Root: at.Root, Dir: ".peri/skills", Shown: ".peri/skills"},
			catalog.Mount{Name: "claude", Layer: catalog.Project, Root: at.Root, Dir: ".claude/skills", Shown: ".claude/skills"})
	}
	user := catalog.Mount{Name: "user", Layer: catalog.User, Root: at.PeriHome, Dir: "skills", Shown: filepath.ToSlash(filepath.Join(at.PeriHome, "skills"))}
	if rel, err := filepath.Rel(at.Home, at.PeriHome); at.Home != "" && err == nil && filepath.IsLocal(rel) {
		// A user's own links may lead to wherever else in the home folder such things are kept.
		user.Root, user.Dir, user.Shown = at.Home, filepath.ToSlash(filepath.Join(rel, "skills")), "~/"+filepath.ToSlash(rel)+"/skills"
	}
	out = append(out, user)
	if at.Others {
		out = append(out, catalog.Mount{Name: "user-claude", Layer: catalog.User, Root: at.Home, Dir: ".claude/skills", Shown: "~/.claude/skills"})
	}
	var diags []meta.Diagnostic
	for _, i := range l.Settings.Skills.Mounts {
		m, bad := skillMount(i, l)
		if bad == nil && slices.ContainsFunc(out, func(x catalog.Mount) bool { return strings.EqualFold(x.Name, m.Name) }) {
			bad = &meta.Diagnostic{Message: fmt.Sprintf("skills of the mount %s have their places already", m.Name), Suggestion: "write NAME=" + i.Text + " with a name of its own"}
		}
		if bad != nil {
			bad.Severity, bad.Code, bad.Key, bad.Origin = meta.SeverityError, "skill_mount", "skills.mounts", i.Origin
			diags = append(diags, *bad)
			continue
		}
		out = append(out, m)
	}
	return out, diags
}

var mountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// skillMount reads NAME=PATH, or PATH alone, whose last part is the name then. A relative path begins at the project, in
// the user's own settings at the user's folder. What a project's settings name must lie in the project: they come from
// anyone, and the rest of the disk is not theirs to show.
func skillMount(i config.Item, l *config.Loaded) (catalog.Mount, *meta.Diagnostic) {
	name, dir, ok := strings.Cut(i.Text, "=")
	if !ok || !mountName.MatchString(name) {
		name, dir = "", i.Text
	}
	base := l.Root
	if i.Origin.Layer == config.Global {
		base = l.Home
	}
	if rest, home := strings.CutPrefix(dir, "~/"); home {
		user, err := os.UserHomeDir()
		if err != nil {
			return catalog.Mount{}, &meta.Diagnostic{Message: err.Error(), Suggestion: "write an absolute path"}
		}
		base, dir = user, rest
	}
	path := dir
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, filepath.FromSlash(path))
	}
	if name == "" {
		if name = filepath.Base(path); name == "skills" {
			name = strings.TrimPrefix(filepath.Base(filepath.Dir(path)), ".")
		}
	}
	if !mountName.MatchString(name) {
		return catalog.Mount{}, &meta.Diagnostic{Message: fmt.Sprintf("%q gives its skills no name", i.Text), Suggestion: "write NAME=PATH"}
	}
	m := catalog.Mount{Name: name, Layer: catalog.Mounted, Root: path, Dir: ".", Shown: i.Text, At: i.Origin}
	if i.Text != dir {
		m.Shown = dir
	}
	if i.Origin.Layer == config.Project || i.Origin.Layer == config.Local {
		rel, err := filepath.Rel(l.Root, path)
		if err != nil || !filepath.IsLocal(rel) {
			return m, &meta.Diagnostic{Message: fmt.Sprintf("%q leads out of the project", i.Text), Suggestion: "name it in the settings of your own, in " + l.Home}
		}
		m.Root, m.Dir = l.Root, filepath.ToSlash(rel)
	}
	return m, nil
}

// skillNeeds reports what of a skill's lists means nothing here, and the tools it lists that sessions do not have: closed
// ones, and those that the settings deny.
func (s *Setup) skillNeeds() []meta.Diagnostic {
	if len(s.Skills) == 0 {
		return nil
	}
	view, known := s.planned()
	if view == nil {
		return nil
	}
	var out []meta.Diagnostic
	for i := range s.Skills {
		e := &s.Skills[i]
		for _, text := range e.Allow {
			rule, err := toolview.ParseRule(text, e.Origin)
			if err != nil || e.Denied() {
				continue
			}
			for _, d := range rule.Unmatched("skills", known) {
				d.Code = "skill_selector"
				out = append(out, d)
			}
			if why := lacks(view, known, &rule); why != "" {
				e.Missing = append(e.Missing, text)
				out = append(out, meta.Diagnostic{
					Severity: meta.SeverityWarning, Code: "skill_needs", Key: "skills", Origin: e.Origin,
					Message: fmt.Sprintf("skill %s lists %s, which is not there: %s", e.Name, text, why), Suggestion: "skills never open what is closed or denied",
				})
			}
		}
	}
	return out
}

// planned is the view of the suite's constants that a session would begin with, and all tools that there could be.
func (s *Setup) planned() (*toolview.View, []toolview.Band) {
	suite := s.Blueprint.Suite
	resolved, _, err := meta.Resolve(suite.Keys(), s.Blueprint.Layers...)
	frame, bad := toolview.NewFrame(s.Blueprint.Lists)
	if err != nil || bad != nil {
		return nil, nil
	}
	state, _ := meta.Freeze(resolved, nil)
	var live, closed []toolview.Band
	for i, fate := range suite.Plan(state) {
		m := suite.All()[i]
		for _, set := range []*toolview.Set{m.Tools, m.Deferred} {
			switch {
			case set.Len() == 0:
			case fate.Status == middleware.Live:
				live = append(live, toolview.Band{Owner: m.Name, Set: set, Deferred: set == m.Deferred})
			default:
				closed = append(closed, toolview.Band{Owner: m.Name, Set: set, Closed: fate.Cause})
			}
		}
	}
	policy := &toolview.Policy{Frames: []*toolview.Frame{frame}}
	return toolview.NewDeriver(live, closed, nil).View(policy, nil), suite.Bands()
}

// lacks says why none of the tools that a rule selects is there; "" = one is, or it selects none.
func lacks(view *toolview.View, known []toolview.Band, rule *toolview.Rule) string {
	why := ""
	for _, b := range known {
		for _, t := range b.Set.All() {
			if !rule.Selects(b.Owner, &t.Decl) {
				continue
			}
			x := view.Explain(t.Name)
			if x.Visible {
				return ""
			}
			if why == "" {
				why = fmt.Sprintf("%s of %s, %s", t.Name, b.Owner, x.Rule)
			}
		}
	}
	return why
}
