// Readonly composes a session that can look and cannot touch, without any settings file: closed capabilities are gone
// whole, an allow list narrows what is left, and the permission mode judges every call that still comes.
//
//	go run ./examples/readonly
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/toolview"
)

func main() {
	root, err := os.Getwd()
	if err == nil {
		err = run(context.Background(), os.Stdout, root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "readonly:", err)
		os.Exit(1)
	}
}

// open makes the session. Plan mode lets read-only calls run and denies the rest.
func open(ctx context.Context, root string) (*session.Session, error) {
	suite, err := builtin.Suite(builtin.Options{Permission: permission.Options{Mode: string(permission.Plan)}})
	if err != nil {
		return nil, err
	}
	here := meta.Origin{Layer: "option"}
	return session.New(ctx, session.Options{
		Blueprint: middleware.Blueprint{
			Suite: suite,
			Root:  root,
			Layers: []meta.Layer{{Name: "option", Entries: []meta.Entry{
				{Key: "WebMiddleware", Origin: here}, {Key: "SubAgentMiddleware", Origin: here}, {Key: "TodoMiddleware", Origin: here},
			}}},
			Lists: toolview.Lists{Allow: [][]toolview.Selector{{
				{Text: "Read", Origin: here}, {Text: "Glob", Origin: here}, {Text: "Grep", Origin: here}, {Text: "LS", Origin: here},
			}}},
		},
		Models: func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
}

func run(ctx context.Context, out io.Writer, root string) (err error) {
	s, err := open(ctx, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	for _, t := range s.View().Direct() {
		fmt.Fprintf(out, "%s (%s)\n", t.Name, t.Effects)
	}
	for _, err := range s.Prompt(ctx, session.Text("call LS {}\ncall Write {\"path\":\"x\",\"content\":\"y\"}")) {
		if err != nil {
			return err
		}
	}
	h := s.Messages()
	fmt.Fprintln(out, h[len(h)-1].Text())
	return nil
}
