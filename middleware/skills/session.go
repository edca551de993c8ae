package skills

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/toolview"
)

// session is the skills at work in one session. It is safe for concurrent use.
type session struct {
	roster *roster
	notice func(string)
	parent *session // nil for a main session
	born   []bond   // what bound its parent when it was made

	mu     sync.Mutex
	active []bond
	next   *chosen
	told   map[string]bool // skills of which it was said that their files changed
}

// bond is a skill at work with what it lets be called.
type bond struct {
	name  string
	frame *toolview.Frame
}

// chosen is a skill that a slash command has made a prompt of, until the prompt arrives.
type chosen struct {
	prompt string
	skill  *catalog.Skill
}

// text is a skill's text as it is handed out.
func (s *session) text(skill *catalog.Skill, args string) (string, error) {
	t, err := s.roster.catalog.Read(skill)
	if err != nil {
		return "", err
	}
	if t.Changed {
		s.mu.Lock()
		first := !s.told[skill.ID]
		if s.told == nil {
			s.told = map[string]bool{}
		}
		s.told[skill.ID] = true
		s.mu.Unlock()
		if first && s.notice != nil {
			s.notice(fmt.Sprintf("%s changed since the session began: the text of skill %s is loaded as it is now, under the limits of then", skill.Origin.File, skill.Name))
		}
	}
	return render(skill, t, args), nil
}

// narrow puts a skill's limits in force until the next prompt.
func (s *session) narrow(skill *catalog.Skill) error {
	frame, err := limits(skill)
	if err != nil || frame == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.active, func(b bond) bool { return b.name == skill.ID }) {
		s.active = append(s.active, bond{skill.ID, frame})
	}
	return nil
}

// limits compiles a skill's lists; nil = it has none. Further skills can always be loaded, since that only narrows.
func limits(skill *catalog.Skill) (*toolview.Frame, error) {
	if skill.Allow == nil && len(skill.Deny) == 0 {
		return nil, nil
	}
	list := func(texts []string) []toolview.Selector {
		out := make([]toolview.Selector, 0, len(texts)+1)
		for _, t := range texts {
			out = append(out, toolview.Selector{Text: t, Origin: skill.Origin})
		}
		return out
	}
	l := toolview.Lists{Deny: list(skill.Deny)}
	if skill.Allow != nil {
		own := toolview.Selector{Text: "@" + Name, Origin: meta.Origin{Layer: "skill"}}
		l.Allow = [][]toolview.Selector{append(list(skill.Allow), own)}
	}
	f, err := toolview.NewFrame(l)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	return f, nil
}

// bonds are all that bind the session now, its parent's included.
func (s *session) bonds() []bond {
	if s == nil {
		return nil
	}
	out := append(slices.Clone(s.born), s.parent.bonds()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(out, s.active...)
}

// input begins a turn: what earlier skills forbade is over, and the skill that made this prompt is at work.
func (s *session) input(_ context.Context, in *middleware.Input) error {
	s.mu.Lock()
	next := s.next
	s.active, s.next = nil, nil
	s.mu.Unlock()
	if next == nil || len(in.Parts) == 0 || in.Parts[0].Text != next.prompt {
		return nil
	}
	return s.narrow(next.skill)
}

// rewrite refuses what a skill at work does not let be called, and leaves all other calls as they are.
func (s *session) rewrite(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	bonds := s.bonds()
	for i, c := range calls {
		out[i] = middleware.Verdict{Decision: middleware.Pass}
		for _, b := range bonds {
			if why := b.frame.Refusal(c); why != "" {
				out[i] = middleware.Verdict{
					Reason: fmt.Sprintf("the skill `%s` is at work until the user's next message and does not let `%s` be called like this: %s", b.name, c.Name(), why),
				}
				break
			}
		}
	}
}

// routes are the slash commands of the skills that people may call.
func (s *session) routes() []middleware.Route {
	var out []middleware.Route
	for i := range s.roster.catalog.All() {
		skill := &s.roster.catalog.All()[i]
		name := s.roster.commands[skill.ID]
		if name == "" {
			continue
		}
		doc := cut(skill.Description, maxLine)
		if doc == "" {
			doc = "Loads the skill " + skill.ID + "."
		}
		out = append(out, middleware.Route{
			RouteDecl: middleware.RouteDecl{Name: name, Doc: doc, Args: skill.Hint},
			Run: func(_ context.Context, args string) (middleware.RouteReply, error) {
				text, err := s.text(skill, args)
				if err != nil {
					return middleware.RouteReply{Text: fmt.Sprintf("The skill %s cannot be loaded: %v.", skill.Name, err)}, nil
				}
				prompt := "The user calls for this skill. Follow it now.\n\n" + text
				s.mu.Lock()
				s.next = &chosen{prompt, skill}
				s.mu.Unlock()
				return middleware.RouteReply{Prompt: prompt}, nil
			},
		})
	}
	return out
}

// render is a skill's text with its arguments in their places. What the arguments hold is not looked at again.
func render(skill *catalog.Skill, t catalog.Text, args string) string {
	body, placed := substitute(t.Body, args)
	var b strings.Builder
	fmt.Fprintf(&b, "# Skill %s\n\nIts files are in %s; paths in its text are relative to that folder.\n\n%s", skill.Name, t.Folder, body)
	if args = strings.TrimSpace(args); args != "" && !placed {
		b.WriteString("\n\nArguments: " + args)
	}
	return b.String()
}
