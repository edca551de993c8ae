// Migration shows what users of other harnesses write here: one folder each, with its settings and the facts of the session
// that they make. README.md is the page.
//
//	go run ./examples/migration readonly
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/toolview"
)

func main() {
	name := "readonly"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if name == forge {
		_ = serve(os.Stdin, os.Stdout) // it ends with its session
		return
	}
	err := facts(context.Background(), os.Stdout, filepath.Join("examples", "migration", name), true)
	if err != nil {
		fmt.Fprintln(os.Stderr, "migration:", err)
		os.Exit(1)
	}
}

// forge is the server that the reviewer needs: this very program, started so.
const forge = "forge"

// facts prints the tools of a folder's session and of its agents, and what lists say of single calls.
func facts(ctx context.Context, out io.Writer, root string, connected bool) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "peri-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	o := config.Options{Root: root, Home: home, Managed: "-"}
	if connected {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		server := map[string]any{"command": self, "args": []any{forge}}
		o.Values = map[string]any{"mcp": map[string]any{"servers": map[string]any{forge: server}}}
	}
	setup, _, err := builtin.Load(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	s, err := session.New(ctx, session.Options{
		Blueprint: setup.Blueprint, Models: func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	tell(out, root, "", s)
	for _, d := range setup.Catalog.All() {
		if d.Origin.Layer == "builtin" {
			continue
		}
		k, err := s.Agent(ctx, d.Name)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", d.Name, err)
			continue
		}
		tell(out, root, d.Name+": ", k)
	}
	return nil
}

func tell(out io.Writer, root, who string, s *session.Session) {
	// The owners that the page is about: what else the suite gains changes no fact here.
	shown := []string{"WorkspaceMiddleware", "WebMiddleware", "SubAgentMiddleware", "McpMiddleware", "SkillsMiddleware"}
	at := func(x fmt.Stringer) string {
		return strings.TrimPrefix(strings.ReplaceAll(x.String(), root+string(filepath.Separator), ""), "/")
	}
	for e := range s.View().All() {
		if !slices.Contains(shown, e.Owner) {
			continue
		}
		x := s.View().Explain(e.Tool.Name)
		fmt.Fprintf(out, "%s%s %s %s\n", who, x.Name, x.Owner, e.Tool.Effects)
		for _, l := range x.Limits {
			fmt.Fprintf(out, "%s  but not every call, by %s at %s\n", who, l.Text, at(l.Origin))
		}
	}
	for _, x := range s.View().Hidden() {
		if slices.Contains(shown, x.Owner) && (x.Gate == toolview.GateListed || x.Gate == toolview.GateDenied) {
			fmt.Fprintf(out, "%sno %s: %s, by %s at %s\n", who, x.Name, x.Gate, x.Rule, at(x.Origin))
		}
	}
}
