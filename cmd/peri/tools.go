package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metaharness/peri/middleware"
	searching "github.com/metaharness/peri/middleware/toolsearch"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolsearch"
	"github.com/metaharness/peri/toolview"
)

func (p *program) toolsCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "The tools that a session here sees, direct and deferred", Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return p.looking(c.Context(), p.listTools) },
	}
	var explain bool
	search := &cobra.Command{
		Use: "search QUERY", Short: "What a search for deferred tools finds", Args: takes("QUERY"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.looking(c.Context(), func(v *toolview.View) error { return p.searchTools(v, args[0], explain) })
		},
	}
	search.Flags().BoolVar(&explain, "explain", false, "with scores, and why each tool was found")
	var mode string
	call := &cobra.Command{
		Use: "call NAME [JSON]", Short: "Make one call through all gates", Args: takes("NAME", "[JSON]"),
		Example: `  peri tools call Read '{"path": "README.md"}'`,
		RunE: func(c *cobra.Command, args []string) error {
			raw := "{}"
			if len(args) == 2 {
				raw = args[1]
			}
			if !json.Valid([]byte(raw)) {
				return usage(fmt.Errorf("the arguments are no JSON: %s", raw))
			}
			return p.callTool(c.Context(), args[0], json.RawMessage(raw), mode)
		},
	}
	call.Flags().StringVar(&mode, "mode", "", "the permission `MODE`: default, acceptEdits, plan, bypass, dontAsk")
	for _, c := range []*cobra.Command{list, search, call} {
		c.Flags().BoolVar(&p.json, "json", false, "as JSON")
	}
	return group("tools", "List, search and call tools", list, search, call)
}

// looking hands over the view of a session that is only looked at.
func (p *program) looking(ctx context.Context, look func(*toolview.View) error) (err error) {
	setup, err := p.load()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	s, err := p.shown(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	return look(s.View())
}

// toolRow is one tool as tools list and tools search print it.
type toolRow struct {
	Name    string          `json:"name"`
	Owner   string          `json:"owner"`
	Kind    string          `json:"visibility"`
	Effects []string        `json:"effects"`
	Title   string          `json:"title"`
	Doc     string          `json:"doc"`
	Schema  json.RawMessage `json:"schema"`
	// Score and Why are there when a search is to explain itself.
	Score *float64 `json:"score,omitempty"`
	Why   []whyRow `json:"why,omitempty"`
}

func (p *program) listTools(v *toolview.View) error {
	rows := []toolRow{}
	for e := range v.All() {
		rows = append(rows, rowOf(e))
	}
	return p.toolRows(rows)
}

const mostHits = 20

func (p *program) searchTools(v *toolview.View, query string, explain bool) error {
	rows := []toolRow{}
	for _, h := range toolsearch.New(v).Explain(query, mostHits) {
		r := rowOf(h.Entry)
		if explain {
			r.Score, r.Why = &h.Score, whyRows(h.Why)
		}
		rows = append(rows, r)
	}
	if err := p.toolRows(rows); err != nil {
		return err
	}
	if len(rows) > 0 {
		return nil
	}
	if !v.HasDeferred() {
		return hint(errors.New("no tool is deferred here, so there is nothing to search"), "peri tools list shows the direct ones")
	}
	return hint(fmt.Errorf("no deferred tool matches %q", query), "fewer or other words; peri tools list shows all")
}

// whyRow is one reason for a tool that was found.
type whyRow struct {
	How   string  `json:"how"`
	Word  string  `json:"word,omitempty"`
	Match string  `json:"match,omitempty"`
	Score float64 `json:"score"`
}

func whyRows(why []toolsearch.Reason) (rows []whyRow) {
	for _, r := range why {
		rows = append(rows, whyRow{r.How, r.Word, r.Match, r.Score})
	}
	return rows
}

func rowOf(e toolview.Entry) toolRow {
	r := toolRow{Name: e.Tool.Name, Owner: e.Owner, Kind: "direct", Effects: e.Tool.Effects.Words(), Title: e.Tool.Title, Doc: e.Tool.Doc, Schema: e.Tool.Schema}
	if e.Deferred {
		r.Kind = "deferred"
	}
	if r.Title == "" {
		line, _, _ := strings.Cut(e.Tool.Doc, "\n")
		r.Title = short(line)
	}
	if r.Effects == nil {
		r.Effects = []string{}
	}
	return r
}

func (p *program) toolRows(rows []toolRow) error {
	if p.json {
		return p.object(map[string]any{"version": "peri.tools/v1", "tools": rows})
	}
	w := &page{w: p.out}
	for _, r := range rows {
		if r.Score == nil {
			w.row(r.Name, r.Kind, r.Owner, r.Title)
			continue
		}
		w.row(r.Name, fmt.Sprintf("%.2f", *r.Score), r.Owner, r.Title)
		for _, y := range r.Why {
			w.row("", fmt.Sprintf("%.2f", y.Score), y.How, y.Word, y.Match)
		}
	}
	w.flush()
	return w.err
}

// callTool takes a turn in which a model of one call makes just that, so that it passes whatever a model's would.
func (p *program) callTool(ctx context.Context, name string, args json.RawMessage, mode string) (err error) {
	setup, err := p.load(modeSetting(mode)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, setup.Close()) }()
	caller := func(string) (middleware.ModelFunc, error) { return once(name, args), nil }
	s, err := p.running(ctx, setup, caller, p.people())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	var result *message.Result
	for e, err := range s.Prompt(ctx, session.Text("Call "+name+".")) {
		if err != nil {
			return err
		}
		if e.Kind == message.CallEnd && e.Parent == "" {
			result = e.Result
		}
	}
	return p.result(result)
}

func (p *program) result(r *message.Result) error {
	if r == nil {
		return errors.New("the call has no result")
	}
	if p.json {
		if err := p.object(r); err != nil {
			return err
		}
	} else if !r.Error {
		fmt.Fprintln(p.out, printable(r.Text()))
	}
	if r.Error {
		if p.json {
			return errNo
		}
		return errors.New(printable(r.Text()))
	}
	return nil
}

// once is a model that makes one call and ends. A deferred tool goes through the way that a model would take.
func once(name string, args json.RawMessage) middleware.ModelFunc {
	return func(_ context.Context, r *middleware.Request, _ middleware.Sink) (*message.Message, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Role == message.Tool {
			return message.Of(message.Assistant, "done"), nil
		}
		use := &message.Use{ID: "call_1", Name: name, Args: args}
		if e, ok := r.View.Lookup(name); ok && e.Deferred {
			through, err := json.Marshal(map[string]any{"name": name, "arguments": args})
			if err != nil {
				return nil, err
			}
			use.Name, use.Args = searching.ExecuteTool, through
		}
		return &message.Message{Role: message.Assistant, Stop: "tool_use", Parts: []message.Part{{Kind: message.ToolUse, Use: use}}}, nil
	}
}
