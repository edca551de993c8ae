package web

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// modest reports whether a page can be written as Markdown in reasonable time.
func modest(doc *html.Node) bool {
	elements, cells := 0, 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		elements++
		switch n.Data {
		case "table":
			cells += cellsOf(n)
		case "blockquote", "ul", "ol":
			if indent(n) > maxIndent {
				return false
			}
		}
		if elements > maxElements || cells > maxCells {
			return false
		}
	}
	return true
}

func indent(n *html.Node) (depth int) {
	for p := range n.Ancestors() {
		switch p.Data {
		case "blockquote", "ul", "ol":
			depth++
		}
	}
	return depth
}

// cellsOf is how many cells a table has once its spans and its short rows are filled up.
func cellsOf(table *html.Node) int {
	rows, columns, row := 0, 0, 0
	for n := range table.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "tr":
			rows, row = rows+1, 0
		case n.Data == "td" || n.Data == "th":
			row += span(n, "colspan")
			rows += span(n, "rowspan") - 1
			columns = max(columns, row)
		}
		if rows > maxCells || columns > maxCells {
			return maxCells + 1
		}
	}
	return rows * columns
}

func span(n *html.Node, name string) int {
	for _, a := range n.Attr {
		if a.Key == name {
			if v, err := strconv.Atoi(strings.TrimSpace(a.Val)); err == nil && v > 1 {
				return min(v, maxCells+1)
			}
		}
	}
	return 1
}

// plain is the text of a page without its form, read in one pass over its tags.
func plain(page string) (title, text string) {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	hidden, inTitle := "", false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(title), b.String()
		case html.StartTagToken:
			raw, _ := z.TagName()
			switch tag := string(raw); tag {
			case "script", "style", "noscript", "template", "textarea":
				if hidden == "" {
					hidden = tag
				}
			case "title":
				inTitle = title == ""
			default:
				separate(&b, tag)
			}
		case html.SelfClosingTagToken:
			raw, _ := z.TagName()
			separate(&b, string(raw))
		case html.EndTagToken:
			raw, _ := z.TagName()
			switch tag := string(raw); {
			case tag == hidden:
				hidden = ""
			case tag == "title":
				inTitle = false
			default:
				separate(&b, tag)
			}
		case html.TextToken:
			words := strings.Join(strings.Fields(string(z.Text())), " ")
			switch {
			case words == "" || hidden != "":
			case inTitle:
				title += words
			default:
				b.WriteString(words)
				b.WriteByte(' ')
			}
		}
	}
}

// separate ends a line at the tags that stand for one.
func separate(b *strings.Builder, tag string) {
	switch tag {
	case "a", "abbr", "b", "code", "em", "font", "i", "img", "kbd", "label", "mark", "q", "s", "small", "span", "strong",
		"sub", "sup", "td", "th", "tt", "u", "var":
		return
	}
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}
