package closuretest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/metaharness/peri/meta"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Page is a Matrix as people read it.
type Page struct {
	// Title is the project's name, Diagnostics what its settings are worth telling about.
	Title       string
	Diagnostics []meta.Diagnostic
	*Matrix
}

// WriteHTML writes one self-contained page: it refers to nothing outside itself, all of it can be read without scripts,
// and with them closing a middleware shows what would vanish, computed from the data in the page.
func (p Page) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err == nil {
		err = t.Execute(w, struct {
			Page
			CSS template.CSS
			JS  template.JS
		}{p, template.CSS(pageCSS), template.JS(pageJS)})
	}
	if err != nil {
		return fmt.Errorf("closuretest: page: %w", err)
	}
	return nil
}

// owned is what a middleware owns of one kind.
type owned struct {
	Surface string
	Items   []Item
}

// Owned are the facts of a middleware by surface, but for its place in the chain.
func (p Page) Owned(owner string) []owned {
	var out []owned
	for _, s := range p.Surfaces {
		o := owned{Surface: s}
		for _, f := range p.Facts {
			if f.Owner == owner && f.Surface == s && s != fields[0] {
				o.Items = append(o.Items, f)
			}
		}
		if len(o.Items) > 0 {
			out = append(out, o)
		}
	}
	return out
}

// Cell is a count of the table.
func (p Page) Cell(r Row, surface string) string {
	if n := r.Takes[surface]; n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// Wholes counts the middlewares that were closed.
func (p Page) Wholes() int {
	n := 0
	for _, r := range p.Rows {
		if r.Closed {
			n++
		}
	}
	return n
}
