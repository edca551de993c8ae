// Toolsearch indexes the tools of real MCP servers and answers queries with what was found and why. It needs no session
// and no server: what servers answer to tools/list is read from files.
//
//	go run ./examples/toolsearch "undo what I staged" "which time is it in Tokyo"
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolsearch"
	"github.com/metaharness/peri/toolview"
)

//go:embed testdata/*.json
var catalog embed.FS

func main() {
	queries := os.Args[1:]
	if len(queries) == 0 {
		queries = []string{"undo what I staged", "which time is it in Tokyo", "+git compare branches", "select:read_graph", "book a flight"}
	}
	if err := run(os.Stdout, catalog, queries...); err != nil {
		fmt.Fprintln(os.Stderr, "toolsearch:", err)
		os.Exit(1)
	}
}

// run indexes every catalogue of a file system and answers the queries in order.
func run(out io.Writer, files fs.FS, queries ...string) error {
	v, err := view(files)
	if err != nil {
		return err
	}
	// One Cache serves any number of views. The next view's index would grow out of this one: cache.Index(next, index).
	cache := toolsearch.NewCache(8)
	index := cache.Index(v, nil)
	fmt.Fprintf(out, "%d tools\n", index.Len())
	for _, q := range queries {
		fmt.Fprintf(out, "\n%s\n", q)
		hits := index.Explain(q, 3)
		if len(hits) == 0 {
			fmt.Fprintln(out, "  nothing fits")
		}
		for _, h := range hits {
			fmt.Fprintf(out, "  %-40s %6.2f  %s\n", h.Entry.Tool.Name, h.Score, reasons(h.Why))
		}
	}
	return nil
}

func reasons(why []toolsearch.Reason) string {
	var out []string
	for _, r := range why {
		switch {
		case r.Word == "":
		case r.Word == r.Match || r.How == "called":
			out = append(out, r.Word)
		default:
			out = append(out, r.Word+" → "+r.Match)
		}
	}
	return strings.Join(out, ", ")
}

// view shows every tool of the catalogues as a deferred one, beside the finder by which a model would reach them.
func view(files fs.FS) (*toolview.View, error) {
	names, err := fs.Glob(files, "testdata/*.json")
	if err != nil {
		return nil, err
	}
	var tools []toolview.Tool
	for _, name := range names {
		more, err := read(files, name)
		if err != nil {
			return nil, err
		}
		tools = append(tools, more...)
	}
	set, err := toolview.NewSet(tools...)
	if err != nil {
		return nil, err
	}
	finder, err := toolview.NewSet(toolview.Tool{
		Decl: toolview.Decl{Name: "Search"}, Doc: "Finds tools.", Schema: json.RawMessage(`{"type":"object"}`), Finder: true, Run: refuse,
	})
	if err != nil {
		return nil, err
	}
	return toolview.NewDeriver([]toolview.Band{
		{Owner: "McpMiddleware", Set: set, Deferred: true},
		{Owner: "SearchMiddleware", Set: finder},
	}, nil, nil).View(&toolview.Policy{}, nil), nil
}

// read makes tools of one answer to tools/list. The file's name is the server's.
func read(files fs.FS, name string) ([]toolview.Tool, error) {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: no answer to tools/list: %w", name, err)
	}
	server := strings.TrimSuffix(path.Base(name), ".json")
	var tools []toolview.Tool
	for _, t := range list.Tools {
		tools = append(tools, toolview.Tool{
			Decl: toolview.Decl{Name: "mcp__" + server + "__" + t.Name}, Doc: t.Description, Schema: t.InputSchema, Run: refuse,
		})
	}
	return tools, nil
}

func refuse(context.Context, *toolview.Call) (*message.Result, error) {
	return nil, errors.New("toolsearch: this program only searches")
}
