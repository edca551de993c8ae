package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
)

func (p *program) runCommand() *cobra.Command {
	var mode, model string
	c := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Take one turn and stream the answer",
		Long: "Takes one turn and streams the answer to stdout; what the agent does goes to stderr. PROMPT - reads it from stdin.\n" +
			"Calls that need approval are put to the terminal; without one they are denied, unless --mode says otherwise.",
		Example: "  peri run 'What does this project do?'\n  peri run --mode plan --json - < prompt.txt\n  peri run --model ollama/llama3.3 'And this one?'",
		Args:    takes("PROMPT"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.prompted(c.Context(), args[0], append(modeSetting(mode), modelSetting(model)...))
		},
	}
	c.Flags().BoolVar(&p.json, "json", false, "events, one object a line")
	c.Flags().StringVar(&mode, "mode", "", "the permission `MODE`: default, acceptEdits, plan, bypass, dontAsk")
	c.Flags().StringVar(&model, "model", "", "the `MODEL`: VENDOR/NAME, offline, or script:FILE")
	return c
}

func (p *program) prompted(ctx context.Context, text string, settings []string) (err error) {
	if text == "-" {
		b, err := io.ReadAll(p.in)
		if err != nil {
			return err
		}
		text = string(b)
	}
	if strings.TrimSpace(text) == "" {
		return usage(errors.New("the prompt is empty"))
	}
	setup, err := p.load(settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	s, err := p.running(ctx, setup, p.models(setup), p.people())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	p.warn(setup.Diagnostics)
	p.warn(s.Diagnostics())
	return p.follow(s.Prompt(ctx, session.Text(text)))
}

func modelSetting(model string) []string {
	if model == "" {
		return nil
	}
	return []string{"model=" + model}
}

func modeSetting(mode string) []string {
	if mode == "" {
		return nil
	}
	return []string{"permissions.mode=" + mode}
}

// follow writes a turn as it happens.
func (p *program) follow(events func(func(message.Event, error) bool)) error {
	w := &watcher{out: p.out, err: p.err}
	encode := json.NewEncoder(p.out)
	encode.SetEscapeHTML(false)
	for e, err := range events {
		if err != nil {
			w.end()
			return err
		}
		if p.json {
			err = encode.Encode(e)
		} else {
			err = w.event(e)
		}
		if err != nil {
			return err
		}
	}
	w.end()
	return nil
}

// watcher writes the main session's text to out, and to err what it and its children do.
type watcher struct {
	out, err io.Writer
	streamed bool // the reply at hand came as deltas
	open     bool // out stands inside a line
}

func (w *watcher) event(e message.Event) error {
	child := e.Parent != "" && (e.Kind == message.TextDelta || e.Kind == message.Reply)
	switch e.Kind {
	case message.TextDelta:
		if child {
			return nil
		}
		w.streamed = true
		return w.text(e.Text)
	case message.Reply:
		if child {
			return nil
		}
		streamed := w.streamed
		w.streamed = false
		if !streamed {
			if err := w.text(e.Message.Text()); err != nil {
				return err
			}
		}
		return w.end()
	case message.CallStart:
		return w.note(e, "call %s %s", e.Use.Name, short(string(e.Use.Args)))
	case message.CallEnd:
		if e.Result.Error {
			return w.note(e, "%s failed: %s", e.Use.Name, short(e.Result.Text()))
		}
	case message.ChildStart:
		return w.note(e, "%s", strings.TrimSpace("started "+short(e.Text)))
	case message.Progress, message.Note:
		return w.note(e, "%s", short(strings.TrimSpace(e.Owner+" "+e.Text)))
	}
	return nil
}

func (w *watcher) text(s string) error {
	if s == "" {
		return nil
	}
	w.open = !strings.HasSuffix(s, "\n")
	_, err := io.WriteString(w.out, printable(s))
	return err
}

// end closes a line that the model left open.
func (w *watcher) end() error {
	if !w.open {
		return nil
	}
	w.open = false
	_, err := fmt.Fprintln(w.out)
	return err
}

func (w *watcher) note(e message.Event, format string, args ...any) error {
	if err := w.end(); err != nil {
		return err
	}
	who := ""
	if e.Parent != "" {
		who = "[" + orFork(e.Agent) + "] "
	}
	_, err := fmt.Fprintf(w.err, "· %s%s\n", who, fmt.Sprintf(format, args...))
	return err
}

func orFork(agent string) string {
	if agent == "" {
		return "fork"
	}
	return agent
}

const shortest = 160 // bytes of a tool's arguments or of a failure that one line of progress shows

func short(s string) string {
	s = printable(strings.Join(strings.Fields(s), " "))
	if len(s) > shortest {
		s = strings.ToValidUTF8(s[:shortest], "") + "…"
	}
	return s
}

// printable takes out control characters, so that no model, tool or project can move the cursor or retitle a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, s)
}
