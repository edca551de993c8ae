package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// What a page may have to be written as Markdown; a larger one is given as plain text. Finding the main content and
// laying out tables takes more than linear time, and a page may be made to exploit that.
const (
	maxElements = 50_000
	maxCells    = 20_000
	// maxIndent is how deep quotes and lists may stand in each other: each level rewrites all that is in it.
	maxIndent = 40
)

// markdown finds the main content of a page and writes it as Markdown with absolute links.
func markdown(ctx context.Context, page string, at *url.URL) (title, text string, err error) {
	// Pages come from anywhere; a parser that trips over one must not take the session along.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its HTML cannot be read: %v", p)
		}
	}()
	doc, err := html.Parse(strings.NewReader(page))
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	if err != nil || !modest(doc) {
		title, text = plain(page)
		return title, text, nil
	}
	title = titleOf(doc)
	main, better := content(doc, at)
	if better != "" {
		title = better
	}
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(),
	))
	if main != nil {
		if out, err := conv.ConvertNode(main, converter.WithContext(ctx), converter.WithDomain(at.String())); err == nil && len(out) > 0 {
			return title, string(out), nil
		}
	}
	out, err := conv.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(at.String()))
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be written as Markdown: %w", err)
	}
	return title, string(out), nil
}

// content is the part of a page that is about something; nil when none stands out, as on an index or a short page.
func content(doc *html.Node, at *url.URL) (main *html.Node, title string) {
	article, err := extract(doc, at)
	if err != nil || article.Node == nil {
		return nil, ""
	}
	found, all := textLength(article.Node), textLength(body(doc))
	if found < 250 && found*2 < all || found*20 < all {
		return nil, article.Title()
	}
	return article.Node, article.Title()
}

// extract contains the extractor's panics: the page can still be converted whole.
func extract(doc *html.Node, at *url.URL) (a readability.Article, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("no main content")
		}
	}()
	parser := readability.NewParser()
	return parser.ParseDocument(doc, at)
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.FirstChild != nil {
			return strings.TrimSpace(n.FirstChild.Data)
		}
	}
	return ""
}

func body(doc *html.Node) *html.Node {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "body" {
			return n
		}
	}
	return doc
}

// textLength counts the visible text below a node.
func textLength(n *html.Node) (length int) {
	for d := range n.Descendants() {
		if d.Type != html.TextNode {
			continue
		}
		switch p := d.Parent; p.Data {
		case "script", "style", "noscript", "template":
			continue
		}
		length += len(strings.TrimSpace(d.Data))
	}
	return length
}
