package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/metaharness/peri/session/report"
)

// page writes sections of aligned rows.
type page struct {
	w     io.Writer
	table *tabwriter.Writer
	err   error
}

func (p *page) section(title string, count int) {
	p.flush()
	_, err := fmt.Fprintf(p.w, "\n%s (%d)\n", title, count)
	p.keep(err)
	p.table = tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
}

func (p *page) row(cells ...string) {
	for len(cells) > 1 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	_, err := fmt.Fprintln(p.table, "  "+strings.Join(cells, "\t"))
	p.keep(err)
}

func (p *page) flush() {
	if p.table != nil {
		p.keep(p.table.Flush())
	}
}

func (p *page) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// writeReport is the text of inspect.
func writeReport(w io.Writer, root string, r *report.Report) error {
	p := &page{w: w}
	_, err := fmt.Fprintf(w, "%s\ndigest %s\n", root, r.Digest)
	p.keep(err)
	p.section("Layers, low to high", len(r.Layers))
	for _, l := range r.Layers {
		p.row(l.Name, layerState(l), l.File)
	}
	p.section("Diagnostics", len(r.Diagnostics))
	for _, d := range r.Diagnostics {
		p.row(d.String())
	}
	p.section("Meta map", len(r.Meta))
	for _, e := range r.Meta {
		p.row(fmt.Sprintf("%s: %t", e.Key, e.Value), e.Layer, place(e.File, e.Line))
	}
	p.section("Chain", len(r.Middlewares))
	for _, m := range r.Middlewares {
		cause := m.Cause
		if m.Origin.File != "" || m.Origin.Layer != "" {
			cause += " (" + m.Origin.String() + ")"
		}
		p.row(m.Name, m.State, cause)
	}
	writeShown(p, r)
	p.flush()
	return p.err
}

// writeShown is what a model sees or may reach, and what is kept from it.
func writeShown(p *page, r *report.Report) {
	p.section("Segments", len(r.Segments))
	for _, s := range r.Segments {
		origin := s.Origin
		if s.File != "" {
			origin += " " + s.File
		}
		p.row(s.Zone, s.ID, s.Owner, fmt.Sprintf("%d bytes", s.Bytes), origin)
	}
	for _, kind := range []struct{ title, visibility string }{{"Tools", "direct"}, {"Search entries", "deferred"}} {
		var rows []report.Tool
		for _, t := range r.Tools {
			if t.Visibility == kind.visibility {
				rows = append(rows, t)
			}
		}
		p.section(kind.title, len(rows))
		for _, t := range rows {
			p.row(t.Name, t.Owner, strings.Join(t.Effects, " "))
		}
	}
	p.section("Routes", len(r.Routes))
	for _, route := range r.Routes {
		p.row("/"+route.Name, route.Owner, route.Doc)
	}
	hooks := 0
	for _, m := range r.Middlewares {
		hooks += len(m.Hooks)
	}
	p.section("Hooks", hooks)
	for _, m := range r.Middlewares {
		for _, h := range m.Hooks {
			p.row(h, m.Name)
		}
	}
	p.section("Agents", len(r.Agents))
	for _, a := range r.Agents {
		tools := "all that its parent sees"
		if a.Tools != nil {
			tools = strings.Join(a.Tools, " ")
		}
		p.row(a.Name, a.Origin, tools, a.File)
	}
	p.section("Hidden tools", len(r.Hidden))
	for _, h := range r.Hidden {
		p.row(h.Name, h.Gate, h.Rule, place(h.File, h.Line))
	}
}

func layerState(l report.Layer) string {
	switch {
	case !l.Loaded:
		return "absent"
	case !l.Trusted:
		return "loaded, not trusted"
	}
	return "loaded"
}

func place(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}
