package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/session/report"
)

// page writes sections of aligned rows.
type page struct {
	w      io.Writer
	indent string
	rows   [][]string
	err    error
}

func (p *page) section(title string, count int) {
	p.flush()
	p.print("\n%s (%d)\n", title, count)
}

func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(printable(c), "\n", " ")
	}
	p.rows = append(p.rows, cells)
}

// flush writes the rows of a section, each column as wide as its widest cell.
func (p *page) flush() {
	var widths []int
	for _, r := range p.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range p.rows {
		var b strings.Builder
		for i, c := range r {
			b.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
		}
		p.print("%s%s\n", p.indent, strings.TrimRight(b.String(), " "))
	}
	p.rows = nil
}

func (p *page) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// writeReport is the text of inspect.
func writeReport(w io.Writer, root string, r *report.Report) error {
	p := &page{w: w, indent: "  "}
	p.print("%s\ndigest %s\n", root, r.Digest)
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
