package skills

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

var (
	//go:embed skill.md
	skillDoc string
	//go:embed discover.md
	discoverDoc string
)

type skillArgs struct {
	Name      string `json:"name" alias:"skill,skill_name,command" doc:"the skill's name or id" min:"1" max:"512"`
	Arguments string `json:"arguments,omitempty" alias:"args" doc:"what it is to work on"`
}

type discoverArgs struct {
	Query string `json:"query" doc:"what the skill should be for" max:"1000"`
}

// maxFound is how many skills a search returns.
const maxFound = 10

// skillTool loads from a roster; what a call touches is the skill that it would load, whatever name it uses.
func skillTool(r *roster) toolview.Tool {
	t := toolview.Tool{Decl: catalog.Decl(), Title: "Load a skill", Doc: strings.TrimSpace(skillDoc), Effects: toolview.Internal}
	t.Subjects = toolview.Subjects(func(in skillArgs) []toolview.Subject {
		if r != nil {
			if s, ok := r.catalog.Lookup(in.Name); ok {
				return []toolview.Subject{s.Subject()}
			}
		}
		return []toolview.Subject{{Kind: toolview.Name, Value: in.Name}}
	})
	return toolview.New(t, load)
}

func discoverTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl:  toolview.Decl{Name: DiscoverTool, Aliases: []string{"discover_skills", "search_skills"}, Family: "skill", Category: "skills"},
		Title: "Search skills", Doc: strings.TrimSpace(discoverDoc), Effects: toolview.Internal | toolview.ReadOnly,
	}, discover)
}

var errUnopened = errors.New("skills: the call has no state: its middleware was not opened")

// load is the one way to a skill's text for a model. That the call was made says that the lists let it pass.
func load(_ context.Context, s *session, call *toolview.Call, in skillArgs) (*message.Result, error) {
	if s == nil {
		return nil, errUnopened
	}
	skill, ok := s.roster.catalog.Lookup(in.Name)
	if !ok || !skill.ForModel() {
		return message.Fail(s.unknown(call.View(), in.Name)), nil
	}
	text, err := s.text(skill, in.Arguments)
	if err != nil {
		return message.Fail(fmt.Sprintf("The skill `%s` cannot be loaded now: %v. Go on without it, or tell the user.", skill.Name, err)), nil
	}
	if err := s.narrow(skill); err != nil {
		return nil, err
	}
	return message.Say(text), nil
}

// unknown is the answer to a name that no skill for the model has, be it misspelt, denied or hidden.
func (s *session) unknown(view *toolview.View, name string) string {
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	var names []string
	for i := range s.roster.catalog.All() {
		if k := &s.roster.catalog.All()[i]; k.ForModel() && may(view, k) {
			names = append(names, k.Name)
		}
	}
	text := fmt.Sprintf("There is no skill `%s`.", name)
	if near := meta.Nearest(name, names); len(near) > 0 {
		text += " Did you mean `" + strings.Join(near, "`, `") + "`?"
	}
	return text
}

// may reports whether a view lets a skill be loaded: the lists of an agent or of the host may keep it back.
func may(view *toolview.View, s *catalog.Skill) bool {
	args, err := json.Marshal(skillArgs{Name: s.ID})
	if err != nil {
		return false
	}
	call, _ := view.Call("", SkillTool, args)
	return call != nil
}

// found is one skill in the structured result of a search.
type found struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func discover(_ context.Context, s *session, call *toolview.Call, in discoverArgs) (*message.Result, error) {
	if s == nil {
		return nil, errUnopened
	}
	view := call.View()
	hits := s.roster.catalog.Search(in.Query, maxFound, func(k *catalog.Skill) bool { return k.ForModel() && may(view, k) })
	if len(hits) == 0 {
		return message.Say("No skill fits. Use other words, or go on without one."), nil
	}
	var b strings.Builder
	out := make([]found, len(hits))
	for i, k := range hits {
		out[i] = found{k.ID, k.Name, k.Description}
		fmt.Fprintf(&b, "- `%s` (`%s`): %s\n", k.Name, k.ID, strings.Join(strings.Fields(k.Description), " "))
	}
	res := message.Say(strings.TrimRight(b.String(), "\n"))
	raw, err := json.Marshal(map[string]any{"skills": out})
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	res.Structured = raw
	return res, nil
}
