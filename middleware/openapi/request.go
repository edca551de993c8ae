package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// accepted is what answers are asked for as.
const accepted = "application/json, application/*+json;q=0.9, text/*;q=0.8, */*;q=0.5"

// request builds what a call sends, without authentication. Its error is for the model.
func (p *plan) request(ctx context.Context, args json.RawMessage) (*http.Request, error) {
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber() // large ids keep their digits
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	path, query, cookies := p.path, []string{}, []string{}
	header := http.Header{}
	for i := range p.args {
		a := &p.args[i]
		v, ok := values[a.name]
		if !ok || v == nil && !a.required {
			continue
		}
		if a.json {
			v = jsonText(v)
		}
		switch a.in {
		case "path":
			text, err := a.segment(v)
			if err != nil {
				return nil, err
			}
			path = strings.ReplaceAll(path, "{"+a.raw+"}", text)
		case "query":
			query = append(query, a.pairs(v)...)
		case "header":
			header.Set(a.raw, a.simple(v, func(s string) string { return s }))
		case "cookie":
			cookies = append(cookies, a.pairs(v)...)
		}
	}
	u, err := p.address(path, query)
	if err != nil {
		return nil, err
	}
	content, kind, err := p.content(values["body"])
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, p.method, u.String(), content)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be made: %w", err)
	}
	req.Header = header
	req.Header.Set("Accept", accepted)
	req.Header.Set("User-Agent", "peri")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if len(cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return req, nil
}

// address appends the filled path to the base. No value can lead out of the base.
func (p *plan) address(path string, query []string) (*url.URL, error) {
	path, fixed, _ := strings.Cut(path, "?")
	for _, segment := range strings.Split(path, "/") {
		if segment == "." || segment == ".." {
			return nil, fmt.Errorf("%q is no part of a path", segment)
		}
	}
	path, _, _ = strings.Cut(path, "#")
	u := *p.base
	raw := strings.TrimSuffix(u.EscapedPath(), "/") + path
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return nil, fmt.Errorf("the path %s cannot be read", raw)
	}
	u.Path, u.RawPath = plain, raw
	if fixed != "" {
		query = append([]string{fixed}, query...)
	}
	u.RawQuery = strings.Join(query, "&")
	return &u, nil
}

// segment is a value in a path.
func (a *argument) segment(v any) (string, error) {
	esc := url.PathEscape
	text := a.simple(v, esc)
	if text == "" {
		return "", fmt.Errorf("`%s` is empty, and stands in the path", a.name)
	}
	switch a.style {
	case "label":
		sep := ","
		if a.explode {
			sep = "."
		}
		return "." + a.joined(v, esc, sep), nil
	case "matrix":
		if list, ok := v.([]any); ok && a.explode {
			var b strings.Builder
			for _, x := range list {
				b.WriteString(";" + esc(a.raw) + "=" + esc(plain(x)))
			}
			return b.String(), nil
		}
		if _, ok := v.(map[string]any); ok && a.explode {
			return ";" + a.joined(v, esc, ";"), nil
		}
		return ";" + esc(a.raw) + "=" + text, nil
	}
	return text, nil
}

// simple is the style of paths and headers: parts with commas between them.
func (a *argument) simple(v any, esc func(string) string) string { return a.joined(v, esc, ",") }

func (a *argument) joined(v any, esc func(string) string, sep string) string {
	var parts []string
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			parts = append(parts, esc(plain(x)))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if a.explode {
				parts = append(parts, esc(k)+"="+esc(plain(v[k])))
			} else {
				parts = append(parts, esc(k), esc(plain(v[k])))
			}
		}
	default:
		return esc(plain(v))
	}
	return strings.Join(parts, sep)
}

// pairs is a value as name=value, as often as its style says.
func (a *argument) pairs(v any) []string {
	esc, name := url.QueryEscape, url.QueryEscape(a.raw)
	switch v := v.(type) {
	case []any:
		if a.explode && a.style != "spaceDelimited" && a.style != "pipeDelimited" {
			var out []string
			for _, x := range v {
				out = append(out, name+"="+esc(plain(x)))
			}
			return out
		}
		sep := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[a.style]
		if sep == "" {
			sep = ","
		}
		return []string{name + "=" + a.joined(v, esc, sep)}
	case map[string]any:
		switch {
		case a.style == "deepObject":
			return nested(a.raw, v)
		case a.explode:
			var out []string
			for _, k := range slices.Sorted(maps.Keys(v)) {
				out = append(out, esc(k)+"="+esc(plain(v[k])))
			}
			return out
		}
		return []string{name + "=" + a.joined(v, esc, ",")}
	}
	return []string{name + "=" + esc(plain(v))}
}

// nested is a value whose parts are named in brackets.
func nested(name string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, nested(name+"["+k+"]", v[k])...)
		}
		return out
	case []any:
		var out []string
		for i, x := range v {
			out = append(out, nested(fmt.Sprintf("%s[%d]", name, i), x)...)
		}
		return out
	}
	return []string{url.QueryEscape(name) + "=" + url.QueryEscape(plain(v))}
}

// plain is a value as text: JSON where it has parts.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	return jsonText(v)
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // what came out of JSON goes into it
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// content is the body with its type.
func (p *plan) content(v any) (io.Reader, string, error) {
	if p.body == nil || v == nil && !p.body.required {
		return nil, "", nil
	}
	fields, isMap := v.(map[string]any)
	switch p.body.form {
	case asText:
		return strings.NewReader(plain(v)), p.body.mime, nil
	case asFields:
		if !isMap {
			return nil, "", fmt.Errorf("`body` is no object, and is sent as the fields of a form")
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			_, list := fields[k].([]any)
			if list && !p.body.deep[k] {
				out = append(out, (&argument{raw: k, style: "form", explode: true}).pairs(fields[k])...)
				continue
			}
			out = append(out, nested(k, fields[k])...)
		}
		return strings.NewReader(strings.Join(out, "&")), "application/x-www-form-urlencoded", nil
	case asParts:
		if !isMap {
			return nil, "", fmt.Errorf("`body` is no object, and is sent as the parts of a form")
		}
		return parts(fields)
	}
	return strings.NewReader(jsonText(v)), p.body.mime, nil
}

// parts is a body of several parts. A list is a part for each of its values, what has parts itself is JSON.
func parts(fields map[string]any) (io.Reader, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		values, list := fields[k].([]any)
		if !list {
			values = []any{fields[k]}
		}
		for _, v := range values {
			if err := w.WriteField(k, plain(v)); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return &b, w.FormDataContentType(), nil
}
