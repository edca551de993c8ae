package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
)

// addPrompts makes slash commands of the server's prompts.
func (s *server) addPrompts(o *offer, listed []*sdk.Prompt) {
	slices.SortStableFunc(listed, func(a, b *sdk.Prompt) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range listed {
		if p.Name == "" || i > 0 && listed[i-1].Name == p.Name {
			o.fault(s.Name, fmt.Sprintf("prompt %q", p.Name), "it has no name of its own, and is left out")
			continue
		}
		doc := strings.TrimSpace(clean(p.Description))
		if doc == "" {
			doc = fmt.Sprintf("%s of the server %s.", p.Name, s.Name)
		}
		var args []string
		for _, a := range p.Arguments {
			if a.Required {
				args = append(args, a.Name)
			} else {
				args = append(args, "["+a.Name+"]")
			}
		}
		o.routes = append(o.routes, middleware.Route{
			RouteDecl: middleware.RouteDecl{Name: qualified(s.Name, p.Name), Doc: doc, Args: clean(strings.Join(args, " "))},
			Run: func(ctx context.Context, text string) (middleware.RouteReply, error) {
				return s.prompt(ctx, p, text)
			},
		})
	}
}

// prompt fetches a prompt with the words behind its command.
func (s *server) prompt(ctx context.Context, p *sdk.Prompt, words string) (middleware.RouteReply, error) {
	args, err := arguments(p.Arguments, words)
	if err != nil {
		return middleware.RouteReply{Text: fmt.Sprintf("The prompt was not fetched: %v.", err)}, nil
	}
	conn, err := s.connected(ctx)
	if err != nil {
		return middleware.RouteReply{Text: fmt.Sprintf("The prompt was not fetched: %v.", err)}, nil
	}
	inner, _, done := s.begin(ctx, nil)
	defer done()
	r, err := conn.cs.GetPrompt(inner, &sdk.GetPromptParams{Name: p.Name, Arguments: args})
	if err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			err = context.Cause(inner)
		}
		return middleware.RouteReply{Text: fmt.Sprintf("The server %s did not give the prompt: %s", s.Name, clipped(s.told(err), 2000))}, ctx.Err()
	}
	var reply middleware.RouteReply
	var b strings.Builder
	for _, m := range r.Messages {
		if m == nil || m.Content == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if len(r.Messages) > 1 && m.Role == "assistant" {
			b.WriteString("(You said before:)\n")
		}
		for _, part := range parts(m.Content) {
			if part.Kind == message.Text {
				b.WriteString(part.Text)
			} else {
				reply.Parts = append(reply.Parts, part)
			}
		}
	}
	if reply.Prompt = strings.TrimSpace(b.String()); reply.Prompt == "" {
		if len(reply.Parts) == 0 {
			reply.Text = fmt.Sprintf("The server %s gave an empty prompt.", s.Name)
		} else {
			reply.Prompt = "(see what is attached)"
		}
	}
	return reply, nil
}

// arguments gives words to a prompt's arguments: by name=word, and else in their order; the last takes what is left. A word
// in double quotes may hold blanks.
func arguments(decl []*sdk.PromptArgument, words string) (map[string]string, error) {
	out := map[string]string{}
	known := map[string]bool{}
	for _, a := range decl {
		known[a.Name] = true
	}
	rest := strings.TrimSpace(words)
	for rest != "" {
		word, after, err := nextWord(rest)
		if err != nil {
			return nil, err
		}
		if name, value, is := strings.Cut(word, "="); is && known[name] {
			out[name], rest = value, after
			continue
		}
		i := slices.IndexFunc(decl, func(a *sdk.PromptArgument) bool { _, has := out[a.Name]; return !has })
		if i < 0 {
			return nil, fmt.Errorf("%q is more than it takes", rest)
		}
		last := !slices.ContainsFunc(decl[i+1:], func(a *sdk.PromptArgument) bool { _, has := out[a.Name]; return !has })
		if last && after != "" && !strings.HasPrefix(rest, `"`) {
			word, after = rest, ""
		}
		out[decl[i].Name], rest = word, after
	}
	var lacking []string
	for _, a := range decl {
		if _, has := out[a.Name]; a.Required && !has {
			lacking = append(lacking, a.Name)
		}
	}
	if lacking != nil {
		return nil, fmt.Errorf("it needs %s", strings.Join(lacking, ", "))
	}
	return out, nil
}

func nextWord(text string) (word, rest string, err error) {
	var b strings.Builder
	quoted := false
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			return b.String(), strings.TrimSpace(text[i:]), nil
		default:
			b.WriteRune(r)
		}
	}
	if quoted {
		return "", "", errors.New(`a " has no partner`)
	}
	return b.String(), "", nil
}
