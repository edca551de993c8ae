package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/metaharness/peri/session"
)

// Approve asks about each call in turn. No single key approves: an answer is a line, an empty one refuses, and what
// holds for longer than one call, or for more than one, is a whole word.
func (t *terminal) Approve(ctx context.Context, requests []session.Request) ([]session.Approval, error) {
	out := make([]session.Approval, len(requests))
	for i := range requests {
		r := &requests[i]
		t.show(r, i, len(requests))
		answer, err := t.answer(ctx, r, len(requests)-i)
		if err != nil {
			return nil, unanswered(err)
		}
		if answer.all {
			for k := i; k < len(requests); k++ {
				out[k] = answer.Approval
			}
			return out, nil
		}
		out[i] = answer.Approval
	}
	return out, nil
}

// show tells who wants to run what, as it will run.
func (t *terminal) show(r *session.Request, i, of int) {
	who := "The agent"
	if r.Agent != "" {
		who = "Agent " + r.Agent
	}
	count := ""
	if of > 1 {
		count = fmt.Sprintf(" [%d of %d]", i+1, of)
	}
	fmt.Fprintf(t.out, "\n%s wants to run %s (%s)%s\n%s\n", printable(who), r.Tool, r.Owner, count, indented(r))
	if r.Reason != "" {
		fmt.Fprintf(t.out, "  asked because %s\n", printable(r.Reason))
	}
}

// reply is one answer; all says that it is about the rest of the requests too.
type reply struct {
	session.Approval
	all bool
}

// answer reads one answer. A word for longer than once that cannot hold is asked for again, and approves nothing.
func (t *terminal) answer(ctx context.Context, r *session.Request, left int) (reply, error) {
	for {
		text, err := t.ask(ctx, t.question(r, left))
		if err != nil {
			return reply{}, err
		}
		switch word := strings.ToLower(text); {
		case word == "y" || word == "yes" || word == "once":
			return reply{Approval: session.Approval{Allow: true, Scope: session.Once}}, nil
		case word == session.ForSession || word == session.Always:
			if len(r.Grants) == 0 {
				fmt.Fprintln(t.out, "It can be approved for this once alone.")
				continue
			}
			return reply{Approval: session.Approval{Allow: true, Scope: word}}, nil
		case word == "all" && left > 1:
			return reply{Approval: session.Approval{Allow: true, Scope: session.Once}, all: true}, nil
		case word == "none" && left > 1:
			return reply{all: true}, nil
		case word == "" || word == "n" || word == "no":
			return reply{}, nil
		}
		return reply{Approval: session.Approval{Message: text}}, nil
	}
}

func (t *terminal) question(r *session.Request, left int) string {
	var b strings.Builder
	b.WriteString("Run it? y for this once")
	if len(r.Grants) > 0 {
		fmt.Fprintf(&b, ", session or always for %s", printable(strings.Join(r.Grants, ", ")))
	}
	if left > 1 {
		fmt.Fprintf(&b, ", all or none for these %d", left)
	}
	b.WriteString(", n or a reason to refuse: ")
	return b.String()
}

const shownLines = 60 // of a command, a diff or a file that a request shows

// indented is what will run: a command as it is, an edit as a diff, and anything else as its arguments.
func indented(r *session.Request) string {
	var args struct {
		Command, Cwd, Path, Old, New, Content *string
	}
	text := string(r.Args)
	if json.Unmarshal(r.Args, &args) == nil {
		switch {
		case args.Command != nil:
			text = *args.Command
			if args.Cwd != nil && *args.Cwd != "" {
				text += "\n(in " + *args.Cwd + ")"
			}
		case args.Path != nil && args.Old != nil && args.New != nil:
			text = udiff.Unified(*args.Path, *args.Path, *args.Old+"\n", *args.New+"\n")
		case args.Path != nil && args.Content != nil:
			text = udiff.Unified("/dev/null", *args.Path, "", *args.Content+"\n")
		}
	}
	lines := strings.Split(strings.TrimRight(shown(text), "\n"), "\n")
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines:shownLines], fmt.Sprintf("… and %d more lines", more))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// shown keeps a text from looking like another: what would move the cursor, or turn the direction of writing, is
// written out.
func shown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
