// Everything assembles one session out of the outside world: two MCP servers, a folder of skills, a plugin, an OpenAPI
// source and a language server. It shows what each of them brings, uses them, and then closes each in turn and shows what
// is gone.
//
//	npm install --prefix DIR @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
//	go install golang.org/x/tools/gopls@v0.23.0
//	PERI_MCP_SERVERS=DIR go run ./examples/everything
//
// It runs offline. What is not installed is named, and left out.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/lsp"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/middleware/openapi"
	"github.com/metaharness/peri/middleware/plugin"
	"github.com/metaharness/peri/middleware/skills"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
)

//go:embed all:project
var project embed.FS

//go:embed all:plugin
var plugins embed.FS

func main() {
	servers := flag.String("servers", os.Getenv("PERI_MCP_SERVERS"), "the `folder` that npm installed the MCP servers in")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *servers); err != nil {
		fmt.Fprintln(os.Stderr, "everything:", err)
		os.Exit(1)
	}
}

// world is a project, its user's home, and a shop on this machine.
type world struct {
	root, home string
	shop       string // base URL
	servers    string // where npm installed them; "" = nowhere
	stop       func() error
}

func newWorld(servers string) (*world, error) {
	dir, err := os.MkdirTemp("", "everything-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	w := &world{root: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), servers: servers}
	w.stop = func() error { return os.RemoveAll(dir) }
	err = errors.Join(copied(w.root, project, "project"), copied(filepath.Join(w.home, "plugins"), plugins, "plugin"),
		os.WriteFile(filepath.Join(w.root, "go.mod"), []byte("module example.org/shop\n\ngo 1.26\n"), 0o600),
		os.WriteFile(filepath.Join(w.root, "shop.go"), []byte("// Package shop sells.\npackage shop\n\n// Total is what is owed.\nfunc Total(n, price int) int { return n * price }\n\nvar owed = Total(2, 3)\n"), 0o600))
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, w.openShop()
}

func copied(to string, from embed.FS, dir string) error {
	sub, err := fs.Sub(from, dir)
	if err != nil {
		return err
	}
	return os.CopyFS(to, sub)
}

// openShop is the service that shop.yaml describes.
func (w *world) openShop() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, w.stop())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(out, `{"id":%s,"item":"lamp"}`, r.PathValue("id"))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go server.Serve(l)
	w.shop = "http://" + l.Addr().String()
	remove := w.stop
	w.stop = func() error { return errors.Join(server.Close(), remove()) }
	return nil
}

// settings are what a user would write in the project's file, and what of it cannot be had here.
func (w *world) settings() (map[string]any, []string) {
	var missing []string
	mcpServers := map[string]any{}
	for name, args := range map[string][]any{"filesystem": {w.root}, "memory": {}} {
		program := filepath.Join(w.servers, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
		if _, err := os.Stat(program); w.servers == "" || err != nil {
			missing = append(missing, "the MCP server "+name+": npm install --prefix DIR @modelcontextprotocol/server-"+name+", and -servers DIR")
			continue
		}
		mcpServers[name] = map[string]any{
			"command": "node", "args": append([]any{program}, args...),
			"env": map[string]any{"MEMORY_FILE_PATH": filepath.Join(w.home, "memory.json")},
		}
	}
	all := map[string]any{
		"permissions": map[string]any{"allow": []any{"api__shop__getOrder", "mcp__filesystem"}},
		"openapi":     map[string]any{"sources": map[string]any{"shop": map[string]any{"document": "shop.yaml", "base": w.shop}}},
		"web":         map[string]any{"allow_private": true}, // the shop is on this machine
		"mcp":         map[string]any{"servers": mcpServers},
	}
	if _, err := exec.LookPath("gopls"); err == nil {
		all["lsp"] = map[string]any{"servers": map[string]any{"go": map[string]any{"command": "gopls", "languages": []any{"go"}}}}
	} else {
		missing = append(missing, "gopls: go install golang.org/x/tools/gopls@v0.23.0, and have it on PATH")
	}
	slices.Sort(missing)
	return all, missing
}

// open assembles the session, with some middlewares closed.
func (w *world) open(ctx context.Context, closed ...string) (*session.Session, func() error, error) {
	values, _ := w.settings()
	o := config.Options{Root: w.root, Home: w.home, Managed: "-", Values: values}
	for _, name := range closed {
		o.Set = append(o.Set, "meta."+name+"=false")
	}
	setup, _, err := builtin.Load(o)
	if err != nil {
		return nil, nil, err
	}
	s, err := session.New(ctx, session.Options{
		Blueprint: setup.Blueprint,
		Models:    func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	if err != nil {
		return nil, nil, errors.Join(err, setup.Close())
	}
	return s, func() error { return errors.Join(s.Close(ctx), setup.Close()) }, nil
}

// outside are the middlewares that this example is about.
func outside() []string {
	return []string{plugin.Name, skills.Name, mcp.Name, openapi.Name, lsp.Name}
}

func run(ctx context.Context, out io.Writer, servers string) (err error) {
	w, err := newWorld(servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	_, missing := w.settings()
	for _, m := range missing {
		fmt.Fprintln(out, "not here:", m)
	}
	if err := w.use(ctx, out); err != nil {
		return err
	}
	return w.close(ctx, out)
}

// use shows what everything brings, and calls it.
func (w *world) use(ctx context.Context, out io.Writer) error {
	s, end, err := w.open(ctx)
	if err != nil {
		return err
	}
	for _, name := range outside() {
		fmt.Fprintln(out, s.Surface().Of(name))
	}
	for _, prompt := range []string{
		"/greet Ada", "call Skill {\"name\": \"release\"}", extra("api__shop__getOrder", `{"id": 7}`),
		extra("mcp__filesystem__list_directory", `{"path": "`+w.root+`"}`), extra("LSP", `{"action": "definition", "path": "shop.go", "line": 7, "column": 12}`),
	} {
		for _, err := range s.Prompt(ctx, session.Text(prompt)) {
			if err != nil {
				return errors.Join(err, end())
			}
		}
		h := s.Messages()
		fmt.Fprintf(out, "> %s\n%s\n\n", prompt, strings.ReplaceAll(h[len(h)-1].Text(), w.root, "."))
	}
	return end()
}

// extra is a call of a tool that is not among the direct ones.
func extra(name, args string) string {
	return `call ExecuteExtraTool {"name": "` + name + `", "arguments": ` + args + `}`
}

// close shows what closing each of them takes along.
func (w *world) close(ctx context.Context, out io.Writer) error {
	s, end, err := w.open(ctx)
	if err != nil {
		return err
	}
	all := s.Surface()
	if err := end(); err != nil {
		return err
	}
	for _, name := range outside() {
		s, end, err := w.open(ctx, name)
		if err != nil {
			return err
		}
		left := s.Surface()
		if err := end(); err != nil {
			return err
		}
		fmt.Fprintf(out, "without %s: %d facts gone, %d of its own left\n", name, len(all.Minus(left)), len(left.Of(name)))
	}
	return nil
}
