// Quickstart runs one turn in the folder it is started in, offline: it reads the settings, opens a session of the
// built-in suite, asks the offline model and prints what happens.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/session/store/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout, config.Options{}, "call Glob {\"pattern\":\"*.md\"}\n\ncall LS {}"); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, where config.Options, prompt string) (err error) {
	setup, notes, err := builtin.Load(where)
	for _, n := range notes {
		fmt.Fprintln(out, n)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()

	s, err := session.New(ctx, session.Options{
		Blueprint: setup.Blueprint,
		Models:    func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
		Store:     &memory.Store{},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()

	for e, err := range s.Prompt(ctx, session.Text(prompt)) {
		switch {
		case err != nil:
			return err
		case e.Kind == message.CallStart:
			fmt.Fprintf(out, "→ %s %s\n", e.Use.Name, e.Use.Args)
		case e.Kind == message.TextDelta:
			fmt.Fprint(out, e.Text)
		case e.Kind == message.TurnEnd:
			fmt.Fprintf(out, "\n(%s)\n", e.Reason)
		}
	}
	return nil
}
