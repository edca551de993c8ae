package skills

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skills/catalog"
)

// session is the skills at work in one session. It is safe for concurrent use.
type session struct {
	roster *roster
	notice func(string)
	parent *session // nil for a main session
	born   []bond   // what bound its parent when it was made

	mu     sync.Mutex
	active []bond
	over   bool // the turn seems to have ended: what is active binds no more, unless it goes on
	next   *chosen
	told   map[string]bool // skills of which it was said that their files changed
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
			RouteDecl: middleware.RouteDecl{Name: name, Doc: doc, Args: skill.Hint, By: s.roster.facts[i].By},
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

// maxBody bounds what one skill may add to a conversation, in bytes. Good ones have a tenth of it.
const maxBody = 64 << 10

// render is a skill's text with its arguments in their places. What the arguments hold is not looked at again.
func render(skill *catalog.Skill, t catalog.Text, args string) string {
	whole := t.Body
	if len(whole) > maxBody {
		whole = strings.ToValidUTF8(whole[:maxBody], "")
		if i := strings.LastIndexByte(whole, '\n'); i > 0 {
			whole = whole[:i]
		}
		whole += fmt.Sprintf("\n[The text goes on: it has %d bytes. The rest is in %s.]", len(t.Body), t.File)
	}
	body, placed := substitute(whole, args)
	var b strings.Builder
	fmt.Fprintf(&b, "# Skill %s\n\nIts files are in %s; paths in its text are relative to that folder.\n\n%s", skill.Name, t.Folder, body)
	if args = strings.TrimSpace(args); args != "" && !placed {
		b.WriteString("\n\nArguments: " + args)
	}
	return b.String()
}
