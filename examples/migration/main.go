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
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/toolview"
)

func main() {
	name := "readonly"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	err := facts(context.Background(), os.Stdout, filepath.Join("examples", "migration", name), forge(), skills())
	if err != nil {
		fmt.Fprintln(os.Stderr, "migration:", err)
		os.Exit(1)
	}
}

// facts prints the tools of a folder's session and of its agents, and what lists say of single calls.
func facts(ctx context.Context, out io.Writer, root string, more ...middleware.Middleware) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "peri-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	setup, _, err := builtin.Load(config.Options{Root: root, Home: home, Managed: "-"}, more...)
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
	shown := []string{"WorkspaceMiddleware", "WebMiddleware", "SubAgentMiddleware", "ForgeMiddleware", "SkillSetMiddleware"}
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

// forge stands for a server that is connected, skills for a set of skills.
func forge() middleware.Middleware {
	return owner("ForgeMiddleware", toolview.Decl{
		Name: "mcp__forge__comment", Family: "mcp", Private: true, Server: "forge", Leaf: "comment",
	})
}

func skills() middleware.Middleware {
	return owner("SkillSetMiddleware", toolview.Decl{Name: "Skill", Family: "skill"})
}

func owner(name string, d toolview.Decl) middleware.Middleware {
	type in struct {
		Name string `json:"name" doc:"which"`
	}
	return middleware.Middleware{Name: name, Doc: "Stands in.", Tools: toolview.MustSet(toolview.New(
		toolview.Tool{
			Decl: d, Doc: "Does it.", Effects: toolview.OpenWorld,
			Subjects: toolview.Subjects(func(in in) []toolview.Subject { return []toolview.Subject{{Kind: toolview.Name, Value: in.Name}} }),
		},
		func(context.Context, any, *toolview.Call, in) (*message.Result, error) {
			return message.Say("done"), nil
		},
	))}
}
